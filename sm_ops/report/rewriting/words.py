"""A run of rewriting in words: its table, what it shows, and what its numbers are not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sm_ops.report.costs import usd
from sm_ops.report.words import DASH, count, numbered, percent, rated

Json = dict[str, Any]

UTILITY = {"rat": "utility (BLEU)", "redac": "utility"}
NOT = (
    "Security is what one attacker or judge, a language model, could not do; another one may do it. The unmodified "
    "texts show its error.",
    "Sentence BLEU compares wording, not facts. Masking and routing budgets are of different units.",
    "Retrospective budgets are quantiles of the very texts that are measured; nobody knows them beforehand.",
    "Costs are the rewriter's and the selector's; what judging costs is not in them.",
    "Prompts, the attack on identity and the generated texts are our reconstruction; no figure here is the paper's.",
)


def header(results: Json) -> tuple[str, ...]:
    """The columns of the table."""
    utility = UTILITY[results["data"]["benchmark"]]
    return ("condition", "budget", "chosen", "security", utility, "calls", "USD/M tokens")


def cells(row: Json, results: Json) -> tuple[str, ...]:
    """One row of the table, in the order of `header`."""
    utility = numbered(row["utility"]) if results["data"]["benchmark"] == "rat" else rated(row["utility"])
    calls = count(row["calls"]) if row["applied"] else f"({count(row['calls'])} not sent)"
    return (row["condition"], budget(row), chosen(row), rated(row["security"]), utility, calls, usd(row["usd"]))


def budget(row: Json) -> str:
    """The budget of a row; a retrospective one says so."""
    return percent(row["budget"], 0) + (", retrospective" if row["retrospective"] else "")


def chosen(row: Json) -> str:
    """The share of units that was really chosen on the application side."""
    return DASH if row["share"] is None else percent(row["share"]["application"])


def sentences(results: Json) -> list[str]:
    """What the run shows, the most important first."""
    return [*_sent(results), *_judge(results), *_shares(results), *_faults(results)]


def _sent(results: Json) -> Iterator[str]:
    role = {"rat": "attacker", "redac": "judge"}[results["data"]["benchmark"]]
    unsent = sum(row["calls"] for row in results["rows"] if not row["applied"])
    if not results["sends"]["rewriter"]:
        yield (
            f"No endpoint is named for the rewriter, so nothing was sent to one: {count(unsent)} calls would be made. "
            "Name one with endpoints.rewriter.url and endpoints.rewriter.model."
        )
    if not results["sends"][role]:
        yield (
            f"No endpoint is named for the {role}, so security is not measured. Name one with endpoints.{role}.url "
            f"and endpoints.{role}.model."
        )


def _judge(results: Json) -> Iterator[str]:
    for row in results["rows"]:
        if row["kind"] == "unmodified" and row["judged"] and row["security"]["value"] is not None:
            security = rated(row["security"])
            if results["data"]["benchmark"] == "redac":
                yield (
                    f"Of unmodified texts the judge counts {security} of sensitive propositions as removed and "
                    f"{rated(row['utility'])} of the others as kept: differences smaller than its error say nothing."
                )
            else:
                yield f"In unmodified texts the attacker fails to identify {security} of the persons."
    excluded = results["data"]["excluded"]
    if excluded:
        told = ", ".join(f"{number} {reason}" for reason, number in excluded.items())
        yield f"Propositions that do not count: {told}."


def _shares(results: Json) -> Iterator[str]:
    for row in results["rows"]:
        shares = row["share"]
        if row["budget"] is not None and shares["application"] is not None:
            if row["tau"] is None:
                yield f"{row['condition']}: its selector can choose no unit at all, so the budget is not spent."
            elif not row["retrospective"] and shares["application"] > 1.5 * row["budget"]:
                yield (
                    f"{row['condition']}: a threshold for {percent(row['budget'], 0)} of validation units chooses "
                    f"{percent(shares['application'])} here; the validation texts are of another kind."
                )


def _faults(results: Json) -> Iterator[str]:
    for row in results["rows"]:
        if row["unjudged"]:
            yield f"{row['condition']}: {row['unjudged']} answers could not be read; those texts do not count."
        if row["unreadable"]:
            yield f"{row['condition']}: {row['unreadable']} answers were no list of spans, so these texts stay as sent."
        if row["applied"] and row["calls"] and row["usd"] is None:
            yield f"{row['condition']}: the endpoint did not report all its tokens, so the cost is not known."
