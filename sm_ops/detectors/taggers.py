"""Taggers: detectors whose labels are entity classes, by a name such as `spacy`, `gold` or `spacy+regex`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from sm_ops.core import registry
from sm_ops.core.errors import InputError
from sm_ops.core.records import Record, Span
from sm_ops.detectors.classes import class_of
from sm_ops.detectors.detector import Detection, Detector
from sm_ops.detectors.members.gold import GoldDetector
from sm_ops.detectors.overlaps import longest


@dataclass(frozen=True)
class Tagger:
    """The union of detectors: their labels as classes, and of overlapping spans of one class the longest."""

    parts: tuple[Detector, ...]

    def detect(self, texts: Sequence[str]) -> list[list[Detection]]:
        """The mentions of each text; see `Detector.detect`."""
        return [_by_class(chain(*found)) for found in zip(*(part.detect(texts) for part in self.parts), strict=True)]


def load_tagger(name: str, records: Sequence[Record] = ()) -> Tagger:
    """The detectors that a name joins by `+`, each with its default settings; `gold` knows the values of `records`.

    Raises `InputError` for an unknown detector and for one whose package is not installed, and where one is named twice
    or not at all.
    """
    parts = [part.strip() for part in name.split("+")]
    if not all(parts) or len(set(parts)) < len(parts):
        raise InputError("bad-tagger", f"The tagger is {name!r}, but must be one detector, or different ones with +.")
    return Tagger(tuple(_part(part, records) for part in parts))


def relabel(records: Sequence[Record], tagger: Detector) -> list[Record]:
    """The records with a tagger's spans in place of their own; to `gold` they contribute their own, whatever it knows.

    In a chat a span that reaches over the end of a message is cut there.
    """
    parts = tagger.parts if isinstance(tagger, Tagger) else (tagger,)
    contents = [record.content for record in records]
    columns = [_own(records) if isinstance(part, GoldDetector) else part.detect(contents) for part in parts]
    return [
        replace(record, spans=tuple(_spans(record, _by_class(chain(*found)))))
        for record, *found in zip(records, *columns, strict=True)
    ]


def _part(name: str, records: Sequence[Record]) -> Detector:
    return registry.load("detector", name).load({"records": records} if name == "gold" else {})


def _own(records: Iterable[Record]) -> list[list[Detection]]:
    return [[Detection(start, end, label, 1.0) for start, end, label in record.content_spans] for record in records]


def _by_class(detections: Iterable[Detection]) -> list[Detection]:
    return longest(each._replace(label=class_of(each.label)) for each in detections)


def _spans(record: Record, detections: Iterable[Detection]) -> Iterator[Span]:
    for start, end, label, _ in detections:
        if record.messages is None:
            yield Span(start, end, label)
            continue
        for number, (message, first) in enumerate(zip(record.messages, record.message_starts, strict=True)):
            begin, stop = max(start - first, 0), min(end - first, len(message.content))
            if begin < stop:
                yield Span(begin, stop, label, number)
