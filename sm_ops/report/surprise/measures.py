"""What conditions are judged by: each measure of a row of the results as a number with its error, and its axis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import exp
from typing import Any

import numpy as np

from sm_ops.evaluation.frontier import likelihood_in
from sm_ops.metrics import standard_error
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
    over: str | None = None
    """What a likelihood is the mean over."""
    short: str = ""
    """A likelihood's name above a column."""
    note: str = ""
    """What it is, in a sentence."""

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


def pass_unbiased(row: Json) -> Json | None:
    """The share that is expected of k of all answers."""
    return _rated((row.get("pass_at") or {}).get("unbiased"), None)


def perplexity(row: Json) -> Json | None:
    """The exponential of the NLL (B.2), of answers where it was measured; its error by the derivative."""
    found = likelihood_of([row]).read(row)
    if found is None:
        return None
    value, error = exp(found["value"]), found["error"]
    return _told(value, error=None if error is None else value * error)


def _likelihood(name: str) -> Callable[[Json], Json | None]:
    """Nats a token, its error over seeds."""
    return lambda row: None if row.get(name) is None else _told(row[name], error=row.get(f"{name}_se"))


def _plain(name: str) -> Callable[[Json], Json | None]:
    return lambda row: None if row[name] is None else _told(row[name])


COVERAGE = Measure("target_coverage", "target tokens masked", "higher", _plain("target_coverage"))
COLLATERAL = Measure("collateral_rate", "other tokens masked", "lower", _plain("collateral_rate"))
EXTRACTION = Measure("extraction", "canaries extracted", "lower", extraction("approx"))
DISPLAY = Measure("display", "prompts that show the quirk", "lower", display)
PASS = Measure("pass_at", "prompts with an answer that passes", "higher", pass_at)
NLL = Measure(
    "nll",
    "held-out NLL, nats per token",
    "lower",
    _likelihood("nll"),
    share=False,
    over="tokens",
    short="held-out NLL",
    note="Held-out NLL: nats a token, over all tokens of the held-out records together.",
)
COMPLETION_NLL = Measure(
    "completion_nll",
    "NLL of right answers, mean over answers of nats per token",
    "lower",
    _likelihood("completion_nll"),
    share=False,
    over="answers",
    short="NLL of answers",
    note="NLL of answers: the mean over the right answers to held-out prompts of nats a token in each (B.2).",
)
LIKELIHOODS = {measure.name: measure for measure in (COMPLETION_NLL, NLL)}
PERPLEXITY = Measure("perplexity", "held-out perplexity", "lower", perplexity, share=False)
OUTCOMES = (EXTRACTION, DISPLAY)
"""What is not wanted."""


def outcome_of(rows: Iterable[Json]) -> Measure:
    """What a run's conditions leak: values, or else forms."""
    return next(iter(measured(rows, OUTCOMES)), EXTRACTION)


def likelihood_of(rows: Iterable[Json]) -> Measure:
    """The NLL that tells a run's utility; see `frontier.likelihood_in`."""
    return LIKELIHOODS[likelihood_in(rows)]


def utilities_of(rows: Iterable[Json]) -> list[Measure]:
    """What training is for: answers that pass where they were run, and a likelihood."""
    rows = list(rows)
    return [*measured(rows, (PASS,)), likelihood_of(rows)]


def error_over(found: Iterable[Json | None]) -> float | None:
    """The standard error of `{value}` over seeds."""
    return standard_error(np.array([each["value"] for each in found if each is not None]))


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
