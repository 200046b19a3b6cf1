"""One labelled sample under one rule: operating points with their certainty, categories, curve and verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from sm_ops.calibration.certainty import at_confidence, recall_interval, whole_units
from sm_ops.calibration.sample import Sample
from sm_ops.calibration.suitability import Verdict, unshown, verdict
from sm_ops.calibration.thresholds import Threshold, at_max_f1, at_recall, at_threshold, by_category, curve, within
from sm_ops.metrics import auroc, auroc_interval_by_cluster, ratio_interval

CURVE_POINTS = 200
HISTOGRAM_BINS = 48
Judgement = dict[str, Any]


def judge(
    sample: Sample,
    targets: Mapping[str, float],
    acceptable_collateral: float,
    confidence: float | None = None,
    every: bool = True,
) -> Judgement:
    """Thresholds by target recall (name -> recall), by the largest F1 and by acceptable collateral, as plain JSON.

    With `confidence`, a point's threshold is the largest at which the recall holds for further units with that
    confidence (`at_confidence`). `points` holds the operating points; the verdict judges them (paper, section 5): with
    `every`, one that is out of reach is a stop, as a pipeline trains them all (OP-22), else the others are judged.
    """
    points = {
        name: at_recall(sample.critical, sample.gold, target)
        if confidence is None
        else at_confidence(sample, target, confidence)
        for name, target in targets.items()
    }
    area = auroc(sample.critical, sample.gold)
    best = at_max_f1(sample.critical, sample.gold)
    return {
        "auroc": area,
        "auroc_interval": _auroc_interval(sample),
        "f1": _f1(sample, best.tau),
        "verdict": asdict(_verdict(sample, area, points, targets, acceptable_collateral, confidence, every)),
        "by_label": {name: _by_label(sample, own) for name, own in sample.labels.items()},
        "target_tokens": int(sample.gold.sum()),
        "other_tokens": int((~sample.gold).sum()),
        "independent_units": sample.units,
        "points": {name: told(point, sample) for name, point in points.items()},
        "max_f1": told(best, sample),
        "acceptable": told(within(sample.critical, sample.gold, acceptable_collateral), sample),
        "curve": _thinned_curve(sample),
        "histogram": _histogram(sample),
    }


def _verdict(
    sample: Sample,
    area: float | None,
    points: Mapping[str, Threshold],
    targets: Mapping[str, float],
    acceptable_collateral: float,
    confidence: float | None,
    every: bool,
) -> Verdict:
    missed = [name for name, point in points.items() if not point.reached]
    reached = {name: point for name, point in points.items() if point.reached}
    if not missed or (reached and not every):
        judged = verdict(area, reached, acceptable_collateral)
        beyond = f" Out of reach: {', '.join(missed)}." if missed else ""
        return replace(judged, reason=judged.reason + beyond)
    if confidence is not None and area is not None and area >= 0.5:
        return unshown({name: targets[name] for name in missed}, whole_units(sample), confidence)
    return verdict(area, points, acceptable_collateral)


def told(point: Threshold, sample: Sample) -> dict[str, Any]:
    """A threshold and what it does to a sample; `interval` is that of the coverage over independent units."""
    masked = np.zeros(len(sample.gold), bool) if point.tau is None else sample.critical >= point.tau
    return {
        "tau": point.tau,
        "reached": point.reached,
        "target_coverage": point.recall,
        "interval": recall_interval(point.recall, sample.units),
        "collateral_rate": point.collateral,
        "f1": point.f1,
        "masked": point.masked,
        "by_label": {name: float(masked[own].mean()) if own.any() else None for name, own in sample.labels.items()},
    }


def elsewhere(judgement: Judgement, sample: Sample, acceptable_collateral: float) -> dict[str, Any]:
    """What thresholds chosen on validation do to other labelled data, and what that data would allow by itself.

    `points` are the operating points there, `f1` what the validation threshold of the largest F1 gives; `auroc` and
    `curve` are that data's own; `acceptable` is the coverage attainable there at the acceptable collateral masking
    rate, and `gap` how much less that is than on validation (paper, section 5).
    """
    chosen = {name: point["tau"] for name, point in judgement["points"].items() if point["reached"]}
    attainable = told(within(sample.critical, sample.gold, acceptable_collateral), sample)
    there, here = attainable["target_coverage"], judgement["acceptable"]["target_coverage"]
    return {
        "auroc": auroc(sample.critical, sample.gold),
        "auroc_interval": _auroc_interval(sample),
        "curve": _thinned_curve(sample),
        "f1": _f1(sample, judgement["max_f1"]["tau"]),
        "points": {
            name: told(at_threshold(sample.critical, sample.gold, tau), sample) for name, tau in chosen.items()
        },
        "acceptable": attainable,
        "gap": None if there is None or here is None else here - there,
    }


def categories(sample: Sample, names: Sequence[str | None]) -> dict[str, Any]:
    """One threshold per category of the records (`names`, one per record) and the pooled one (OP-25)."""
    of_token = np.array([name or "" for name in names], object)[sample.record]
    members = {name: sample.gold & (of_token == name) for name in sorted({name for name in names if name})}
    return {
        name: {"tau": point.tau, "f1": point.f1}
        for name, point in by_category(sample.critical, members).items()
    }


def _by_label(sample: Sample, own: np.ndarray) -> dict[str, Any]:
    """AUROC of one label's tokens against those of no label; tokens of other labels alone are left out (section 7)."""
    counted = own | ~sample.gold
    return {"auroc": auroc(sample.critical[counted], own[counted]), "target_tokens": int(own.sum())}


def _auroc_interval(sample: Sample) -> tuple[float, float] | None:
    """95 % interval of the AUROC over independent units, never over tokens."""
    alike = np.ones(len(sample.gold), np.int64)
    return auroc_interval_by_cluster(sample.critical, sample.gold, sample.unit, alike, seed=0)


def _f1(sample: Sample, tau: float | None) -> dict[str, float | None]:
    """F1 of the mask at a threshold (None masks nothing) with its 95 % interval over independent units."""
    masked = np.zeros(len(sample.gold), bool) if tau is None else sample.critical >= tau
    hits, wholes = 2 * (masked & sample.gold), masked.astype(np.int64) + sample.gold
    parts, sizes = (np.bincount(sample.unit, each) for each in (hits, wholes))
    low, high = ratio_interval(parts, sizes, seed=0) or (None, None)
    return {"value": float(parts.sum() / sizes.sum()) if sizes.any() else None, "low": low, "high": high}


def _thinned_curve(sample: Sample) -> dict[str, list[float]]:
    """At most `CURVE_POINTS` points of coverage against collateral, enough to draw."""
    full = curve(sample.critical, sample.gold)
    kept = np.unique(np.linspace(0, len(full.tau) - 1, CURVE_POINTS).astype(int))
    return {
        "target_coverage": np.nan_to_num(full.coverage[kept]).tolist(),
        "collateral_rate": np.nan_to_num(full.collateral[kept]).tolist(),
    }


def _histogram(sample: Sample) -> dict[str, list[float]]:
    """Densities of critical values of target and other tokens; those never masked are counted apart."""
    values, gold = sample.critical, sample.gold
    finite = np.isfinite(values)
    edges = np.histogram_bin_edges(values[finite], bins=HISTOGRAM_BINS) if finite.any() else np.array([0.0, 1.0])
    return {
        "edges": edges.tolist(),
        "target": np.histogram(values[finite & gold], edges)[0].tolist(),
        "other": np.histogram(values[finite & ~gold], edges)[0].tolist(),
        "never": [int((~finite & gold).sum()), int((~finite & ~gold).sum())],
    }
