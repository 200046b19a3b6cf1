"""Security and utility of rewritten texts (paper B.5), with intervals over identities or documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record
from sm_ops.metrics import clustered_rate, ratio_interval
from sm_ops.rewriting.benchmarks.redac import excluded

PACKAGES = ("nltk",)
Json = dict[str, Any]
SEED = 0


def rat(records: Sequence[Record], outcomes: Sequence[Json | None]) -> Json:
    """Security_RAT, the share of transcripts whose person is not identified, and how many attributes were guessed.

    Transcripts without a readable answer are left out and counted.
    """
    judged = [(record, each) for record, each in zip(records, outcomes, strict=True) if each is not None]
    safe = np.array([not each["identified"] for _, each in judged], bool)
    right = sum(each["direct"] + each["indirect"] for _, each in judged)
    return {
        "security": _rate(safe, [record.group for record, _ in judged]),
        "utility": None,
        "documents": len(records),
        "unjudged": len(records) - len(judged),
        "attributes": {"right": right, "of": sum(each["attributes"] for _, each in judged)},
        "excluded": {},
    }


def redac(records: Sequence[Record], outcomes: Sequence[Json | None]) -> Json:
    """Security_Redac over sensitive propositions, Utility_Redac over the others; documents are the clusters.

    Excluded propositions are counted by reason, and those of documents without a readable answer as `unjudged`.
    """
    judged = [(record, each) for record, each in zip(records, outcomes, strict=True) if each is not None]

    def rate(part: str, whole: str) -> Json:
        hits = [[True] * each[part] + [False] * (each[whole] - each[part]) for _, each in judged]
        groups = [record.group for (record, _), own in zip(judged, hits, strict=True) for _ in own]
        return _rate(np.array([hit for own in hits for hit in own], bool), groups)

    return {
        "security": rate("removed", "sensitive"),
        "utility": rate("kept", "nonsensitive"),
        "documents": len(records),
        "unjudged": len(records) - len(judged),
        "attributes": None,
        "excluded": dict(sorted(sum((excluded(record) for record in records), Counter()).items())),
    }


def bleu(records: Sequence[Record], texts: Sequence[str]) -> Json:
    """Mean sentence BLEU of whole texts against their sources: wording, not facts."""
    values = np.array([sentence_bleu(r.content, text) for r, text in zip(records, texts, strict=True)], np.float64)
    _, cluster = np.unique([str(record.group) for record in records], return_inverse=True)
    sums, counts = np.bincount(cluster, values), np.bincount(cluster)
    low, high = ratio_interval(sums, counts, SEED) or (None, None)
    return {"value": float(values.mean()) if len(values) else None, "low": low, "high": high}


def sentence_bleu(source: str, text: str) -> float:
    """NLTK's sentence BLEU with equal weights of one to four words and the smoothing of the benchmark (method 1)."""
    toolkit = _nltk()
    reference, words = _words(source), _words(text)
    smoothing = toolkit.translate.bleu_score.SmoothingFunction().method1
    return float(toolkit.translate.bleu_score.sentence_bleu([reference], words, (0.25,) * 4, smoothing))


@lru_cache(maxsize=2048)
def _words(text: str) -> list[str]:
    """NLTK's words of a text taken as one line, which needs no downloaded sentence model (choice R-4)."""
    return _nltk().tokenize.word_tokenize(text, preserve_line=True)


def _nltk() -> Any:
    try:
        import nltk
    except ModuleNotFoundError:
        hint = "Sentence BLEU needs the package nltk, which is not installed; pip install 'sm-ops[rewriting]'."
        raise InputError("missing-package", hint) from None
    return nltk


def _rate(hits: np.ndarray, groups: Sequence[str | None]) -> Json:
    low, high = clustered_rate(hits, np.array([str(group) for group in groups])) or (None, None)
    value = float(hits.mean()) if len(hits) else None
    return {"value": value, "low": low, "high": high, "k": int(hits.sum()), "n": len(hits)}
