"""Rows of shards and of their sources, one after another in memory that does not grow with them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Any, NamedTuple

from sm_ops.core.errors import InputError
from sm_ops.pii.corpus import check_texts
from sm_ops.pii.files import Row, rows, texts
from sm_ops.release.checking import Bundle
from sm_ops.release.folder import DATA

Interval = tuple[int, int]
Span = tuple[int, int, int]
"""Message (0 for a text), start and end."""
_TOLD = 1000
"""Rows between two signs of progress."""
TOKEN_KEYS = ("input_ids", "token_ids")


class Pair(NamedTuple):
    """A released row, its source row (None: the source has none), and its removed intervals where they were kept."""

    row: Row
    source: Row | None
    places: list[Interval] | None


def released(bundle: Bundle, shard: str) -> Iterator[Row]:
    """The rows of a shard, while progress is told over all shards; `InputError` where one cannot be read."""
    counts = {each["path"].removeprefix(f"{DATA}/"): each.get("rows") or 0 for each in bundle.manifest["files"]}
    total = sum(counts[name] for name in bundle.shards)
    before = sum(counts[name] for name in [*bundle.shards][: [*bundle.shards].index(shard)])
    for row in rows(bundle.shards[shard]):
        if row.number % _TOLD == 0:
            bundle.progress(before + row.number, total)
        yield row


def pairs(bundle: Bundle, shard: str) -> Iterator[Pair]:
    """The rows of a shard, each beside its source: both are in one order, and records may have been left out.

    Raises `InputError` where one of the files cannot be read.
    """
    assert bundle.origin is not None
    sources = rows(bundle.origin.sources[shard])
    kept = bundle.origin.places.get(shard)
    places = None if kept is None else rows(kept)
    for row in released(bundle, shard):
        yield _pair(row, sources, places)


def _pair(row: Row, sources: Iterator[Row], places: Iterator[Row] | None) -> Pair:
    for source in sources:
        place = None if places is None else next(places, None)
        if source.value.get("id") == row.value.get("id"):
            return Pair(row, source, None if place is None else _intervals(source, place))
    return Pair(row, None, None)


def _intervals(source: Row, place: Row) -> list[Interval] | None:
    """The intervals of the row's own record; None where they are another's or no intervals."""
    given = place.value.get("intervals")
    if "starts" in place.value:  # of a mask file
        given = [*zip(place.value["starts"], place.value["ends"], strict=True)]
    if place.value.get("id") != source.value.get("id") or not isinstance(given, list):
        return None
    found = [(each[0], each[1]) for each in given if isinstance(each, list | tuple) and len(each) == 2]
    return found if len(found) == len(given) else None


def texts_of(row: Row) -> list[str]:
    """The text of a row, or its messages' contents; `InputError` where it has neither."""
    check_texts(row)
    return texts(row.value)


def spans_of(row: Row) -> list[Span]:
    """The annotated spans of a row."""
    return [(each.get("message") or 0, each["start"], each["end"]) for each in row.value.get("spans") or ()]


def annotated_values(row: Row) -> Iterator[str]:
    """What stands in the annotated spans of a row."""
    contents = texts_of(row)
    for message, start, end in spans_of(row):
        yield contents[message][start:end]


def token_ids(row: dict[str, Any]) -> dict[str, list[int]]:
    """The lists of token ids in a row, by key."""
    return {key: row[key] for key in (*TOKEN_KEYS, "labels") if isinstance(row.get(key), list)}


def holds_tokens(bundle: Bundle, shard: str) -> bool:
    """Whether the rows of a shard are token ids; one that cannot be read holds none."""
    try:
        first = next(iter(rows(bundle.shards[shard])), None)
    except InputError:
        return False
    return first is not None and any(key in first.value for key in TOKEN_KEYS)


def nfc(text: str) -> str:
    """The form in which texts are masked reversibly and scrubbed."""
    return unicodedata.normalize("NFC", text)


def told(bundle: Bundle, error: InputError) -> str:
    """An error's sentence without the paths of this machine."""
    hint = error.hint.replace(f"{bundle.folder}/", "").removesuffix(".")
    return hint if str(bundle.release.home) not in hint else f"a restricted file cannot be read [{error.code}]"
