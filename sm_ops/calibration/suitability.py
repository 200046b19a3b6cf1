"""Whether surprise masking is the right tool for this data, in words (paper, section 5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sm_ops.calibration.certainty import required_units
from sm_ops.calibration.thresholds import Threshold
from sm_ops.metrics import lower_bound


@dataclass(frozen=True, slots=True)
class Verdict:
    """`decision` is `suitable`, or why not to go on: `undefined`, `inverted`, `unreachable`, `costly`.

    `advice` says it plainly: use it, use another rule, or do not use it.
    """

    decision: str
    advice: str
    reason: str

    @property
    def suitable(self) -> bool:
        """Whether a pipeline may go on to train or release."""
        return self.decision == "suitable"


USE, USE_ANOTHER, DO_NOT_USE = "use it", "use another rule", "do not use it"


def verdict(
    auroc: float | None, thresholds: Mapping[str, Threshold], acceptable_collateral: float
) -> Verdict:
    """Judge the operating points (name -> threshold on validation data) by what they cost.

    What counts is the target coverage attainable at an acceptable collateral masking rate; the AUROC alone
    decides only below one half, where targets are less surprising than the rest. A target recall that no
    threshold reaches is a stop as well (OP-22).
    """
    if auroc is None:
        return Verdict(
            "undefined",
            DO_NOT_USE,
            "The validation data has no target tokens, or nothing but target tokens, so nothing can be "
            "calibrated; give labelled records that hold both.",
        )
    if auroc < 0.5:
        return Verdict(
            "inverted",
            DO_NOT_USE,
            f"Target tokens are less surprising than the rest (AUROC {auroc:.3f}, under 0.5), so masking "
            "surprise spares them and masks other content; use another score, a reference fitted to clean "
            "content of this kind, or another method.",
        )
    unreached = {name: point for name, point in thresholds.items() if not point.reached}
    if unreached:
        best = max(point.recall or 0.0 for point in unreached.values())
        return Verdict(
            "unreachable",
            USE_ANOTHER,
            f"No threshold reaches the target recall of {', '.join(unreached)}: the largest mask there is covers "
            f"{best:.1%} of the target tokens; ask for less, or use fewer votes, narrower windows or wider "
            "propagation.",
        )
    within = {name: point for name, point in thresholds.items() if _cost(point) <= acceptable_collateral}
    if not within:
        name, point = min(thresholds.items(), key=lambda item: _cost(item[1]), default=("", None))
        cheapest = f"; the cheapest, {name}, masks {_cost(point):.1%}" if point else ", as none was asked for"
        return Verdict(
            "costly",
            USE_ANOTHER,
            f"No operating point stays within the acceptable collateral masking rate of "
            f"{acceptable_collateral:.1%} (AUROC {auroc:.3f}){cheapest}; use a reference fitted to clean content "
            "of this kind, or another method.",
        )
    name, point = max(within.items(), key=lambda item: item[1].recall or 0.0)
    beyond = [other for other in thresholds if other not in within]
    dearer = f"; {', '.join(beyond)} would cost more than that" if beyond else ""
    return Verdict(
        "suitable",
        USE,
        f"{name} covers {point.recall or 0.0:.1%} of the target tokens for {_cost(point):.1%} of the others "
        f"masked, within the acceptable {acceptable_collateral:.1%} (AUROC {auroc:.3f}){dearer}.",
    )


def unshown(targets: Mapping[str, float], whole: np.ndarray, confidence: float) -> Verdict:
    """Recalls that the validation units do not show with the confidence asked for.

    `targets` are the recalls by name, `whole` the units' own thresholds (`whole_units`).
    """
    units, coverable = len(whole), int((whole > -np.inf).sum())
    needed = {name: required_units(target, confidence) for name, target in targets.items()}
    wanted = "; ".join(
        f"{name} takes at least {number} independent units, all of them covered"
        if number
        else f"{name} cannot be shown by any number"
        for name, number in needed.items()
    )
    shown = lower_bound(coverable, units, confidence) or 0.0
    return Verdict(
        "unreachable",
        DO_NOT_USE,
        f"Of the {units} independent units with targets (identities, or documents without one) {coverable} can be "
        f"masked completely, which shows a recall of {shown:.0%} with confidence {confidence:.0%}: {wanted}. Label "
        "more, ask for less, or use fewer votes or wider propagation.",
    )


def _cost(point: Threshold) -> float:
    return point.collateral or 0.0
