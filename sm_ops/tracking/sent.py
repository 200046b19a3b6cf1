"""What a run is on a tracking server. A module a flow says in `SENT` what is sent; nothing else leaves the home."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]
Measures = dict[str, float | None]


@dataclass(frozen=True)
class Child:
    """A run below the run: one row of its table.

    `per_seed` holds `(seed, measures)`; `data` the step whose outputs it read, and which of them by name; `trained` the
    steps that trained the models it measured, by what tells them apart.
    """

    name: str
    measures: Measures
    per_seed: list[tuple[int, Measures]] = field(default_factory=list)
    data: tuple[str, tuple[str, ...]] | None = None
    trained: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Column:
    """A measure in the table of a run's page; a share is shown in percent."""

    measure: str
    heading: str
    share: bool = False


@dataclass(frozen=True)
class Sent:
    """What is sent of a flow's runs.

    `parameters`, `places` and `models` are dotted settings, as `allowed` reads them; `data` is a step and its outputs;
    `columns` are the measures that the table of a run's page shows; `axes` two of them, what a protection costs and
    what still leaks: their plane is the comparison of runs, and the run carries them for each row. `summary` gives
    numbers of the run as a whole, `children` its rows, `remark` a sentence beside the claims, or none; each takes the
    run's results. `figure` is a file of the run's folder.
    """

    title: str
    parameters: tuple[str, ...]
    places: tuple[str, ...]
    models: tuple[str, ...]
    data: tuple[str, tuple[str, ...]]
    columns: tuple[Column, ...]
    axes: tuple[str, str]
    summary: Callable[[Json], Measures]
    children: Callable[[Json], list[Child]]
    remark: Callable[[Json], str] = lambda results: ""
    figure: str | None = None

    @property
    def artifacts(self) -> tuple[str, ...]:
        """The files of the run's folder that are sent."""
        return "report.html", *([self.figure] if self.figure else []), "results.json"


def with_interval(name: str, value: Json | None) -> Measures:
    """`{value, low, high}` as three measures: NAME, NAME_low, NAME_high; nothing measured is undefined in each."""
    known = value or {}
    return {name: known.get("value"), **{f"{name}_{end}": known.get(end) for end in ("low", "high")}}


def step_seconds(results: Json) -> Measures:
    """What the run's results took when they were made."""
    return {"step_seconds": sum(stage["seconds"] for stage in results["stages"])}


def claims_told(results: Json) -> Measures:
    """How many claims hold, and how many fail."""
    passed = [claim["passed"] for claim in results["claims"]]
    return {"claims_that_hold": passed.count(True), "claims_that_fail": passed.count(False)}
