"""Texts drawn from a model with an empty prompt, and the mentions that a tagger finds in them (algorithms 3 and 4)."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

import numpy as np

from sm_ops.attacks.material import Material, Mention, compared
from sm_ops.core.errors import InputError
from sm_ops.core.types import Progress
from sm_ops.detectors.detector import Detection, Detector
from sm_ops.scoring.language_model import LanguageModel


class Sample(NamedTuple):
    """A drawn text, how many tokens it has, and the mentions in it; `Mention.record` is the sample's number."""

    text: str
    tokens: int
    mentions: list[Mention]


def draw(
    model: LanguageModel, tagger: Detector, classes: Collection[str], settings: Any, seed: int, progress: Progress
) -> Iterator[Sample]:
    """`settings.tokens // settings.length` texts (at least one), the same ones whatever the batch size.

    Each is `settings.length` tokens behind `model.prefix`, shorter where the model ends it, drawn from the
    `settings.top_k` likeliest (0: all). Mentions are those of `classes` with `settings.min_chars` characters.

    Raises `InputError` for a model without a token to begin with, and for samples longer than its context.
    """
    if not model.prefix:
        raise InputError(
            "no-prefix",
            "The model's tokenizer has neither BOS nor EOS, so that nothing can be drawn from an empty prompt; "
            "use a tokenizer that has one.",
        )
    if len(model.prefix) + settings.length > model.context:
        raise InputError(
            "sample-too-long",
            f"length is {settings.length} tokens, but the model's context holds {model.context} positions with "
            f"{len(model.prefix)} before the text; lower length.",
        )
    total = max(1, settings.tokens // settings.length)
    generator = np.random.default_rng(seed)
    for start in range(0, total, settings.batch_size):
        chances = generator.random((min(settings.batch_size, total - start), settings.length))
        drawn = model.sample(model.prefix, chances, top_k=settings.top_k)
        texts = [model.decode(ids) for ids in drawn]
        for offset, (ids, text, found) in enumerate(zip(drawn, texts, tagger.detect(texts), strict=True)):
            own = [_mention(start + offset, text, each) for each in found if each.label in classes]
            mentions = [mention for mention in own if len(mention.value) >= max(1, settings.min_chars)]
            yield Sample(text, len(ids), mentions)
        progress(start + len(drawn), total)


def required(material: Material, min_chars: int) -> tuple[Detector, list[Mention]]:
    """The tagger and the members' mentions with at least `min_chars` characters; `InputError` where one is missing."""
    if material.tagger is None:
        raise InputError("no-tagger", "This attack finds mentions in generated texts; give it a tagger.")
    mentions = [mention for mention in material.mentions if len(mention.value) >= min_chars]
    if not mentions:
        raise InputError(
            "no-mentions",
            f"The records have no labelled mention of {max(1, min_chars)} characters or more; "
            "give records with spans, choose another tagger or lower min_chars.",
        )
    return material.tagger, mentions


def _mention(sample: int, text: str, found: Detection) -> Mention:
    own = text[found.start : found.end]
    return Mention(sample, found.end - len(own.lstrip()), found.end, found.label, compared(own))
