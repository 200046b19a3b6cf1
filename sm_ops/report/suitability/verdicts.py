"""What a separation says in words: a verdict where the run gave none, gaps, and rankings that no threshold serves."""

from __future__ import annotations

from typing import Any

from sm_ops.report.separation import cuts_poorly, ranks_high
from sm_ops.report.words import decimal, percent
from sm_ops.sanitizing.plan import Plan

Json = dict[str, Any]

ACCEPTABLE, COVERAGE = Plan().acceptable_collateral, Plan().coverage
"""Of a run that names none: what sanitization takes for acceptable and for suitable (choice Y-2)."""


def judged(row: Json) -> Json:
    """`{decision, reason}` by the target coverage attainable at the acceptable collateral masking rate (section 5)."""
    side = "validation" if row["auroc"]["application"] is None else "application"
    area = row["auroc"][side] and row["auroc"][side]["value"]
    covered = row["attainable"][side] and row["attainable"][side]["value"]
    if area is None or covered is None:
        return {"decision": "undefined", "reason": f"The {side} data lacks targets or other content."}
    if area < 0.5:
        reason = f"Targets are less suspicious than the rest (AUROC {area:.3f}, under 0.5): the score spares them."
        return {"decision": "inverted", "reason": reason}
    reason = (
        f"At a collateral rate of {percent(row['attainable']['collateral'])} it can cover {percent(covered)} of the "
        f"targets on {side} data (AUROC {area:.3f}; wanted: {percent(COVERAGE)})."
    )
    return {"decision": "suitable" if covered >= COVERAGE else "costly", "reason": reason}


def gap_words(row: Json) -> str:
    """A gap between validation and application in a sentence."""
    values = {side: decimal(own["value"]) for side, own in row["auroc"].items()}
    how = "overstates" if row["gap"] > 0 else "understates"
    return (
        f"{row['label']}, {row['score']}: AUROC {values['validation']} on validation and {values['application']} on "
        f"application data; validation {how} the separation by {abs(row['gap']):.3f}."
    )


def poorly_cut(row: Json) -> str | None:
    """A sentence where targets rank high and the chosen threshold is poor all the same; None elsewhere."""
    side = "validation" if row["auroc"]["application"] is None else "application"
    area, f1 = (own[side] and own[side]["value"] for own in (row["auroc"], row["f1"]))
    if not (ranks_high(area) and cuts_poorly(f1)):
        return None
    return (
        f"{row['label']}, {row['score']}: the AUROC of {decimal(area)} is high and the F1 of {decimal(f1)} on {side} "
        "data is poor. Targets rank above most other content, but there is so much of it that what a threshold takes "
        "along outweighs what it is for."
    )
