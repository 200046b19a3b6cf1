"""From a token classifier's scores to spans: the best sequence of BIOES tags that makes sense, and where it lies.

The tags of a category X are B-X (first token), I-X (inside), E-X (last) and S-X (the only one); O is outside. The
best valid sequence is found by Viterbi's algorithm over log probabilities plus six biases, one for each kind of step
(the Privacy Filter's way, whose model card calls a set of biases an operating point).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from sm_ops.core.errors import InputError

_AFTER = {"O": "OBS", "E": "OBS", "S": "OBS", "B": "IE", "I": "IE"}
_FIRST, _LAST = "OBS", "OES"
_BIASES = {
    "transition_bias_background_stay": ("O", "O"),
    "transition_bias_background_to_start": ("O", "BS"),
    "transition_bias_inside_to_continue": ("BI", "I"),
    "transition_bias_inside_to_end": ("BI", "E"),
    "transition_bias_end_to_background": ("ES", "O"),
    "transition_bias_end_to_start": ("ES", "BS"),
}
"""Which steps each bias is added to: from any of the first tags to any of the second."""


class TokenSpan(NamedTuple):
    """Tokens [start, end) of one category, and the mean probability over them that they belong to it."""

    start: int
    end: int
    category: str
    score: float


class Decoder:
    """The valid steps between a model's labels, in the order of its outputs."""

    def __init__(self, labels: Sequence[str], biases: Mapping[str, float] | None = None) -> None:
        """Take labels such as `O` and `B-private_person`, and biases in nats by name (missing: 0).

        Raises `InputError` where the labels are no BIOES scheme or a bias has another name.
        """
        _check(labels, biases or {})
        self._tags = [label[0] for label in labels]
        self._categories = [label[2:] for label in labels]
        self._groups = {c: [i for i, own in enumerate(self._categories) if own == c] for c in self._categories if c}
        self._steps = self._transitions(biases or {})
        self._begin = np.array([0.0 if tag in _FIRST else -np.inf for tag in self._tags])
        self._finish = np.array([0.0 if tag in _LAST else -np.inf for tag in self._tags])

    def best_path(self, logits: np.ndarray) -> np.ndarray:
        """The best valid sequence of label numbers for logits of shape (tokens, labels)."""
        scores = _log_softmax(logits)
        path, came_from = np.zeros(len(scores), np.int64), np.zeros(scores.shape, np.int64)
        if not len(scores):
            return path
        best, columns = self._begin + scores[0], np.arange(len(self._tags))
        for token in range(1, len(scores)):
            ways = best[:, None] + self._steps
            came_from[token] = ways.argmax(0)
            best = ways[came_from[token], columns] + scores[token]
        path[-1] = (best + self._finish).argmax()
        for token in range(len(scores) - 1, 0, -1):
            path[token - 1] = came_from[token, path[token]]
        return path

    def spans(self, logits: np.ndarray) -> list[TokenSpan]:
        """The spans of the best valid sequence, ascending and disjoint."""
        found, start = [], 0
        probabilities = np.exp(_log_softmax(logits))
        for token, label in enumerate(self.best_path(logits)):
            tag, category = self._tags[label], self._categories[label]
            if tag in "BS":
                start = token
            if tag in "ES":
                own = probabilities[start : token + 1, self._groups[category]].sum(1)
                found.append(TokenSpan(start, token + 1, category, min(1.0, float(own.mean()))))
        return found

    def log_odds(self, logits: np.ndarray) -> tuple[np.ndarray, list[str]]:
        """For each token log p(any category) - log p(O) in nats, and its likeliest category."""
        scores = _log_softmax(logits)
        names = list(self._groups)
        own = np.stack([np.logaddexp.reduce(scores[:, self._groups[name]], axis=1) for name in names], axis=1)
        odds = np.logaddexp.reduce(own, axis=1) - scores[:, self._tags.index("O")]
        return odds, [names[best] for best in own.argmax(1)]

    def _transitions(self, biases: Mapping[str, float]) -> np.ndarray:
        count = len(self._tags)
        steps = np.full((count, count), -np.inf)
        for i, (tag, category) in enumerate(zip(self._tags, self._categories, strict=True)):
            for j, (following, other) in enumerate(zip(self._tags, self._categories, strict=True)):
                if following in _AFTER[tag] and (tag not in "BI" or category == other):
                    steps[i, j] = sum(
                        value
                        for name, value in biases.items()
                        if tag in _BIASES[name][0] and following in _BIASES[name][1]
                    )
        return steps


def _check(labels: Sequence[str], biases: Mapping[str, float]) -> None:
    categories = {label[2:] for label in labels if label != "O"}
    expected = {"O", *(f"{tag}-{category}" for category in categories for tag in "BIES")}
    if set(labels) != expected or len(labels) != len(expected) or "" in categories or not categories:
        raise InputError(
            "no-bioes", "The model's labels are not O and B-, I-, E-, S- of each category; name a model that has these."
        )
    for name in biases:
        if name not in _BIASES:
            raise InputError("unknown-bias", f"There is no transition bias {name!r}; known are {', '.join(_BIASES)}.")


def _log_softmax(logits: np.ndarray) -> np.ndarray:
    values = np.asarray(logits, np.float64)
    values = values - values.max(axis=1, keepdims=True, initial=-np.inf)
    return values - np.log(np.exp(values).sum(axis=1, keepdims=True))
