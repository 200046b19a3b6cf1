"""One-way removal: every place gives way to `[TYPE]`, and nothing is kept that could bring it back.

All occurrences of all candidates and all places count, whatever overlaps (R14, not R15: a leftover of a longer value
is removed with it). Stretches that overlap become one, under the type of the longest part, of equal ones the strongest
(R17); stretches of one type that touch become one, lest their number tell something, others stay apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sm_ops.pii.corpus import (
    KEPT,
    Document,
    Finder,
    Found,
    Progress,
    refuse_values_elsewhere,
    searched,
    with_texts,
)
from sm_ops.pii.files import writing
from sm_ops.pii.known import KnownValues
from sm_ops.pii.matching import Source, occurrences
from sm_ops.pii.replacement import VARIANT, Span
from sm_ops.pii.rows import Pair
from sm_ops.pii.text import trim
from sm_ops.pii.types import PRIORITY, TYPES


@dataclass
class Scrubbing:
    """How records are scrubbed, and what came of it, in counts."""

    finders: Sequence[Finder] = ()
    known: KnownValues | None = None
    keep: Collection[str] = ()
    records: int = 0
    removed: Counter[str] = field(default_factory=Counter)


def scrub_file(path: Path, out: Path, scrubbing: Scrubbing, progress: Progress) -> None:
    """Scrub all records of a file to `out`, counts into `scrubbing`."""
    keys = (*KEPT, *scrubbing.keep)
    with writing(out, path, keys) as write:
        for document, found in searched(path, scrubbing.finders, progress):
            write(_scrubbed(document, found, scrubbing, keys))
            scrubbing.records += 1


def _scrubbed(document: Document, found: Sequence[Found], scrubbing: Scrubbing, keys: Collection[str]) -> dict:
    contents: list[str] = []
    candidates: dict[Pair, None] = {}
    for text, each in zip(document.texts, found, strict=True):
        gone = list(matches(Source(text), each, scrubbing.known))
        spans = stretches(gone)
        spellings = ((type_, trim(text[start:end])) for start, end, type_ in gone)
        candidates |= dict.fromkeys([*each.pairs, *(pair for pair in spellings if pair[1])])
        scrubbing.removed.update(type_ for _, _, type_ in spans)
        contents.append(scrub(text, spans))
    row = {key: value for key, value in document.row.value.items() if key in keys}
    refuse_values_elsewhere(document.row, row, candidates, scrubbing.known)
    return with_texts(row, contents, ("role",))


def matches(source: Source, found: Found, known: KnownValues | None) -> Iterator[Span]:
    """Every place (start, end, type) of an NFC text that is to go, in any order."""
    yield from found.places
    for type_, value in found.pairs:
        for match in occurrences(source.text, type_, value):
            yield match.start, match.end, type_
    if known is not None:
        for start, minus_end, number in known.matches(source):
            yield start, -minus_end, TYPES[number % VARIANT]


def stretches(spans: Iterable[Span]) -> list[Span]:
    """The spans united: ascending, disjoint, and touching only where types differ."""
    united: list[tuple[int, int, Span]] = []
    for span in sorted(spans):
        start, end, _ = span
        if united and start < united[-1][1]:
            first, last, best = united[-1]
            united[-1] = first, max(last, end), min(best, span, key=_rank)
        else:
            united.append((start, end, span))
    result: list[Span] = []
    for start, end, (_, _, type_) in united:
        if result and result[-1][1:] == (start, type_):
            start = result.pop()[0]
        result.append((start, end, type_))
    return result


def _rank(span: Span) -> tuple[int, int, str]:
    start, end, type_ = span
    return start - end, PRIORITY.get(type_, len(TYPES)), type_


def scrub(text: str, spans: Iterable[Span]) -> str:
    """The text with `[TYPE]` for each span (ascending, disjoint)."""
    pieces, at = [], 0
    for start, end, type_ in spans:
        pieces += text[at:start], f"[{type_}]"
        at = end
    return "".join(pieces) + text[at:]
