"""The verdict on the mask's rule is not negative: surprise masking is the right tool for this data."""

from __future__ import annotations

from sm_ops.core.settings import Settings
from sm_ops.release.checking import Bundle, Outcome

SUITABLE = "suitable"
_DECISIONS = (SUITABLE, "undefined", "inverted", "unreachable", "costly", "unconfirmed")


def run(bundle: Bundle, settings: Settings) -> Outcome:
    """What calibration decided, from `evidence/suitability.json`; it does not apply where no rule masked."""
    if bundle.manifest["method"] != "redacted":
        return Outcome("not applicable", "No surprise rule masked this data.")
    verdict = bundle.evidence("suitability") or {}
    decision, auroc = verdict.get("decision"), verdict.get("auroc")
    measured = {"auroc": auroc if isinstance(auroc, int | float) else None}
    if decision not in _DECISIONS:
        return Outcome("unmeasured", "No calibration gave a verdict on the rule that masked this data.", measured)
    shown = "undefined" if measured["auroc"] is None else f"{measured['auroc']:.3f}"
    if decision != SUITABLE:
        return Outcome("fail", f"Calibration calls the rule {decision}: AUROC {shown}.", measured)
    return Outcome("pass", f"Calibration calls the rule suitable: AUROC {shown}.", measured)
