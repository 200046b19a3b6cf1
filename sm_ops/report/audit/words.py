"""An audit's numbers as people read them, and what they do not say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sm_ops.attacks.measures import at_ceiling, is_rate
from sm_ops.report.words import DASH, bound, count, decimal, text_table

Json = dict[str, Any]

LIMITS = (
    "The tagger labels the training records and the texts that a model makes: what it misses counts as not leaked. "
    "Rates of leakage are lower bounds.",
    "Baseline subtraction takes out what the model before fine-tuning says by itself. It can hide a real leak, such as "
    "a public person's name in a sensitive context.",
    "Every rate is of the attacks, budgets and settings of this run. Low leakage under them is no guarantee of "
    "privacy: only the stated epsilon of a private defence is one.",
    "Models, data and schedules memorise differently: compare defences within this run, and do not carry its rates "
    "over.",
)

GOLD = (
    "The tagger gold finds in a model's texts the values that are labelled in the records and no other: what the model "
    "makes up is no guess, so precision of extraction says nothing."
)
CANDIDATES = (
    "Candidate sets of inference always hold the true value: no attacker has that guarantee, so these rates are the "
    "attacker's best case."
)


def shown(measure: Json | None) -> str:
    """A measure with its standard error over seeds and its 95 % interval, where they are known."""
    if measure is None or measure["value"] is None:
        return DASH
    scale, digits, unit = _form(measure)
    error = measure.get("se")
    told = f"{decimal(scale * measure['value'], None if error is None else scale * error, digits)}{unit}"
    if measure["low"] is None:
        return told
    ends = (decimal(scale * measure[end], digits=digits) for end in ("low", "high"))
    return f"{told} [{', '.join(ends)}]"


def tried(measure: Json | None, with_n: bool) -> str:
    """A measure, of how many it is one where that is asked for, and what else one has to know of it."""
    told = shown(measure)
    if measure is not None and with_n and measure.get("n") is not None:
        told += f" of {plain(measure['n'])}"
    return f"{told} ({said})" if measure is not None and (said := _caveat(measure)) else told


def _caveat(measure: Json) -> str | None:
    if measure.get("too_few"):
        return "too few others"
    return "the most it can be" if at_ceiling(measure) else None


def _form(measure: Json) -> tuple[float, int, str]:
    """How a measure is written: factor, decimals, unit. Small numbers keep two significant digits."""
    if is_rate(measure):
        return 100.0, 1, " %"
    value = abs(measure["value"])
    digits = 2 if measure["measure"] == "perplexity" else 3
    while 0 < value < 10.0 ** (1 - digits) and digits < 12:
        digits += 1
    return 1.0, digits, ""


def name_of(selector: Json) -> str:
    """What the labels select, in words: "recall, paper"."""
    name = in_words(selector["measure"])
    rest = [str(value) for label, value in selector.items() if label not in ("measure", "class") and value != "all"]
    return ", ".join((name, *rest))


def in_words(name: str) -> str:
    """A measure's name as people write it: "tpr_at_fpr_0.01" is "TPR at FPR 0.01"."""
    return " ".join({"auc": "AUC", "tpr": "TPR", "fpr": "FPR"}.get(part, part) for part in name.split("_"))


def header(tried_attacks: Sequence[Json]) -> tuple[str, ...]:
    """The columns of the leakage table."""
    return ("defence", "perplexity", "epsilon", *(_title(each) for each in tried_attacks))


def _title(each: Json) -> str:
    return each["measure"] if each["measure"].startswith(each["attack"]) else f"{each['attack']}: {each['measure']}"


def cells(row: Json) -> tuple[str, ...]:
    """One row of the leakage table, in the order of `header`."""
    leakage = map(shown, row["leakage"].values())
    return row["defence"], shown(row["perplexity"]), bound(row["epsilon"]), *leakage


def table_lines(results: Json) -> list[str]:
    """The leakage table as aligned plain text."""
    return text_table(header(results["tried"]), map(cells, results["rows"]))


def plain(value: Any) -> str:
    """A setting or a count as a cell."""
    if value is None:
        return DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return count(value)
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, list | tuple):
        return ", ".join("null" if each is None else plain(each) for each in value) or DASH
    return str(value)
