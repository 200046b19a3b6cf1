"""Names of the conditions that are trained and compared: what a report calls each mask."""

from __future__ import annotations

from typing import Any

from sm_ops.core.settings import Settings

BASE = "base"
UNMASKED = "unmasked"
ORACLE = "oracle"
BY_CATEGORY = "SM_category"


def variant(condition: str) -> bool:
    """Whether a condition is an operating point's relative: by category, or under another intervention."""
    return condition.startswith("SM") and "_" in condition


def trainings(masking: Any, train: Any) -> dict[str, tuple[str, str]]:
    """Condition -> (its mask, its intervention), in the order of a report.

    Every mask is trained with `train.intervention`; the operating point of the highest target recall also with those
    of `train.compare` (paper E.1): "SM95_clip".
    """
    found = {mask: (mask, train.intervention) for mask in trained(masking)}
    highest = surprise_at(max(masking.targets))
    return found | {f"{highest}_{action}": (highest, action) for action in train.compare}


def trained_in(config: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """`trainings` of a finished run by its config; runs of earlier versions knew no detectors as conditions."""
    return trainings(Settings({"detectors": {}, **config["masking"]}), Settings(config["train"]))


def surprise_at(target: float) -> str:
    """An operating point by its target recall: 0.95 -> "SM95"."""
    return f"SM{100 * target:g}"


def operating_points(masking: Any) -> dict[str, float]:
    """Name -> target recall of every operating point."""
    return {surprise_at(target): target for target in masking.targets}


def baseline_at(name: str, value: float) -> str:
    """A baseline with its value, a share in percent: random at 0.95 -> "random95", goldfish at 3 -> "goldfish3"."""
    return f"{name}{100 * value if value <= 1 else value:g}"


def baselines(masking: Any) -> dict[str, tuple[str, float]]:
    """Condition -> the baseline and the value that it stands for."""
    return {
        baseline_at(name, value): (name, value)
        for name, values in masking.baselines.plain().items()
        for value in values
    }


def trained(masking: Any) -> list[str]:
    """The masks that are trained on, in the order of a report. `masking`: targets, by, baselines, detectors."""
    return [
        UNMASKED,
        ORACLE,
        *operating_points(masking),
        *([BY_CATEGORY] if masking.by else []),
        *baselines(masking),
        *masking.detectors.plain(),
    ]
