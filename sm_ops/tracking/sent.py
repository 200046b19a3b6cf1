"""What a run is on a tracking server. One module a flow chooses by name what is sent, and nothing else leaves the home.

Such a module has `TITLE`; `PARAMETERS`, `PLACES` and `MODELS` (dotted settings, as `allowed` reads them); `ARTIFACTS`
(files of the run's folder) and the `FIGURE` among them, or None; `DATA` (a step and its outputs); `COLUMNS` (measures
that its table shows); `AXES` (what a protection costs and what still leaks: two measures, whose plane is the
comparison, and which the run carries for each row); `summary(results)`, `remark(results)` (a sentence, or none) and
`children(results)`.
"""

from __future__ import annotations

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
