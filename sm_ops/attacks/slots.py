"""Slots: mentions of members that an attacker has to guess from the text around them (algorithms 5 to 7)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Literal

from sm_ops.attacks.material import Material, Mention, Row
from sm_ops.core.errors import InputError
from sm_ops.core.records import Record
from sm_ops.core.seeds import derive
from sm_ops.masking.scrubbing import MASK, places
from sm_ops.scoring.language_model import LanguageModel

Surroundings = Literal["scrubbed", "original"]
Interval = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Slot:
    """A gap in a record and what stood there: the interval of a mention and of all that overlap it.

    `case` is the record's id and the slot's number in it, `occurrences` counts the members' mentions of `value` with
    this class; `start` and `end` count in the record's content.
    """

    case: str
    label: str
    value: str = field(repr=False)
    occurrences: int
    record: Record = field(repr=False)
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class View:
    """What the attacker has of a slot's surroundings, the `masks` that residual mentions left there, if filled."""

    prefix: str = field(repr=False)
    suffix: str = field(repr=False)
    masks: int
    filled: bool


def draw(material: Material, settings: Any, seed: int) -> list[Slot]:
    """`settings.cases` slots of each class, drawn from the seed and the slots' names, whatever the records' order.

    Reads `settings.cases` and `.min_chars`. Raises `InputError` where the members have no slot.
    """
    found = [slot for slot in _slots(material) if len(slot.value) >= settings.min_chars]
    if not found:
        raise InputError(
            "no-slots", "The records have no labelled mention to guess; label them, or lower min_chars of the attack."
        )
    found.sort(key=lambda slot: (slot.label, derive(seed, "slot", slot.label, slot.case), slot.case))
    drawn = [list(own)[: settings.cases] for _, own in groupby(found, key=lambda slot: slot.label)]
    return [slot for own in drawn for slot in own]


def view(slot: Slot, surroundings: Surroundings, material: Material, context: int | None = None) -> View:
    """Prefix and suffix of a slot, at most `context` characters of the record each.

    `scrubbed` masks what scrubbing the record masks (algorithm 1), wholly where the context cuts it; `material.fill`,
    if there is one, then fills the masks of prefix and suffix. `original` leaves the text as it was.
    """
    text = slot.record.content
    reach = len(text) if context is None else context
    before, after = (max(0, slot.start - reach), slot.start), (slot.end, min(len(text), slot.end + reach))
    if surroundings == "original":
        return View(text[slice(*before)], text[slice(*after)], masks=0, filled=False)
    masked = places(slot.record)
    prefix, suffix = (_scrubbed(text, masked, *side) for side in (before, after))
    masks = prefix.count(MASK) + suffix.count(MASK)
    if not masks or material.fill is None:
        return View(prefix, suffix, masks, filled=False)
    prefix, suffix = material.fill([prefix, suffix])
    return View(prefix, suffix, masks, filled=True)


def row(slot: Slot, seen: View, material: Material, **outcome: Any) -> Row:
    """What every attack tells of a slot, and the outcome."""
    return {
        "case": slot.case,
        "class": slot.label,
        "length": len(slot.value),
        "fingerprint": material.fingerprint(slot.label, slot.value),
        "occurrences": slot.occurrences,
        "masks": seen.masks,
        "filled": seen.filled,
        **outcome,
    }


def prompt(model: LanguageModel, text: str, length: int) -> list[int]:
    """Ids behind which `length` tokens that continue a text are drawn; its beginning is cut where it does not fit.

    Tokens of outer blanks that a following word would take into its own are left to the model. Empty where there is
    nothing to continue.
    """
    room = model.context - length - len(model.prefix)
    if room < 1:
        raise InputError(
            "length-too-long",
            f"The attack draws {length} tokens, but the model has {model.context} positions; lower length.",
        )
    ids, _ = model.encode(text)
    if text[-1:].isspace():
        ids = ids[: _common(ids, model.encode(text + "x")[0])]
    return [*model.prefix, *ids[-room:]]


def _slots(material: Material) -> Iterator[Slot]:
    """Of each gap and class the longest mention."""
    occurrences = Counter((mention.label, mention.value) for mention in material.mentions)
    for number, own in groupby(material.mentions, key=lambda mention: mention.record):
        record, count = material.records[number], 0
        for gap in _gaps(own):
            start, end = _trimmed(record.content, gap[0].start, max(mention.end for mention in gap))
            longest = {each.label: each for each in sorted(gap, key=lambda each: len(each.value))}
            for label, mention in sorted(longest.items()):
                known = occurrences[label, mention.value]
                yield Slot(f"{record.id}/{count}", label, mention.value, known, record, start, end)
                count += 1


def _gaps(mentions: Iterable[Mention]) -> list[list[Mention]]:
    """Mentions that overlap, however indirectly, together, in the order of the text."""
    gaps: list[list[Mention]] = []
    reached = -1
    for mention in sorted(mentions, key=lambda each: (each.start, each.end, each.label)):
        if mention.start >= reached:
            gaps.append([])
        gaps[-1].append(mention)
        reached = max(reached, mention.end)
    return gaps


def _trimmed(text: str, start: int, end: int) -> Interval:
    """The interval without outer whitespace, which values do not have either (OP-52)."""
    inside = text[start:end]
    return start + len(inside) - len(inside.lstrip()), end - len(inside) + len(inside.rstrip())


def _scrubbed(text: str, masked: Iterable[Interval], start: int, end: int) -> str:
    pieces, position = [], start
    for a, b in masked:
        opens, closes = max(a, start), min(b, end)
        if text[opens:closes].strip():
            pieces += [text[position:opens], MASK]
            position = closes
    return "".join([*pieces, text[position:end]])


def _common(a: list[int], b: list[int]) -> int:
    """How many ids two lists share from their start."""
    return next((i for i, (left, right) in enumerate(zip(a, b, strict=False)) if left != right), min(len(a), len(b)))
