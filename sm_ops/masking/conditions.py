"""Names of the conditions that are trained and compared: what a report calls each mask."""

from __future__ import annotations

from typing import Any

BASE = "base"
UNMASKED = "unmasked"
ORACLE = "oracle"


def surprise_at(target: float) -> str:
    """An operating point by its target recall: 0.95 -> "SM95"."""
    return f"SM{100 * target:g}"


def random_at(target: float) -> str:
    """The random mask with the budget of an operating point: 0.95 -> "random95"."""
    return f"random{100 * target:g}"


def goldfish_of(k: int) -> str:
    """Goldfish that masks about one token in k: 3 -> "goldfish3"."""
    return f"goldfish{k}"


def trained(masking: Any) -> list[str]:
    """The trained conditions in the order of a report. `masking`: targets, random, goldfish."""
    return [
        UNMASKED,
        ORACLE,
        *map(surprise_at, masking.targets),
        *map(random_at, masking.random),
        *map(goldfish_of, masking.goldfish),
    ]
