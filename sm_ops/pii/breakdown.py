"""An evaluation in parts, with errors: by type, language, and by what the training documents have shown.

Rates are the evaluator's own (R26 to R29). Intervals are of 95 % and take a document as the unit: shares of documents
get Wilson's interval, ratios of sums a bootstrap over documents. An interval is null where it cannot be had.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from sm_ops.metrics import clustered_rate, ratio_interval, wilson
from sm_ops.pii.evaluation import DocumentCounts
from sm_ops.pii.types import NUMERIC, TYPES

SEED = 0
Json = dict[str, Any]


def breakdown(documents: Sequence[Mapping[str, Any]], counts: Sequence[DocumentCounts]) -> Json:
    """Scores of all documents and of each language, by type and for all numeric types; rates; recall by familiarity.

    `documents` may say `lang`, and of an entity `seen_surname` and `seen_rel` (G5). `per_document` holds [TP, FP, FN]
    of the numeric types, for comparisons in pairs.
    """
    languages = sorted({document["lang"] for document in documents if document.get("lang")})
    slices = {"all": list(range(len(documents)))}
    if len(languages) > 1:
        slices |= {name: [i for i, each in enumerate(documents) if each.get("lang") == name] for name in languages}
    pairs = [each.pairs() for each in counts]
    groups = {"all": TYPES, "numeric": tuple(NUMERIC), **{type_: (type_,) for type_ in TYPES}}
    return {
        "documents": len(documents),
        "positives": sum(bool(each.gold) for each in counts),
        "scores": [
            {"slice": name, "types": label, **scores(_counts([pairs[i] for i in chosen], types))}
            for name, chosen in slices.items()
            for label, types in groups.items()
        ],
        "rates": {name: _rates([counts[i] for i in chosen]) for name, chosen in slices.items()},
        "familiarity": list(_familiarity(documents, counts)),
        "per_document": _counts(pairs, tuple(NUMERIC)).tolist(),
    }


def scores(counts: np.ndarray) -> Json:
    """Precision, recall and F1 of (documents, 3) counts of TP, FP, FN, each as `{value, low, high}`."""
    tp, fp, fn = counts.T
    return {
        "tp": int(tp.sum()),
        "fp": int(fp.sum()),
        "fn": int(fn.sum()),
        "precision": _ratio(tp, tp + fp),
        "recall": _ratio(tp, tp + fn),
        "f1": _ratio(2 * tp, 2 * tp + fp + fn),
    }


def _counts(pairs: Sequence[Mapping[str, tuple[int, int, int]]], types: Sequence[str]) -> np.ndarray:
    rows = [[sum(own.get(type_, (0, 0, 0))[k] for type_ in types) for k in range(3)] for own in pairs]
    return np.array(rows, np.int64).reshape(len(pairs), 3)


def _ratio(parts: np.ndarray, wholes: np.ndarray) -> Json:
    """A ratio of sums; 0.0 where there is nothing to divide by (R29), as its counts show."""
    part, whole = int(parts.sum()), int(wholes.sum())
    low, high = ratio_interval(parts, wholes, SEED) or (None, None)
    return {"value": part / whole if whole else 0.0, "low": low, "high": high}


def _rates(counts: Sequence[DocumentCounts]) -> Json:
    column = lambda measure: np.array([measure(each) for each in counts], np.int64)  # noqa: E731
    ones = np.ones(len(counts), np.int64)
    predicted, false = column(lambda c: len(c.predicted)), column(lambda c: len(c.predicted - c.gold))
    return {
        "document_leak": _share(column(lambda c: bool(c.leaking))),
        "entity_leak": _ratio(column(lambda c: len(c.leaking)), column(lambda c: len(c.gold))),
        "over_redaction": _ratio(false, predicted),
        "hallucination": _ratio(column(lambda c: c.hallucinated), column(lambda c: c.rows)),
        "parse_success": _share(column(lambda c: c.flag)),
        "deterministic": _ratio(column(lambda c: c.deterministic), ones),
        "round_trip": _ratio(column(lambda c: c.round_trip), ones),
    }


def _share(flags: np.ndarray) -> Json:
    low, high = wilson(int(flags.sum()), len(flags)) or (None, None)
    return {"value": float(flags.mean()) if len(flags) else 0.0, "low": low, "high": high}


def _familiarity(documents: Sequence[Mapping[str, Any]], counts: Sequence[DocumentCounts]) -> Iterable[Json]:
    """Recall of names by whether training has the surname, and of relations by whether it has the word."""
    for key, type_ in (("seen_surname", "PERSON"), ("seen_rel", "REL")):
        for seen in (True, False):
            hits, clusters = [], []
            for index, (document, own) in enumerate(zip(documents, counts, strict=True)):
                for entity in document["entities"]:
                    if entity.get(key) is seen:
                        hits.append((entity["type"], entity["value"]) in own.predicted)
                        clusters.append(index)
            if hits:
                low, high = clustered_rate(np.array(hits), np.array(clusters)) or (None, None)
                yield {"type": type_, "seen": seen, "k": sum(hits), "n": len(hits), "low": low, "high": high}
