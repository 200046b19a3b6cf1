"""Table 7: approximate extraction by kind of private value (E.2)."""

from __future__ import annotations

from typing import Any

from sm_ops.report.surprise.measures import EXTRACTION
from sm_ops.report.surprise.tables.ours import Ours
from sm_ops.report.surprise.tables.pairing import Column, Row, Table
from sm_ops.report.surprise.tables.published import KINDS, TABLE_7

Json = dict[str, Any]

_TITLES: dict[str, str] = dict(
    zip(KINDS, ("usernames", "workspace paths", "account IDs", "recovery credentials"), strict=True)
)


def build(ours: Ours) -> Table:
    """A column for each kind of the paper's, or of the run's own, and one for all."""
    rates: dict[tuple[str, str], Json] = {(each["condition"], each["kind"]): each for each in ours.results["by_kind"]}
    kinds = list(dict.fromkeys((*KINDS, *(kind for _, kind in rates))))

    def cells(condition: str, row: Json) -> dict[str, Json | None]:
        own = {kind: EXTRACTION.read(rates[condition, kind]) for kind in kinds if (condition, kind) in rates}
        return {**own, "overall": ours.cell(EXTRACTION, row)}

    return Table(
        title=f"Approximate extraction by kind of value, within {max(ours.run.config['attack']['budgets'])} samples",
        columns=(*(Column(kind, _TITLES.get(kind, kind)) for kind in kinds), Column("overall", "overall")),
        rows=[Row(ours.key(name), name, cells(name, row)) for name, row in ours.rows.items()],
        paper=TABLE_7,
        topics=("data", "values", "masking", "training", "attack"),
    )
