"""From a token classifier's scores to detections, in three ways (paper, section C.3).

`decoded`: the spans of the best valid sequence of tags, to be masked as they are. `log_odds`: every token with
log p(positive) - log p(background), of which a threshold from validation data chooses; positive is every label but O.
`soft`: their union, the decoded spans at whatever threshold.

Two choices are ours. D-1: blanks at a token's ends have the lower score of the two tokens around them, so that a mask
has the blanks within a run of tokens and none at its ends. D-2: in `soft` a decoded span has the score `CERTAIN`, which
no log-odds reach, as they are cut short of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from sm_ops.core.errors import InputError
from sm_ops.detectors.bioes import Decoder
from sm_ops.detectors.detector import Detection, check_texts, in_order, threshold_of, with_defaults
from sm_ops.detectors.forward import Forward
from sm_ops.scoring.arithmetic import DEVICES, one_of, positive
from sm_ops.scoring.tokenize import encode

DECODED, LOG_ODDS, SOFT = "decoded", "log_odds", "soft"
OUTPUTS = (DECODED, LOG_ODDS, SOFT)
SETTINGS: dict[str, Any] = {"output": DECODED, "threshold": 0.0}
"""Of every token classifier; where validation data chooses a threshold, the default is none at all."""
CERTAIN = 1000.0
_LARGEST = 999.0


def own_threshold(settings: Mapping[str, Any]) -> float | None:
    """0 for decoded spans, None where validation data chooses (see `batches.own_threshold`)."""
    return 0.0 if settings.get("output", DECODED) == DECODED else None


def with_output(detector: str, settings: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """A detector's settings; `threshold` is 0 to 1 (0) for decoded spans, else any number (none).

    `defaults` hold `SETTINGS`, `device`, `token_budget` and `threads` among others, all of which are checked.
    """
    decoded = own_threshold(settings) is not None
    values = with_defaults(detector, settings if decoded else {"threshold": -math.inf, **settings}, defaults)
    if values["output"] not in OUTPUTS:
        raise InputError("bad-output", f"output is {values['output']!r}; give one of {', '.join(OUTPUTS)}.")
    if decoded:
        threshold_of(values)
    elif isinstance(values["threshold"], bool) or not isinstance(values["threshold"], int | float):
        raise InputError("bad-threshold", f"threshold is {values['threshold']!r}; give a number of log-odds, in nats.")
    one_of("device", values["device"], DEVICES)
    for name in ("token_budget", "threads"):
        positive(name, values[name])
    return values


class TokenClassifier:
    """A model with its tokenizer; labels are its categories."""

    def __init__(self, tokenizer: Any, forward: Forward, decoder: Decoder, output: str, threshold: float) -> None:
        self._tokenizer, self._forward, self._decoder = tokenizer, forward, decoder
        self._output, self._threshold = output, threshold

    def detect(self, texts: Sequence[str]) -> list[list[Detection]]:
        """The spans of each text; see `Detector.detect`.

        A decoded span has the mean probability of its category over its tokens, and no blanks at its ends.
        """
        check_texts(texts)
        encoded = [encode(self._tokenizer, text) for text in texts]
        scores = self._forward.logits([ids for ids, _ in encoded])
        found = (
            self._detections(text, offsets, own) for text, (_, offsets), own in zip(texts, encoded, scores, strict=True)
        )
        return [in_order(each for each in own if each.score >= self._threshold) for own in found]

    def _detections(self, text: str, offsets: Sequence[tuple[int, int]], logits: np.ndarray) -> Iterator[Detection]:
        if self._output != LOG_ODDS:
            for span in self._decoder.spans(logits):
                start, end = _trimmed(text, offsets[span.start][0], offsets[span.end - 1][1])
                if start < end:
                    score = span.score if self._output == DECODED else CERTAIN
                    yield Detection(start, end, span.category, score)
        if self._output != DECODED:
            yield from self._tokens(text, offsets, logits)

    def _tokens(self, text: str, offsets: Sequence[tuple[int, int]], logits: np.ndarray) -> Iterator[Detection]:
        odds, categories = self._decoder.log_odds(logits)
        tokens = [
            Detection(*_trimmed(text, *place), category, max(-_LARGEST, min(_LARGEST, float(value))))
            for place, category, value in zip(offsets, categories, odds, strict=True)
        ]
        tokens = [token for token in tokens if token.start < token.end]
        yield from tokens
        for token, following in pairwise(tokens):
            if token.end < following.start:
                lower = min(token, following, key=lambda each: each.score)
                yield Detection(token.end, following.start, lower.label, lower.score)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """An interval without the blanks at its ends."""
    value = text[start:end]
    return start + len(value) - len(value.lstrip()), end - len(value) + len(value.rstrip())
