"""What a measurement is asked for: the settings of a sanitization that say how filters are judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

UnitKind = Literal["characters", "tokens", "lines"]
AUTO = "auto"


@dataclass(frozen=True, slots=True)
class Plan:
    """`unit` is what thresholds are chosen on, the others are as in the config.

    `families` maps each category to its family; `combinations` are pairs of a surprise filter and another one.
    """

    unit: UnitKind = "characters"
    threshold_folds: int | None = None
    combinations: Sequence[tuple[str, str]] = ()
    by: str | None = None
    families: Mapping[str, str] | None = None
    regimes: Sequence[str] = ()
    acceptable_collateral: float = 0.1
    coverage: float = 0.8
    use: str = AUTO
