"""Scrubbing (PII-leakage paper, algorithm 1), by offsets: every labelled span gives way to the mask token.

The paper's rule replaces the first place where the text of a span occurs, which hits another word or an earlier mention
where there is one. Here a span is replaced where it stands, however spans overlap or nest.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

import numpy as np

from sm_ops.core.records import Record
from sm_ops.masking.redact import Interval, redact
from sm_ops.masking.spans import intervals

MASK = "[MASK]"
"""The token that a scrubbed mention leaves behind."""


def scrub(
    records: Iterable[Record],
    placeholder: str = MASK,
    *,
    everywhere: bool = True,
    labels: Collection[str] | None = None,
) -> tuple[list[Record], dict[str, int]]:
    """The records with their spans (of these `labels`; None: all) replaced by the placeholder, and what was done.

    Overlapping and touching spans leave one placeholder. `everywhere` replaces each further occurrence of a labelled
    value in its record too: equal characters in equal case, with any blanks where the value has some, and never a part
    of a longer word. Spans that are left move along. Counts: `mentions` (spans), `occurrences` (further places that no
    span covers), `masks` (placeholders).
    """
    scrubbed, mentions, occurrences, masks = [], 0, 0, 0
    for record in records:
        spans, further = _found(record, everywhere, labels)
        replaced = _union([*spans, *further])
        mentions += len(spans)
        occurrences += len(further)
        masks += len(replaced)
        scrubbed.append(redact(record, replaced, placeholder))
    return scrubbed, {"mentions": mentions, "occurrences": occurrences, "masks": masks}


def places(record: Record, everywhere: bool = True, labels: Collection[str] | None = None) -> list[Interval]:
    """What `scrub` replaces of a record: disjoint intervals in order, in code points of its `content`."""
    spans, further = _found(record, everywhere, labels)
    return _union([*spans, *further])


def _found(
    record: Record, everywhere: bool, labels: Collection[str] | None
) -> tuple[list[Interval], list[Interval]]:
    """The spans, and further occurrences of their values."""
    spans = [(start, end) for start, end, label in record.content_spans if labels is None or label in labels]
    return spans, _uncovered(_occurrences(record, spans), _union(spans)) if everywhere else []


def _occurrences(record: Record, spans: Iterable[Interval]) -> Iterator[Interval]:
    """Every place, overlapping ones too, of each distinct value that stands at a span; none crosses two messages."""
    text = record.content
    texts = [text] if record.messages is None else [message.content for message in record.messages]
    for value in sorted({" ".join(text[start:end].split()) for start, end in spans} - {""}):
        words = r"\s+".join(map(re.escape, value.split()))
        before = r"(?<!\w)" if re.match(r"\w", value) else ""
        after = r"(?!\w)" if re.search(r"\w\Z", value) else ""
        pattern = re.compile(f"{before}(?=({words}){after})")
        for offset, part in zip(record.message_starts, texts, strict=True):
            for match in pattern.finditer(part):
                yield offset + match.start(1), offset + match.end(1)


def _union(found: Sequence[Interval]) -> list[Interval]:
    starts, ends = np.array(found, np.int64).reshape(-1, 2).T
    return intervals(starts, ends)


def _uncovered(found: Iterable[Interval], covered: Sequence[Interval]) -> list[Interval]:
    """The distinct intervals that do not lie within one of the disjoint ones in `covered`."""
    starts = np.array([start for start, _ in covered])
    ends = np.array([end for _, end in covered])
    return [
        (start, end)
        for start, end in sorted(set(found))
        if not ((number := int(np.searchsorted(starts, start, side="right"))) and end <= ends[number - 1])
    ]
