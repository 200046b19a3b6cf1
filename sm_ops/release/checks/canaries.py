"""Few canaries come out of a model that was trained on the released data: the upper confidence limit is bounded."""

from __future__ import annotations

from typing import Any

from sm_ops.core.settings import Settings
from sm_ops.metrics.intervals import wilson
from sm_ops.release.checking import Bundle, Outcome, rate

_SLACK = 1e-9


def run(bundle: Bundle, settings: Settings) -> Outcome:
    """The approximate extraction rate in `evidence/extraction.json`, and its upper limit at most `settings.bound`.

    An exact extraction is an approximate one, too, so this is the larger of the two rates. The evidence's interval
    counts repeated observations of a canary as dependent, so it may be wider than that of n independent ones, and is
    refused where it is narrower.
    """
    found = _rate((bundle.evidence("extraction") or {}).get("approx"))
    if found is None:
        return Outcome("unmeasured", "No extraction of canaries was tried on a model that learnt this data.")
    k, n, low, high = found
    measured = {"k": k, "n": n, "low": low, "high": high, "bound": settings.bound}
    independent = wilson(k, n)
    assert independent is not None
    if high < independent[1] - _SLACK or low > independent[0] + _SLACK:
        told = f"The evidence says {rate(k, n, (low, high))}, an interval that {n:,} observations do not give."
        return Outcome("fail", told, measured)
    relation = "at most" if high <= settings.bound else "above"
    told = f"Canaries extracted: {rate(k, n, (low, high))}; the upper limit is {relation} {100 * settings.bound:.1f} %."
    return Outcome("pass" if high <= settings.bound else "fail", told, measured)


def _rate(given: Any) -> tuple[int, int, float, float] | None:
    """k, n, low and high, where they can be those of a rate."""
    if not isinstance(given, dict):
        return None
    k, n, low, high = (given.get(key) for key in ("k", "n", "low", "high"))
    if not (isinstance(k, int) and isinstance(n, int)):
        return None
    if not (isinstance(low, int | float) and isinstance(high, int | float)):
        return None
    return (k, n, low, high) if 0 <= k <= n > 0 and 0 <= low <= k / n <= high <= 1 else None
