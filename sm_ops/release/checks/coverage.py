"""The annotated spans of the sources are removed, every character of them; what the build says of it is not trusted.

What was removed from a record is computed from its source and its released text. Where the removed intervals were kept,
the text must be exactly the source with one and the same placeholder for each of them. Without them (reversible
masking, scrubbing), text and source are aligned twice: each placeholder (`[TYPE]`, `[TYPE_1]`) stands for at least one
character, once as far left as possible and once as far right; a span counts as removed only if it is in both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from sm_ops.core.errors import InputError
from sm_ops.core.settings import Settings
from sm_ops.metrics.intervals import wilson
from sm_ops.release.checking import NO_SOURCES, Bundle, Outcome, count, rate
from sm_ops.release.checks._rows import Interval, Pair, Span, holds_tokens, nfc, pairs, spans_of, texts_of, told
from sm_ops.release.folder import DATA

_PLACEHOLDER = re.compile(r"\[[A-Z][A-Z0-9_]*\]")


@dataclass
class _Counts:
    """What was found: annotated spans, those wholly removed, records, and records that are not made of their source."""

    spans: int = 0
    covered: int = 0
    records: int = 0
    strange: int = 0


def run(bundle: Bundle, settings: Settings) -> Outcome:
    """Walk shards and sources side by side, a record at a time."""
    if bundle.origin is None:
        return NO_SOURCES
    counts = _Counts()
    for shard in bundle.shards:
        if shard not in bundle.origin.sources:
            return Outcome("unmeasured", f"The source of {DATA}/{shard} is not known.")
        if holds_tokens(bundle, shard):
            return Outcome("unmeasured", f"{DATA}/{shard} holds token ids, in which spans have no place.")
        find = _Places() if shard in bundle.origin.places else _by_alignment
        try:
            for pair in pairs(bundle, shard):
                _count(pair, find, counts)
        except InputError as error:
            return Outcome("unmeasured", f"{told(bundle, error)}.")
    return _outcome(counts, settings)


def _outcome(counts: _Counts, settings: Settings) -> Outcome:
    interval = wilson(counts.covered, counts.spans, settings.confidence)
    low, high = interval or (None, None)
    measured = {"spans": counts.spans, "covered": counts.covered, "low": low, "high": high}
    measured |= {"records": counts.records, "records_not_of_their_source": counts.strange}
    if counts.strange:
        strange = f"{counts.strange:,} of {count(counts.records, 'record')} cannot be made from the source by removal"
        return Outcome("fail", f"{strange}, so what was removed there is not known.", measured)
    if interval is None:
        return Outcome("unmeasured", "The sources have no annotated spans.", measured)
    value = interval[0] if settings.by == "lower" else counts.covered / counts.spans
    what = "the lower end of the interval" if settings.by == "lower" else "the share"
    relation = "at least" if value >= settings.minimum else "below"
    shown = rate(counts.covered, counts.spans, interval)
    sentence = f"Annotated spans wholly removed: {shown}; {what} is {relation} {100 * settings.minimum:.1f} %."
    return Outcome("pass" if value >= settings.minimum else "fail", sentence, measured)


def _count(pair: Pair, find: Callable[[Pair, list[Span]], list[bool] | None], counts: _Counts) -> None:
    counts.records += 1
    spans = [] if pair.source is None else spans_of(pair.source)
    removed = None if pair.source is None else find(pair, spans)
    counts.spans += len(spans)
    counts.strange += removed is None
    counts.covered += sum(removed or ())


class _Places:
    """Whether spans are wholly removed, by the kept intervals; the placeholder is one for the whole shard."""

    def __init__(self) -> None:
        self._placeholder: str | None = None

    def __call__(self, pair: Pair, spans: list[Span]) -> list[bool] | None:
        """By span; None where the intervals do not turn the source into the released texts."""
        if pair.source is None or pair.places is None:
            return None
        sources, results = texts_of(pair.source), texts_of(pair.row)
        removed, start = [], 0
        for text in sources:
            end = start + len(text)
            own = [(max(a, start) - start, min(b, end) - start) for a, b in pair.places if a < end and b > start]
            removed.append(own)
            start = end + 1  # messages are joined by a line's end
        if len(sources) != len(results) or not all(map(self._gives, sources, removed, results)):
            return None
        merged = [_merged(own) for own in removed]
        return [_holds(merged[message], start, end) for message, start, end in spans]

    def _gives(self, text: str, removed: list[Interval], result: str) -> bool:
        pieces, at = [], 0
        for start, end in removed:
            if not at <= start < end:
                return False
            pieces.append(text[at:start])
            at = end
        pieces.append(text[at:])
        if not removed:
            return text == result
        if self._placeholder is None:
            width = (len(result) - sum(map(len, pieces))) // len(removed)
            self._placeholder = result[len(pieces[0]) :][: max(width, 0)]
        told = any(self._tells(text[start:end]) for start, end in removed)
        return not told and self._placeholder.join(pieces) == result

    def _tells(self, removed: str) -> bool:
        """Whether the placeholder, which need not look like one, gives away something of what it stands for."""
        known = self._placeholder or ""
        return bool(known) and not _PLACEHOLDER.fullmatch(known) and (known in removed or removed in known)


def _by_alignment(pair: Pair, spans: list[Span]) -> list[bool] | None:
    """Whether each span is wholly removed wherever the placeholders stand; None where the texts cannot be aligned.

    Masking and scrubbing give the NFC form of a text, so a source in another form is tried in both.
    """
    assert pair.source is not None
    sources, results = texts_of(pair.source), texts_of(pair.row)
    if len(sources) != len(results):
        return None
    gaps = []
    for number, (text, result) in enumerate(zip(sources, results, strict=True)):
        found = _gaps(text, result)
        if found is None:
            found = _gaps(nfc(text), result)
            spans = [_in_nfc(text, *span) if span[0] == number else span for span in spans]
        if found is None:
            return None
        gaps.append(found)
    return [all(_holds(way, start, end) for way in gaps[message]) for message, start, end in spans]


def _gaps(text: str, result: str) -> tuple[list[Interval], list[Interval]] | None:
    """What the placeholders of a result stand for in a text, as far left and as far right as can be."""
    pieces = _PLACEHOLDER.split(result)
    left = _aligned(text, pieces)
    right = _aligned(text[::-1], [piece[::-1] for piece in reversed(pieces)])
    if left is None or right is None:
        return None
    return _merged(left), _merged((len(text) - end, len(text) - start) for start, end in reversed(right))


def _aligned(text: str, pieces: Sequence[str]) -> list[Interval] | None:
    """The gaps of one character or more between pieces of a text, each as far left as possible; None for no way."""
    first, last = pieces[0], pieces[-1]
    if len(pieces) == 1:
        return [] if text == first else None
    if not (text.startswith(first) and text.endswith(last)):
        return None
    gaps, at = [], len(first)
    for piece in pieces[1:-1]:
        found = text.find(piece, at + 1)
        if found < 0:
            return None
        gaps.append((at, found))
        at = found + len(piece)
    end = len(text) - len(last)
    return [*gaps, (at, end)] if at < end else None


def _merged(intervals: Iterable[Interval]) -> list[Interval]:
    """Intervals in order, those that touch as one."""
    merged: list[Interval] = []
    for start, end in intervals:
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def _holds(intervals: Iterable[Interval], start: int, end: int) -> bool:
    return any(first <= start and end <= last for first, last in intervals)


def _in_nfc(text: str, message: int, start: int, end: int) -> Span:
    """A span's place in the NFC form of its text."""
    first = len(nfc(text[:start]))
    return message, first, first + len(nfc(text[start:end]))
