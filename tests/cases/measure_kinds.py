"""Case kinds of measures, combinations and the bound: one function per kind in `KINDS`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np

from sm_ops.core.offsets import from_bytes
from sm_ops.evaluation.units import characters, line_confusion
from sm_ops.masking.bound import bound, check
from sm_ops.masking.combine import COMBINATIONS, jaccard
from sm_ops.masking.intervals.line import lines
from sm_ops.metrics import (
    Confusion,
    category_view,
    completion_nll,
    confusion,
    display_at,
    pass_at,
    pearson,
    standardised,
    usd_per_million,
)

Input = dict[str, Any]


def counts(found: Confusion) -> Input:
    return {name: getattr(found, name) for name in ("tp", "fp", "fn", "tn", "tpr", "fpr", "precision", "f1")}


def pairs(intervals: list) -> np.ndarray:
    return np.array(intervals, np.int64).reshape(-1, 2)


def _byte_to_char(case: Input) -> Input:
    return {"spans": np.stack(from_bytes(case["text"], *pairs(case["spans"]).T), axis=1).tolist()}


def _confusion(case: Input) -> Input:
    if case["level"] == "token":
        return counts(confusion(np.array(case["pred"]), np.array(case["gold"])))
    masked, spans = pairs(case["offsets"])[np.array(case["mask"], bool)], pairs(case["spans"])
    if case["level"] == "line":
        return counts(line_confusion(pairs(lines(case["text"])), masked, spans))
    length = case["length"] if "length" in case else len(case["text"])
    return counts(confusion(characters(length, *masked.T), characters(length, *spans.T)))


def _category(case: Input) -> Input:
    predicted, own, other, documents = [], [], [], []
    for number, document in enumerate(case["docs"]):
        length, spans = document["length"], document["spans"]
        predicted.append(np.array(document["pred"], bool))
        for units, mine in ((own, True), (other, False)):
            chosen = pairs([span[:2] for span in spans if (span[2] == case["category"]) == mine])
            units.append(characters(length, *chosen.T))
        documents.append(np.full(length, number))
    predicted, own, other, documents = map(np.concatenate, (predicted, own, other, documents))
    view = category_view(own, other, documents if case.get("restrict") else None)
    return counts(confusion(predicted[view], own[view]))


def _combine(case: Input) -> Input:
    mask = COMBINATIONS[case["op"]](np.array(case["sm"], bool), np.array(case["other"], bool))
    return {"mask": mask.astype(int).tolist()}


def _jaccard(case: Input) -> Input:
    return {"jaccard": jaccard(np.array(case["a"], bool), np.array(case["b"], bool))}


def _cost(case: Input) -> Input:
    return {
        "usd": usd_per_million(
            source_tokens=case["n_source"],
            input_tokens=case["n_in"],
            cached_tokens=case["n_cached"],
            output_tokens=case["n_out"],
            input_price=case["p_in"],
            cached_price=case["p_cached"],
            output_price=case["p_out"],
            selector_usd=case["selector"],
        )
    }


KINDS: dict[str, Callable[[Input], Input]] = {
    "sm.byte_to_char": _byte_to_char,
    "sm.confusion": _confusion,
    "sm.category": _category,
    "sm.combine": _combine,
    "sm.jaccard": _jaccard,
    "sm.bound": lambda case: asdict(bound(case["m"], case["n"], case["tau"])),
    "sm.bound_check": lambda case: {"holds": check(np.array(case["lp"], float), case["n"], case["tau"])},
    "sm.pearson": lambda case: {"r": pearson(case["x"], case["y"])},
    "sm.zscore": lambda case: {"score": standardised(case["features"], case["reference"]).tolist()},
    "sm.pass_at": lambda case: {"value": pass_at(case["successes"])},
    "sm.display_at": lambda case: {"value": display_at(case["quirks"])},
    "sm.completion_nll": lambda case: {
        "nll": completion_nll([sum(own) for own in case["completions"]], [len(own) for own in case["completions"]])
    },
    "sm.cost": _cost,
}
