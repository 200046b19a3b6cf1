"""Which of the paper's tables a run fills, and each as JSON: ours beside the paper's, and where the settings differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from types import ModuleType
from typing import Any

from sm_ops.core.home import Run
from sm_ops.report.surprise.measures import DISPLAY, EXTRACTION, measured
from sm_ops.report.surprise.tables import table_4, table_6, table_7, table_8, table_9, table_10
from sm_ops.report.surprise.tables.ours import DATASETS, Ours
from sm_ops.report.surprise.tables.pairing import paired
from sm_ops.report.surprise.tables.published import RECIPES
from sm_ops.report.surprise.tables.setting import agreements, differences

Json = dict[str, Any]


def tables_of(run: Run, results: Json) -> list[Json]:
    """The tables that the run fills, in the paper's order; none where its data is not one of the paper's two.

    Each: `{table, title, dataset, regime, columns, rows, differences, agreements}`, rows as `pairing.paired` gives
    them; table 4 has `correlations` as well.
    """
    if run.config["data"]["dataset"] not in DATASETS:
        return []
    ours = Ours(run, results)
    return [_table(number, module, ours) for number, module in _filled(ours)]


def _filled(ours: Ours) -> Iterator[tuple[int, ModuleType]]:
    """By data set, regime and what was measured; tables 6 to 8 are the paper's of fine-tuning, whatever ours was."""
    present = measured(ours.rows.values(), (EXTRACTION, DISPLAY))
    yield 4, table_4
    if ours.dataset == "code_pii" and EXTRACTION in present:
        if len(ours.actions) > 1:
            yield 6, table_6
        yield 7, table_7
        yield 8, table_8
    if ours.dataset == "code_quirks" and ours.regime == "fine-tuning":
        yield 9, table_9
    if ours.dataset == "code_quirks" and ours.regime == "pretraining":
        yield 10, table_10


def _table(number: int, module: ModuleType, ours: Ours) -> Json:
    table = module.build(ours)
    regime = "fine-tuning" if 6 <= number <= 8 else ours.regime
    recipe = RECIPES[str(ours.dataset), regime]
    return {
        "table": number,
        "title": table.title,
        "dataset": ours.dataset,
        "regime": ours.regime,
        "columns": [asdict(column) for column in table.columns],
        "rows": paired(table),
        "differences": [*table.remarks, *differences(ours.facts, recipe, table.topics)],
        "agreements": agreements(ours.facts, recipe, table.topics),
        **table.more,
    }
