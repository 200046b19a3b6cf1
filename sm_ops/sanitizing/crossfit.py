"""Cross-fitting: what is fitted on the validation side judges no record of it that it has seen.

Records are dealt out by group into a few parts. `whole` is fitted on all of them and is for other records; `part-N`
on all but those of part N, and is for these.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sm_ops.core import fs
from sm_ops.core.errors import InputError
from sm_ops.core.records import Record
from sm_ops.core.tokens import Scored
from sm_ops.core.types import Progress
from sm_ops.sanitizing.labels import left_out

PARTS = 5
WHOLE = "whole"
_DEALT = "parts.json"


def outside(record: Record) -> list[str]:
    """The texts between a record's targets and what is left out of its counts."""
    cuts = sorted([*((start, end) for start, end, _ in record.content_spans), *left_out(record)])
    pieces, position = [], 0
    for start, end in [*cuts, (len(record.content), len(record.content))]:
        if start > position:
            pieces.append(record.content[position:start])
        position = max(position, end)
    return pieces


def deal(records: Sequence[Record], parts: int = PARTS) -> list[int]:
    """The part of each record, from 0: groups whole, the largest first, each into the part with the fewest characters.

    Raises `InputError` where all records are of one group.
    """
    sizes: dict[tuple[bool, str], int] = defaultdict(int)
    keys = [(record.group is None, record.group or record.id) for record in records]
    for key, record in zip(keys, records, strict=True):
        sizes[key] += len(record.content)
    if len(sizes) < 2:
        raise InputError(
            "one-group",
            "The validation side is of one group (repository, document, template), so nothing can be fitted on some "
            "groups and judged on others; give records of two groups at least, or a reference that is fitted already.",
        )
    filled = [0] * min(parts, len(sizes))
    part_of = {}
    for key in sorted(sizes, key=lambda key: (-sizes[key], key)):
        part_of[key] = filled.index(min(filled))
        filled[part_of[key]] += sizes[key]
    return [part_of[key] for key in keys]


def fit(records: Sequence[Record], folder: Path, make: Callable[[Sequence[Record], Path], None]) -> int:
    """Make `whole` and a `part-N` for each part in the folder; returns the number of parts."""
    dealt = deal(records)
    make(records, folder / WHOLE)
    for part in sorted(set(dealt)):
        kept = [record for record, own in zip(records, dealt, strict=True) if own != part]
        make(kept, folder / f"part-{part}")
    fs.write_json(folder / _DEALT, {record.id: part for record, part in zip(records, dealt, strict=True)})
    return len(set(dealt))


def is_dealt(folder: Path) -> bool:
    """Whether the folder has parts; what was fitted on other records judges all alike."""
    return (folder / _DEALT).is_file()


def part_of(folder: Path) -> dict[str, str]:
    """For the id of each record that was dealt out the name of what judges it."""
    return {name: f"part-{part}" for name, part in fs.read_json(folder / _DEALT).items()}


class CrossFitted:
    """References by name, each for the records of its part; scores as one reference would.

    Token ids of different parts are of different tokenizers and are kept apart, so that nothing counts as a repetition
    across them.
    """

    def __init__(self, folder: Path, load: Callable[[Path], Any]) -> None:
        self._part_of = part_of(folder)
        self._references = {name: load(folder / name) for name in sorted(set(self._part_of.values()))}

    def score(self, records: Sequence[Record], progress: Progress | None = None) -> list[Scored]:
        """The scores of records that were dealt out, in order; see `Reference.score`."""
        found: dict[int, Scored] = {}
        for number, (name, reference) in enumerate(self._references.items()):
            places = [place for place, record in enumerate(records) if self._part_of[record.id] == name]
            own = reference.score([records[place] for place in places], progress)
            for place, scored in zip(places, own, strict=True):
                tokens = replace(scored.tokens, ids=scored.tokens.ids + (number << 32))
                found[place] = replace(scored, tokens=tokens)
        return [found[place] for place in range(len(records))]
