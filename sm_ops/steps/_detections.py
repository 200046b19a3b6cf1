"""Detectors as conditions: the masks of what they found, at thresholds that validation chose where they bring none."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sm_ops.calibration import detected
from sm_ops.calibration.judge import told
from sm_ops.calibration.thresholds import Threshold
from sm_ops.core.errors import StageError
from sm_ops.metrics import confusion
from sm_ops.sanitizing import levels
from sm_ops.steps._masking import Labelled

if TYPE_CHECKING:
    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context


@dataclass(frozen=True, slots=True)
class Detected:
    """Downstream masks (one boolean array a record), and the threshold with what it does on both splits, as JSON."""

    masks: list[np.ndarray]
    about: dict[str, Any]


def mask_detected(
    masking: Settings, validation: Labelled, application: Labelled, context: Context
) -> dict[str, Detected]:
    """Every detector of `masking.detectors`, by its condition.

    Raises `StageError` where no threshold reaches a target recall.
    """
    return {
        name: _mask(name, own["detector"], own["target"], validation, application, context)
        for name, own in masking.detectors.plain().items()
    }


def _mask(
    name: str, detector: str, target: float | None, validation: Labelled, application: Labelled, context: Context
) -> Detected:
    files = {split: context.inputs[f"detections/{name}/{split}"] for split in ("calibration", "train")}
    own = levels.about(files["train"]).at
    chosen_on = detected.sample(validation.records, _critical(files["calibration"], validation), validation.tokens)
    point = detected.threshold(chosen_on, own, target)
    if target is not None and not point.reached:
        raise StageError("detector-out-of-reach", _out_of_reach(name, detector, target, point))
    critical = _critical(files["train"], application)
    applied_to = detected.sample(application.records, critical, application.tokens)
    elsewhere = Threshold(point.tau, confusion(detected.mask(applied_to.critical, point.tau), applied_to.gold))
    about = {
        "detector": detector,
        "chosen": "own" if own is not None else "max_f1" if target is None else "recall",
        "target": target,
        "tau": point.tau,
        "validation": told(point, chosen_on),
        "training": told(elsewhere, applied_to),
    }
    return Detected([detected.mask(values, point.tau) for values in critical], about)


def _critical(path: Path, data: Labelled) -> list[np.ndarray]:
    return detected.critical_values(levels.read(path), data.tokens)


def _out_of_reach(name: str, detector: str, target: float, point: Threshold) -> str:
    return (
        f"masking.detectors.{name}: no threshold of the detector {detector!r} reaches the target recall of {target:g} "
        f"on validation; all that it scores covers {point.recall or 0.0:.1%} of the target tokens. Ask for less, or "
        "leave target out (the largest F1 chooses then)."
    )
