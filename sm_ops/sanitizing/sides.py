"""One side of a corpus, validation or application: labelled records and what each filter says of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record
from sm_ops.core.tokens import Tokens
from sm_ops.sanitizing import levels, units
from sm_ops.sanitizing.levels import Filter
from sm_ops.sanitizing.profiles import Profile
from sm_ops.sanitizing.units import Profiles, Units


@dataclass(frozen=True, slots=True)
class Side:
    """Records with, for each filter, a profile of every record; `tokenized` are their tokens, where they are known."""

    records: Sequence[Record]
    profiles: Profiles
    tokenized: Sequence[Tokens] | None = None

    def units(self, needed: str) -> dict[str, Units]:
        """The units of every kind: `characters`, `lines`, `tokens` where they are known, and the one that is needed."""
        kinds = {"characters", "lines", needed} | ({"tokens"} if self.tokenized is not None else set())
        return {kind: self.of_kind(kind) for kind in sorted(kinds)}

    def of_kind(self, kind: str) -> Units:
        """The units of one kind; `InputError` for tokens that are unknown."""
        if kind != "tokens":
            return {"characters": units.characters, "lines": units.lines}[kind](self.records, self.profiles)
        if self.tokenized is None:
            raise InputError("no-tokens", "Units that are tokens take a filter with a reference; there is none here.")
        return units.tokens(self.records, self.profiles, self.tokenized)

    def values(self, key: str) -> np.ndarray:
        """What each record's meta holds under a key, as text; empty where it holds nothing."""
        found = [record.meta.get(key) for record in self.records]
        return np.array(["" if value is None else str(value) for value in found], object)

    def anchors(self) -> dict[str, dict[str, int]]:
        """How many labelled strings of each category there are, by label, where the records' `meta.anchors` says so."""
        found: dict[str, dict[str, int]] = {}
        for record in self.records:
            for category, counts in record.meta.get("anchors", {}).items():
                own = found.setdefault(category, dict.fromkeys(counts, 0))
                for label, count in counts.items():
                    own[label] += count
        return found


def side(
    records: Sequence[Record], files: Sequence[Path], tokenized: Sequence[Tokens] | None = None
) -> tuple[Side, list[Filter]]:
    """A side from its records and the files of levels of its filters; `InputError` where a file is of other records."""
    filters = [levels.about(path) for path in files]
    profiles = {one.name: _profiles(records, path) for one, path in zip(filters, files, strict=True)}
    return Side(records, profiles, tokenized), filters


def _profiles(records: Sequence[Record], path: Path) -> list[Profile]:
    found, rows = [], levels.read(path)
    for record in records:
        row = next(rows, None)
        if row is None or row.id != record.id:
            raise _of_others(path)
        found.append(Profile.of(len(record.content), row.starts, row.ends, row.levels))
    if next(rows, None) is not None:
        raise _of_others(path)
    return found


def _of_others(path: Path) -> InputError:
    return InputError(
        "levels-of-other-records",
        f"{path.name} holds levels of other records than these, or in another order; make it again.",
    )
