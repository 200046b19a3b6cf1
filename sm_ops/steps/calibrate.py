"""calibrate: thresholds by target recall on the validation records, and whether surprise is the right tool."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sm_ops.calibration.critical import critical_values, project_critical
from sm_ops.calibration.suitability import verdict
from sm_ops.calibration.thresholds import Threshold, at_recall, curve
from sm_ops.core import fs
from sm_ops.masking.conditions import surprise_at
from sm_ops.masking.corpus import Corpus
from sm_ops.metrics import auroc
from sm_ops.scoring.tokenize import load_tokenizer
from sm_ops.steps._base import base_location
from sm_ops.steps._masking import Labelled, labelled, rule_at, scores_of

if TYPE_CHECKING:
    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context, Numbers

CURVE_POINTS = 200
HISTOGRAM_BINS = 48


def run(settings: Settings, context: Context) -> Numbers:
    """Calibrate every reference that was scored; the one that `masking.reference` names decides."""
    data = labelled(context.inputs["calibration"], load_tokenizer(base_location(settings, context)))
    references = {
        name.partition("/")[2]: _calibrate(settings.masking, data, path)
        for name, path in context.inputs.items()
        if name.startswith("scores/")
    }
    fs.write_json(context.outputs["calibration"], {"references": references})
    chosen = references[settings.masking.reference]
    return {
        "auroc": chosen["auroc"],
        "decision": chosen["verdict"]["decision"],
        "target_tokens": chosen["target_tokens"],
        "other_tokens": chosen["other_tokens"],
        **{f"auroc_{name}": each["auroc"] for name, each in references.items()},
    }


def _calibrate(masking: Settings, data: Labelled, scores: Path) -> dict[str, Any]:
    """Everything the threshold decides on downstream tokens: one critical value a token holds it all."""
    scored = scores_of(scores, data.records)
    corpus = Corpus.from_scored(scored)
    critical = corpus.split(critical_values(corpus, rule_at(masking)))
    projected = [
        project_critical(reference.tokens, values, downstream)
        for reference, values, downstream in zip(scored, critical, data.tokens, strict=True)
    ]
    eligible = np.concatenate([tokens.eligible for tokens in data.tokens])
    values = np.concatenate(projected)[eligible]
    gold = np.concatenate(data.targets)[eligible]
    points = {surprise_at(target): at_recall(values, gold, target) for target in masking.targets}
    area = auroc(values, gold)
    return {
        "auroc": area,
        "verdict": asdict(verdict(area, points, masking.acceptable_collateral)),
        "target_tokens": int(gold.sum()),
        "other_tokens": int((~gold).sum()),
        "points": {name: _point(point) for name, point in points.items()},
        "curve": _thinned_curve(values, gold),
        "histogram": _histogram(values, gold),
    }


def _point(point: Threshold) -> dict[str, Any]:
    return {
        "tau": point.tau,
        "reached": point.reached,
        "target_coverage": point.recall,
        "collateral_rate": point.collateral,
        "masked": point.masked,
    }


def _thinned_curve(values: np.ndarray, gold: np.ndarray) -> dict[str, list[float]]:
    """At most `CURVE_POINTS` points of coverage against collateral, enough to draw."""
    full = curve(values, gold)
    kept = np.unique(np.linspace(0, len(full.tau) - 1, CURVE_POINTS).astype(int))
    return {
        "target_coverage": np.nan_to_num(full.coverage[kept]).tolist(),
        "collateral_rate": np.nan_to_num(full.collateral[kept]).tolist(),
    }


def _histogram(values: np.ndarray, gold: np.ndarray) -> dict[str, list[float]]:
    """Densities of critical values of target and other tokens; those never masked are counted apart."""
    finite = np.isfinite(values)
    edges = np.histogram_bin_edges(values[finite], bins=HISTOGRAM_BINS) if finite.any() else np.array([0.0, 1.0])
    return {
        "edges": edges.tolist(),
        "target": np.histogram(values[finite & gold], edges)[0].tolist(),
        "other": np.histogram(values[finite & ~gold], edges)[0].tolist(),
        "never": [int((~finite & gold).sum()), int((~finite & ~gold).sum())],
    }
