"""Pairs of a risky and a safe output of one source, and their files.

A file has a JSON object a line: `safe` and `risky` (texts), optionally `prompt` (what both answer), `group` (the source
whose pairs stay on one side; without it the prompt, and without that the pair itself) and `id`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sm_ops.core.errors import InputError
from sm_ops.core.fs import sha256
from sm_ops.core.records import Message, Record
from sm_ops.data.records import jsonl_rows

FIELDS = ("id", "group", "safe", "risky", "prompt")


@dataclass(frozen=True, slots=True)
class Pair:
    """A risky output and a safe one beside it; `year` is what a citation says of itself."""

    id: str
    group: str
    safe: str
    risky: str
    prompt: str | None = None
    year: int | None = None

    def records(self) -> tuple[Record, Record]:
        """The safe and the risky output; one that answers a prompt is the assistant's turn of a chat."""
        return self._record("safe", self.safe), self._record("risky", self.risky)

    def _record(self, kind: str, output: str) -> Record:
        meta: dict[str, Any] = {"risky": kind == "risky"} | ({} if self.year is None else {"year": self.year})
        name = f"{self.id}-{kind}"
        if self.prompt is None:
            return Record(name, text=output, group=self.group, meta=meta)
        turns = (Message("user", self.prompt), Message("assistant", output))
        return Record(name, messages=turns, group=self.group, meta=meta)


@dataclass(frozen=True, slots=True)
class Material:
    """What a source gives: pairs, further safe texts (`clean`) that a reference may learn, and counts of its work."""

    pairs: list[Pair]
    clean: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)


def read_pairs(path: str | Path) -> Material:
    """Read a file of pairs; `InputError` names file, line and field, never a value."""
    path = Path(path)
    if not path.is_file():
        raise InputError("no-file", f"There is no file {path}; check the path.")
    pairs, seen = [], {}
    for place, row in jsonl_rows(path):
        pair = _pair(f"{path.name}, {place}", row, str(len(pairs)))
        if pair.id in seen:
            raise InputError(
                "bad-pair", f"{path.name}, {place}, field id: {seen[pair.id]} has the same; ids are unique."
            )
        seen[pair.id] = place
        pairs.append(pair)
    if not pairs:
        raise InputError("no-pairs", f"{path.name} holds no pairs; at least one is needed.")
    return Material(pairs)


def _pair(where: str, row: Mapping[str, Any], number: str) -> Pair:
    if row.keys() - {*FIELDS}:
        raise InputError("bad-pair", f"{where}: there is a field that no pair has; fields are {', '.join(FIELDS)}.")
    for name in FIELDS:
        value, needed = row.get(name), name in ("safe", "risky")
        if value is None and not needed:
            continue
        if not isinstance(value, str) or not value.strip():
            raise InputError("bad-pair", f"{where}, field {name}: must be a text that is not blank.")
        check_storable(f"{where}, field {name}", value)
    if row["safe"] == row["risky"]:
        raise InputError("bad-pair", f"{where}: safe and risky are equal, so nothing tells them apart; leave it out.")
    name, prompt = row.get("id") or number, row.get("prompt")
    source = None if prompt is None else f"prompt {sha256(prompt.encode())[:16]}"
    return Pair(name, row.get("group") or source or f"pair {name}", row["safe"], row["risky"], prompt)


def check_storable(where: str, text: str) -> None:
    """Raise `InputError` for half a surrogate pair, which no text file can store."""
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise InputError("bad-pair", f"{where}: holds half a surrogate pair, which is no character; decode it again.")


def outputs(pairs: Iterable[Pair]) -> Iterator[Record]:
    """All outputs of the pairs, each safe one before its risky one."""
    for pair in pairs:
        yield from pair.records()
