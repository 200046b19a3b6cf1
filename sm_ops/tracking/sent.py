"""What a run is on a tracking server. One module a flow chooses by name what is sent, and nothing else leaves the home.

Such a module has `PARAMETERS`, `PLACES` and `MODELS` (dotted settings), `ARTIFACTS` (files of the run's folder), `DATA`
(a step and its outputs), `summary(results)` and `children(results)`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]
Measures = dict[str, float | None]


@dataclass(frozen=True)
class Child:
    """A run below the run: one row of its table.

    `per_seed` holds `(seed, measures)`; `data` the step whose outputs it read, and which of them by name.
    """

    name: str
    measures: Measures
    per_seed: list[tuple[int, Measures]] = field(default_factory=list)
    data: tuple[str, tuple[str, ...]] | None = None
