"""Well-formedness of one record (G9): every gold value is found where it was planted, and nowhere else."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sm_ops.pii.documents.plan import MOST_PAIRS
from sm_ops.pii.matching import occurrences
from sm_ops.pii.rows import parse_rows


@dataclass(frozen=True)
class Planted:
    """A half-open place of the text where a value was written, its type, and whose it is."""

    start: int
    end: int
    type: str
    owner: Any = None
    attribute: str = ""


@dataclass(frozen=True)
class Document:
    """A record, its planted places, its hard cases (places where a gold spelling is no PII) and its organisations."""

    record: dict[str, Any]
    planted: tuple[Planted, ...]
    hard: tuple[Planted, ...] = ()
    companies: tuple[str, ...] = ()


def faults(document: Document) -> Iterator[str]:
    """What is wrong with a record, in words without values; nothing for a well-formed one."""
    record = document.record
    text, pairs = record["source_text"], [(entity["type"], entity["value"]) for entity in record["entities"]]
    if unicodedata.normalize("NFC", text) != text:
        yield "the text is not NFC"
    if "raw_text" in record and unicodedata.normalize("NFC", record["raw_text"]) != text:
        yield "the raw text does not normalise to the source text"
    if parse_rows(record["target_tsv"]) != pairs or len(set(pairs)) != len(pairs):
        yield "target_tsv does not parse back to the entities"
    if bool(pairs) == record["negative"] or len(pairs) > MOST_PAIRS:
        yield f"a {'negative' if record['negative'] else 'positive'} record has {len(pairs)} entities"
    found = {pair: [(match.start, match.end) for match in occurrences(text, *pair)] for pair in pairs}
    for (type_, _), places in found.items():
        if not places:
            yield f"a {type_} value is not in the text"
    yield from _planted(document, text, pairs, found)
    yield from _crossing(found)


def _planted(document: Document, text: str, pairs: list, found: dict) -> Iterator[str]:
    """Planted places hold their values; occurrences lie inside planted places or hard cases (nesting is allowed)."""
    for each in document.planted:
        value = text[each.start : each.end]
        if "\n" not in value and (each.type, value) not in found:
            yield f"a planted {each.type} is no entity"
        if "\n" in value and not any((each.start, each.end) in found[pair] for pair in pairs if pair[0] == each.type):
            yield f"a {each.type} over a line end matches no entity"
    allowed = [(each.start, each.end) for each in (*document.planted, *document.hard)]
    for (type_, _), places in found.items():
        for start, end in places:
            if not any(first <= start and end <= last for first, last in allowed):
                yield f"a {type_} value also stands where none was planted"


def _crossing(found: dict) -> Iterator[str]:
    """No two occurrences overlap partly, be it of two values or of one with itself."""
    spans = sorted({place for places in found.values() for place in places})
    for at, (start, end) in enumerate(spans):
        for other_start, other_end in spans[at + 1 :]:
            if other_start >= end:
                break
            if other_start > start and other_end > end:
                yield "two gold occurrences cross"
