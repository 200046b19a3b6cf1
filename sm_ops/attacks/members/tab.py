"""TAB: what the model itself writes in a gap, the baseline of reconstruction (sections III-B and IV-F)."""

from __future__ import annotations

import re
from typing import Any

from sm_ops.attacks import guesses, slots
from sm_ops.attacks.material import Material, Row, compared
from sm_ops.attacks.measures import Measure
from sm_ops.core.types import Progress, unheard
from sm_ops.scoring.language_model import LanguageModel

KNOWLEDGE = "The text before a masked mention, other mentions masked too, and next-token probabilities of the model."
HEADLINE = {"measure": "accuracy", "variant": "paper", "class": "all", "criterion": "text"}


_WORD = re.compile(r"[^\W\u1100-\u11ff\u2e80-\ud7ff]+")
"""Characters of scripts that put blanks between words; East Asian ones do not, or put particles behind names."""


def run(
    model: LanguageModel,
    material: Material,
    settings: Any,
    seed: int,
    progress: Progress = unheard,
) -> list[Row]:
    """Rows for each slot, one a criterion, of a greedy continuation of `settings.length` tokens behind the prefix.

    `text`: it begins with the true value, whole words (the paper's code). `mention`, where there is a tagger: the
    first mention of the slot's class stands at its beginning and is the true value, as reconstruction guesses.
    """
    rows = []
    drawn = slots.draw(material, settings, seed)
    for done, slot in enumerate(drawn, 1):
        seen = slots.view(slot, settings.surroundings, material, settings.context)
        prompt = slots.prompt(model, seen.prefix, settings.length)
        text = model.decode(model.greedy(prompt, settings.length)).lstrip() if prompt else ""
        found = {"text": beginning(text, len(slot.value))}
        if material.tagger is not None:
            detections = material.tagger.detect([text])[0]
            own = [compared(text[each.start : each.end]) for each in detections if _opens(each, text, slot.label)]
            found["mention"] = max(own, key=len, default="")
        for criterion, guess in found.items():
            told = material.fingerprint(slot.label, guess) if guess else None
            rows.append(slots.row(slot, seen, material, criterion=criterion, guess=told, hit=guess == slot.value))
        progress(done, len(drawn))
    return rows


def summary(rows: list[Row], baseline: list[Row] | None, settings: Any) -> list[Measure]:
    """Accuracy by each criterion, in each variant."""
    result = []
    for criterion in dict.fromkeys(row["criterion"] for row in rows):
        own = [row for row in rows if row["criterion"] == criterion]
        result += guesses.accuracy(own, baseline, "criterion", criterion=criterion)
        result += guesses.circumstances(own, criterion=criterion)
    return result


def beginning(text: str, length: int) -> str:
    """The first `length` characters of a text and the rest of the word that they end in, as compared (OP-52)."""
    while 0 < length < len(text) and _WORD.fullmatch(text[length - 1 : length + 1]):
        length += 1
    return compared(text[:length])


def _opens(detection: Any, text: str, label: str) -> bool:
    return detection.label == label and not text[: detection.start].strip()
