"""The main job's table, verdicts and claims as people read them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sm_ops.evaluation.frontier import family
from sm_ops.report.surprise.measures import DISPLAY, OUTCOMES, PASS, likelihood_of, measured, pass_unbiased, sampled
from sm_ops.report.words import Row, count, decimal, interval, percent, rated, text_table

TABLE_ROWS = 10
METHODS = {
    "continue": "continued pretraining of the base model on packed text",
    "scratch": "pretraining from scratch on packed text",
    "lora": "fine-tuning of the base model with low-rank adapters",
}


def base_learnt_mixture(config: Row) -> bool:
    """Whether the base model has seen the private values unmasked, in a mixture that conditions go on from (C.1)."""
    return bool(config.get("mixture")) and config["train"]["method"] == "continue"


def headline(rows: Sequence[Row], limit: int = TABLE_ROWS) -> list[Row]:
    """At most `limit` rows in their order; of many surprise-masking points an even choice with both ends."""
    if len(rows) <= limit:
        return list(rows)
    by_family: dict[str, list[str]] = {}
    for row in rows:
        by_family.setdefault(family(row["condition"]), []).append(row["condition"])
    surprise = by_family.pop("SM", [])
    kept = [conditions[-1] for conditions in by_family.values()][:limit]
    room = min(limit - len(kept), len(surprise))
    kept += [surprise[round(i * (len(surprise) - 1) / max(room - 1, 1))] for i in range(room)]
    return [row for row in rows if row["condition"] in kept]


def conditions_table(shown: Sequence[Row], rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """Header and cells of the rows that are shown; what none of the run's `rows` has measured has no column."""
    columns = [*_leakage(rows), *_usefulness(rows), *_MASKED]
    return [title for title, _ in columns], [[tell(row) for _, tell in columns] for row in shown]


def _leakage(rows: Sequence[Row]) -> list[tuple[str, Callable[[Row], str]]]:
    present = measured(rows, OUTCOMES)
    columns = [("condition", lambda row: row["condition"])]
    if present != [DISPLAY]:
        columns += [
            ("extracted, approximate", lambda row: interval(row["extraction_approx"])),
            ("exact", lambda row: interval(row["extraction_exact"])),
        ]
    if DISPLAY in present:
        columns.append((f"display@{sampled(rows, 'display')}", lambda row: rated(DISPLAY.read(row))))
    return columns


def _usefulness(rows: Sequence[Row]) -> list[tuple[str, Callable[[Row], str]]]:
    likelihood = likelihood_of(rows)
    columns = [(likelihood.short, lambda row: decimal(row[likelihood.name], row[f"{likelihood.name}_se"]))]
    if measured(rows, (PASS,)):
        title = f"pass@{sampled(rows, 'pass_at')}"
        if any(rated(PASS.read(row)) != rated(pass_unbiased(row)) for row in rows):  # more answers than k
            columns.insert(0, (f"{title}, unbiased", lambda row: rated(pass_unbiased(row))))
        columns.insert(0, (title, lambda row: rated(PASS.read(row))))
    return columns


_MASKED: tuple[tuple[str, Callable[[Row], str]], ...] = (
    ("masked", lambda row: count(row["budget_tokens"])),
    ("coverage", lambda row: percent(row["target_coverage"])),
    ("collateral", lambda row: percent(row["collateral_rate"])),
)


def table_lines(rows: Sequence[Row]) -> list[str]:
    """The table as aligned plain text."""
    shown = headline(rows)
    lines = text_table(*conditions_table(shown, rows))
    if len(rows) > len(shown):
        lines.append(f"{len(rows) - len(shown)} more conditions: sm-ops report --json")
    return lines


def verdict_lines(results: Row) -> list[str]:
    """What calibration says of each reference."""
    return [
        f"reference {each['reference']}{' (used)' if each['chosen'] else ''}: {each['advice']}. {each['reason']}"
        for each in results["references"]
    ]
