"""spaCy's own named entities: the eighteen types of OntoNotes, in running English text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sm_ops.detectors.detector import (
    Detection,
    check_packages,
    check_texts,
    in_order,
    missing_package,
    with_threshold,
)
from sm_ops.detectors.spacy_models import DEFAULT, check_installed, check_lengths

PLACES = ("model",)
DEFAULTS = {"model": DEFAULT, "threshold": 0.0}
_SCORE = 0.85
"""spaCy does not say how sure it is; Presidio takes this for its entities."""
_BATCH = 64
_NEEDED = ("transformer", "tok2vec", "ner", "entity_ruler")


def load(settings: Mapping[str, Any]) -> SpacyDetector:
    """The entity recogniser; reads `model` (a spaCy model: package or folder) and `threshold`.

    Raises `InputError` where spaCy or the model is not installed; nothing is ever downloaded.
    """
    values = check(settings)
    threshold, model = values["threshold"], str(values["model"])
    try:
        import spacy
    except ModuleNotFoundError as error:
        raise missing_package("spacy", error) from None
    check_installed(model)
    pipeline = spacy.load(model)
    pipeline.select_pipes(enable=[name for name in pipeline.pipe_names if name in _NEEDED])
    return SpacyDetector(pipeline, threshold)


def check(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings as `load` takes them."""
    return with_threshold("spacy", settings, DEFAULTS)


def available(settings: Mapping[str, Any]) -> None:
    """`InputError` where spaCy or the model is not installed."""
    check_packages("spacy", "spacy")
    check_installed(str(check(settings)["model"]))


class SpacyDetector:
    """A pipeline that is given texts in batches; labels are the model's."""

    def __init__(self, pipeline: Any, threshold: float = 0.0) -> None:
        self._pipeline, self._threshold = pipeline, threshold

    def detect(self, texts: Sequence[str]) -> list[list[Detection]]:
        """The entities of each text; see `Detector.detect`."""
        check_texts(texts)
        check_lengths(texts, self._pipeline.max_length)
        if self._threshold > _SCORE:
            return [[] for _ in texts]
        documents = self._pipeline.pipe(texts, batch_size=_BATCH)
        return [in_order(map(_detection, document.ents)) for document in documents]


def _detection(entity: Any) -> Detection:
    return Detection(entity.start_char, entity.end_char, entity.label_, _SCORE)
