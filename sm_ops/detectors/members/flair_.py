"""Flair's sequence taggers: by default the one of the leakage paper, OntoNotes-large with eighteen types.

The larger ones read the sentences around a sentence, so each text goes through the model alone, cut into sentences:
its context is itself, never a neighbour in the batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

from sm_ops.core.errors import InputError
from sm_ops.detectors.detector import (
    Detection,
    check_packages,
    check_texts,
    in_order,
    missing_package,
    with_threshold,
)
from sm_ops.masking.intervals.sentence import sentences
from sm_ops.scoring.arithmetic import positive

PACKAGES = ("flair",)
PLACES = ("model",)
DEFAULTS = {"model": "flair/ner-english-ontonotes-large", "threshold": 0.0, "batch_size": 32}
_REMOVED = dict.fromkeys([*range(0x80, 0xA0), 0x200B, 0x200C, 0xFE0F, 0xFEFF, 0x2028, 0x2029], " ")
"""Characters that Flair takes out of a text or makes another of, which would move all offsets behind them."""


def load(settings: Mapping[str, Any]) -> FlairDetector:
    """The tagger; reads `model` (hub name or file), `threshold` and `batch_size` (sentences).

    Raises `InputError` where Flair is not installed or the model is not to be had.
    """
    values = check(settings)
    threshold, model = values["threshold"], str(values["model"])
    try:
        sentence, models = import_module("flair.data").Sentence, import_module("flair.models")
    except ModuleNotFoundError as error:
        raise missing_package("flair", error, extra="flair") from None
    try:
        tagger = models.SequenceTagger.load(model)
    except Exception as error:  # whatever the hub, the file system or torch raises
        raise InputError(
            "model-not-found",
            f"The Flair model {model!r} could not be loaded ({type(error).__name__}); name a file, or a model of the "
            "hub while it can be reached.",
        ) from None
    return FlairDetector(tagger, sentence, threshold, values["batch_size"])


def check(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings as `load` takes them."""
    values = with_threshold("flair", settings, DEFAULTS)
    positive("batch_size", values["batch_size"])
    return values


def available(settings: Mapping[str, Any]) -> None:
    """`InputError` where Flair is not installed."""
    check_packages("flair", "flair", extra="flair")


class FlairDetector:
    """A loaded tagger; labels are the model's, scores the mean over a span's tokens."""

    def __init__(self, tagger: Any, sentence: Any, threshold: float, batch_size: int) -> None:
        self._tagger, self._sentence = tagger, sentence
        self._threshold, self._batch = threshold, batch_size

    def detect(self, texts: Sequence[str]) -> list[list[Detection]]:
        """The entities of each text; see `Detector.detect`."""
        check_texts(texts)
        return [in_order(self._found(text)) for text in texts]

    def _found(self, text: str) -> Iterator[Detection]:
        places = sentences(text)
        pieces = [self._sentence(text[start:end].translate(_REMOVED)) for start, end in places]
        if pieces:
            self._tagger.predict(pieces, mini_batch_size=self._batch)
        for (begin, _), piece in zip(places, pieces, strict=True):
            for span in piece.get_spans(self._tagger.label_type):
                label = span.get_label(self._tagger.label_type)
                if label.score >= self._threshold:
                    start, end = begin + span.start_position, begin + span.end_position
                    yield Detection(start, end, label.value, min(1.0, float(label.score)))
