"""A finished run as the tables read it: its data set and regime, its conditions under the paper's names, its cells."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sm_ops.core.home import Run
from sm_ops.masking.conditions import BASE, surprise_at, trained_in
from sm_ops.report.surprise.measures import Measure, error_over, extraction
from sm_ops.report.surprise.tables.pairing import Row
from sm_ops.report.surprise.tables.setting import facts_of

Json = dict[str, Any]

DATASETS: dict[str, str] = {"code_pii": "code_pii", "executable_code_pii": "code_pii", "code_quirks": "code_quirks"}
"""Which of the paper's training-time data sets ours stand for."""
REGIMES = ("fine-tuning", "pretraining")
NATIVE_OPF = "native_opf"
_OPF = "privacy_filter"


def regime_of(config: Json) -> str:
    """Adapters, or chats whose answers are learned, are the paper's fine-tuning; documents its pretraining (T-1)."""
    chats = config["data"]["dataset"] in DATASETS and config["data"].get("form") == "chat"
    return REGIMES[0] if chats or config["train"]["method"] == "lora" else REGIMES[1]


@dataclass(frozen=True)
class Ours:
    """A run beside its results."""

    run: Run
    results: Json

    @property
    def dataset(self) -> str | None:
        """The paper's data set, or None where the data is another."""
        return DATASETS.get(self.run.config["data"]["dataset"])

    @property
    def regime(self) -> str:
        """The paper's training regime."""
        return regime_of(self.run.config)

    @cached_property
    def rows(self) -> dict[str, Json]:
        """Rows pooled over seeds, by condition."""
        return {row["condition"]: row for row in self.results["rows"]}

    @cached_property
    def facts(self) -> Json:
        """The run's setting."""
        return facts_of(self.run, self.results)

    @property
    def highest(self) -> str:
        """The operating point at which interventions are compared."""
        return surprise_at(max(self.run.config["masking"]["targets"]))

    @cached_property
    def actions(self) -> dict[str, str]:
        """By intervention, the condition that shows it at the highest operating point (E.1)."""
        found = {}
        for condition, (mask, action) in self._trainings.items():
            if mask == self.highest:
                found.setdefault(action, condition)
        return found

    def key(self, condition: str) -> str:
        """What the paper's tables call a condition of ours: itself, an intervention, or native OPF."""
        mask, action = self._trainings.get(condition, (condition, "loss"))
        if mask == self.highest and action != "loss":
            return f"SM_{action}"
        if mask.startswith("SM") and action != "loss":
            return f"{mask}_{action}"
        detector = self._detectors.get(mask)
        if detector and detector["detector"] == _OPF and _native(detector):
            return NATIVE_OPF
        return condition

    def cell(self, measure: Measure, row: Json) -> Json | None:
        """A row's measure, with its standard error over seeds where only seeds by themselves have it.

        The base model is one model whatever the seed, and has none.
        """
        found = measure.read(row)
        if found is not None and found["error"] is None and row["condition"] != BASE:
            found = found | {"error": self._error(measure, row["condition"])}
        return found

    def every(self, **measures: Measure) -> list[Row]:
        """A row for each condition: its measures by column, and how many seeds it has."""
        return [
            Row(
                self.key(name),
                name,
                {**{column: self.cell(each, row) for column, each in measures.items()}, "seeds": plain(row["seeds"])},
            )
            for name, row in self.rows.items()
        ]

    @property
    def _detectors(self) -> Json:
        return self.run.config["masking"].get("detectors") or {}

    @cached_property
    def _trainings(self) -> dict[str, tuple[str, str]]:
        return trained_in(self.run.config)

    def _error(self, measure: Measure, condition: str) -> float | None:
        return error_over(measure.read(each) for each in self.results["per_seed"] if each["condition"] == condition)


EXACT = Measure("exact", "exact extraction", "lower", extraction("exact"))


def plain(value: float | None, error: float | None = None) -> Json | None:
    """A number without an interval as a cell."""
    return None if value is None else {"value": value, "low": None, "high": None, "error": error}


def _native(detection: Json) -> bool:
    return detection["settings"].get("output", "decoded") == "decoded" and detection["target"] is None
