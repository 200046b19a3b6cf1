"""What conditions are judged by: each measure of a row of the results as a number with its error, and its axis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sm_ops.report.words import share

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Measure:
    """`read` gives `{value, low, high, error}` of a row, or None where it was not measured.

    The interval is one of 95 %, the error a standard error over seeds. A share lies in [0, 1] and is drawn in percent.
    """

    name: str
    title: str
    better: str
    read: Callable[[Json], Json | None]
    share: bool = True

    def at(self, row: Json) -> float | None:
        """Where a row stands on the axis."""
        found = self.read(row)
        return None if found is None else self._scaled(found["value"])

    def reach(self, row: Json) -> tuple[float, float] | None:
        """How far a row's error bar goes down and up on the axis: its interval, or else its standard error."""
        found = self.read(row)
        if found is None or (found["low"] is None and found["error"] is None):
            return None
        if found["low"] is None:
            return self._scaled(found["error"]), self._scaled(found["error"])
        middle = found["value"]
        return self._scaled(max(0.0, middle - found["low"])), self._scaled(max(0.0, found["high"] - middle))

    @property
    def axis(self) -> str:
        """The axis in words."""
        return self.title + (", %" if self.share else "")

    def _scaled(self, value: float) -> float:
        return 100 * value if self.share else value


def extraction(score: str) -> Callable[[Json], Json | None]:
    """Reads the share of canaries extracted: "approx" or "exact"."""

    def read(row: Json) -> Json | None:
        rate = row[f"extraction_{score}"]
        level = share(rate)
        return None if level is None else _told(level, rate["low"], rate["high"])

    return read


def display(row: Json) -> Json | None:
    """The share of prompts with an answer in the user's style, the mean over quirks (OP-32)."""
    return _rated(row.get("display"), row.get("display_se"))


def pass_at(row: Json) -> Json | None:
    """The share of prompts with an answer that passes the tests."""
    return _rated(row.get("pass_at"), row.get("pass_se"))


def nll(row: Json) -> Json | None:
    """Nats a token of the held-out clean records."""
    return None if row["nll"] is None else _told(row["nll"], error=row.get("nll_se"))


def _plain(name: str) -> Callable[[Json], Json | None]:
    return lambda row: None if row[name] is None else _told(row[name])


COVERAGE = Measure("target_coverage", "target tokens masked", "higher", _plain("target_coverage"))
COLLATERAL = Measure("collateral_rate", "other tokens masked", "lower", _plain("collateral_rate"))
EXTRACTION = Measure("extraction", "canaries extracted", "lower", extraction("approx"))
DISPLAY = Measure("display", "prompts that show the quirk", "lower", display)
PASS = Measure("pass_at", "prompts with an answer that passes", "higher", pass_at)
NLL = Measure("nll", "held-out NLL, nats per token", "lower", nll, share=False)
PERPLEXITY = Measure("perplexity", "held-out perplexity", "lower", _plain("perplexity"), share=False)
OUTCOMES = (EXTRACTION, DISPLAY)
"""What is not wanted."""
UTILITIES = (PASS, NLL)
"""What training is for."""


def outcome_of(rows: Iterable[Json]) -> Measure:
    """What a run's conditions leak: values, or else forms."""
    return next(iter(measured(rows, OUTCOMES)), EXTRACTION)


def measured(rows: Iterable[Json], measures: Sequence[Measure]) -> list[Measure]:
    """Those of `measures` that any row has."""
    rows = list(rows)
    return [measure for measure in measures if any(measure.read(row) is not None for row in rows)]


def sampled(rows: Iterable[Json], name: str) -> int | None:
    """The k of a run's pass@k (`pass_at`) or display@k (`display`), None where it was not measured."""
    return next((row[name]["k"] for row in rows if row.get(name)), None)


def _rated(found: Json | None, error: float | None) -> Json | None:
    if found is None or found["value"] is None:
        return None
    return _told(found["value"], found["low"], found["high"], error)


def _told(value: float, low: float | None = None, high: float | None = None, error: float | None = None) -> Json:
    return {"value": value, "low": low, "high": high, "error": error}
