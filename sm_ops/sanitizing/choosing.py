"""Which filter to take, in words: a verdict on each, and the choice among them (paper, section 5).

What counts is the coverage that validation attains at the acceptable collateral masking rate; AUROC alone decides only
below one half. The application side, where it is labelled, confirms or contradicts; it never chooses.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sm_ops.core.errors import InputError
from sm_ops.core.registry import did_you_mean
from sm_ops.sanitizing.plan import AUTO, Plan

Json = dict[str, Any]
SUITABLE, COSTLY, UNCONFIRMED = "suitable", "costly", "unconfirmed"
INVERTED, UNDEFINED = "inverted", "undefined"
_REMEDY = {
    False: "use another filter, or a reference fitted to clean content of this kind",
    True: "use another detector, or one made for targets of this kind",
}


def verdict(measured: Json, plan: Plan) -> Json:
    """`decision` and `reason` for one filter, from its entry in `measures.json`.

    `undefined` (targets or other content are missing), `inverted` (targets look less suspicious than the rest),
    `costly` (the coverage asked for is not attained at the acceptable rate), `unconfirmed` (it is on validation, not on
    the application side at the same threshold), `suitable`.
    """
    here, there = measured["validation"], measured["application"]
    area = here["auroc"]["value"]
    if area is None:
        return _said(
            UNDEFINED,
            "The validation side has no targets, or nothing but targets, so nothing can be measured; give labelled "
            "records that hold both.",
        )
    if area < 0.5:
        return _said(
            INVERTED,
            f"Targets look less suspicious to this filter than the rest (AUROC {area:.3f}, under 0.5), so it would "
            f"mask other content and spare them; {_REMEDY[measured['kind'] == 'detector']}.",
        )
    separation = f"AUROC {area:.3f}, F1 {_number(here['f1'])} at its threshold"
    acceptable = f"the acceptable collateral masking rate of {plan.acceptable_collateral:.1%}"
    best, operating = here["attainable"], here["operating"]
    reached = best["coverage"] if best else {"value": 0.0, "low": None, "high": None}
    if reached["value"] < plan.coverage:
        price = f"; {plan.coverage:.0%} would cost {_percent(operating['collateral'])}" if operating else ""
        return _said(
            COSTLY,
            f"At {acceptable} it covers {_percent(reached)} of the targets, less than the {plan.coverage:.0%} asked for"
            f"{price} ({separation}); use another filter or another rule, or accept more collateral masking.",
        )
    told = f"It {_does(operating)}; acceptable is {plan.acceptable_collateral:.1%} ({separation})."
    if there is None or there["operating"]["coverage"]["value"] is None:
        return _said(SUITABLE, f"{told} No labels of the application side confirm it.")
    if _contradicted(there["operating"], plan):
        return _said(
            UNCONFIRMED,
            f"On validation it {_does(operating)}, but at the same threshold the application side contradicts that: "
            f"there it {_does(there['operating'])}; label a sample that is more like the application side.",
        )
    return _said(SUITABLE, f"{told} At the same threshold on the application side it {_does(there['operating'])}.")


def _does(point: Json) -> str:
    return (
        f"covers {_percent(point['coverage'])} of the targets for {_percent(point['collateral'])} of the other "
        f"content, and {_percent(point['precision'])} of what it takes out are targets"
    )


def _contradicted(there: Json, plan: Plan) -> bool:
    """Whether even the favourable end of an interval misses what validation promised (choice S-5)."""
    coverage, collateral = there["coverage"], there["collateral"]
    best, least = coverage["high"] or coverage["value"], collateral["low"] or collateral["value"]
    return best < plan.coverage or least > plan.acceptable_collateral


def choice(measured: Mapping[str, Json], verdicts: Mapping[str, Json], plan: Plan) -> Json:
    """The filter that redacts, with its threshold: the one that the plan names, or the best of the suitable ones.

    The best has the largest F1 at its operating threshold on validation (choice S-2); `filter` and `tau` are null where
    none is suitable. Raises `InputError` for a name that is no filter.
    """
    if plan.use != AUTO:
        if plan.use not in measured:
            raise InputError(
                "unknown-filter", f"There is no filter {plan.use!r} to redact with; {did_you_mean(plan.use, measured)}."
            )
        return {"filter": plan.use, "tau": _threshold(measured[plan.use]), **verdicts[plan.use]}
    suitable = [name for name, own in verdicts.items() if own["decision"] == SUITABLE]
    if not suitable:
        said = "; ".join(f"{name} is {own['decision']}" for name, own in verdicts.items())
        return {
            "filter": None,
            "tau": None,
            **_said("none", f"No filter is suitable for this corpus, so nothing is redacted: {said}."),
        }
    best = max(suitable, key=lambda name: measured[name]["validation"]["operating"]["f1"]["value"])
    beaten = "" if len(suitable) == 1 else f" Its F1 there is the largest of {len(suitable)} suitable filters."
    reason = f"{best}: {verdicts[best]['reason']}{beaten}"
    return {"filter": best, "tau": _threshold(measured[best]), **_said(SUITABLE, reason)}


def _threshold(measured: Json) -> float | None:
    """The operating threshold (choice S-1); a filter that no threshold lets cover enough keeps its own figures'."""
    operating = measured["validation"]["operating"]
    return operating["tau"] if operating else measured["tau"]


def _said(decision: str, reason: str) -> Json:
    return {"decision": decision, "reason": reason}


def _percent(rate: Json) -> str:
    if rate["value"] is None:
        return "an undefined share"
    interval = "" if rate["low"] is None else f" ({rate['low']:.1%} to {rate['high']:.1%})"
    return f"{rate['value']:.1%}{interval}"


def _number(rate: Json) -> str:
    return "undefined" if rate["value"] is None else f"{rate['value']:.3f}"
