"""From documents to the records that a model is trained on: cut into units, and dealt out by group."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Literal

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record
from sm_ops.core.seeds import derive

Unit = Literal["document", "paragraph", "sentence"]
_ABBREVIATIONS = ("Mr", "Mrs", "Ms", "Dr", "Prof", "St", "Co", "No", "no", "Nos", "nos", "Art", "v", "cf", "p", "pp")
_UNENDED = (*(rf"\b{word}" for word in _ABBREVIATIONS), r"\b[A-Z]", r"^\d", r"^\d\d", r"^\d\d\d")
"""What a full stop may stand behind without ending a sentence: abbreviations, an initial, a paragraph's number."""
_BOUNDARIES = {
    "paragraph": re.compile(r"\n[^\S\n]*\n\s*"),
    "sentence": re.compile(
        "".join(f"(?<!{behind})" for behind in _UNENDED) + r"""[.!?…]["'”’)\]]*\s+|[。！？]["'”’」』]*\s*|\n\s*""",
        re.MULTILINE,
    ),
}


def cut(records: Iterable[Record], unit: Unit) -> list[Record]:
    """The units of documents, in order: texts that joined give the document, blanks between two with the first.

    Paragraphs end at blank lines; sentences at line ends and at end marks before a blank, but not at those of
    initials, abbreviations such as Mr. and a paragraph's number. A boundary within a labelled span is none, so that
    no mention is cut; spans move with their text. Ids are `DOCUMENT/NUMBER` from 1, the group is the document's or
    else its id. A chat stays whole.
    """
    if unit != "document" and unit not in _BOUNDARIES:
        raise InputError("unknown-unit", f"There is no unit {unit!r}; take document, paragraph or sentence.")
    return [piece for record in records for piece in _units(record, unit)]


def split(records: Sequence[Record], shares: Mapping[str, float], seed: int) -> dict[str, list[Record]]:
    """Parts by name with about these shares of the records, each group in one part; what shares leave over is unused.

    Groups (a record without one is its own) are dealt out in an order that hashes of seed and name decide, so neither
    the order of records nor a part's place changes anything. Records keep their order.
    Raises `InputError` where a share is not within 0 to 1, all exceed 1, or a part would be empty.
    """
    if any(not 0 <= share <= 1 for share in shares.values()) or sum(shares.values()) > 1 + 1e-9:
        hint = f"The shares of {', '.join(shares)} are not parts of a whole; make them sum to 1 or less."
        raise InputError("bad-shares", hint)
    sizes: dict[str, int] = defaultdict(int)
    for record in records:
        sizes[record.group or record.id] += 1
    part_of, middle, tops = {}, 0.0, _tops(shares)
    for group in sorted(sizes, key=lambda name: (derive(seed, "split", name), name)):
        point = (middle + sizes[group] / 2) / len(records)
        part_of[group] = next((name for name, top in tops if point <= top), None)
        middle += sizes[group]
    parts = {name: [r for r in records if part_of[r.group or r.id] == name] for name in shares}
    for name, share in shares.items():
        if share and not parts[name]:
            hint = f"The part {name!r} is empty: {len(sizes)} groups are too few for these shares; give more."
            raise InputError("empty-part", hint)
    return parts


def _tops(shares: Mapping[str, float]) -> list[tuple[str, float]]:
    top, tops = 0.0, []
    for name in sorted(shares):
        top += shares[name]
        tops.append((name, top + 1e-9))
    return tops


def _units(record: Record, unit: str) -> Iterator[Record]:
    group = record.group or record.id
    if unit == "document" or record.messages is not None:
        yield replace(record, group=group)
        return
    meta = {key: value for key, value in record.meta.items() if key != "fields"}  # its offsets would be wrong
    for number, (start, end) in enumerate(pairwise(_edges(record, unit)), start=1):
        spans = tuple(
            replace(span, start=span.start - start, end=span.end - start)
            for span in record.spans
            if start <= span.start < end
        )
        text = record.content[start:end]
        yield replace(record, id=f"{record.id}/{number}", text=text, group=group, spans=spans, meta=meta)


def _edges(record: Record, unit: str) -> list[int]:
    text = record.content
    first = len(text) - len(text.lstrip())
    ends = (match.end() for match in _BOUNDARIES[unit].finditer(text, first))
    cuts = [end for end in ends if end < len(text) and not any(s.start < end < s.end for s in record.spans)]
    return [0, *cuts, len(text)]
