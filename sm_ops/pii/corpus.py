"""Whole files masked and restored, a few records in memory at a time.

What is masked comes from one or several sources: an extractor's predictions, known values, a detector, the records'
own labels. Their candidates are united and replaced by the rules of one text (R15 to R20); places that were named by
their offsets and are not wholly inside a replaced span are replaced as they stand, as far as they are left over.
Of a chat, each message is masked by itself, and tokens are counted over the record: one mapping a record.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from heapq import merge
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from sm_ops.core.errors import InputError
from sm_ops.data.records import ROLES
from sm_ops.pii import errors
from sm_ops.pii.files import TEXT_KEYS, Json, Row, rows, texts, whole, writing
from sm_ops.pii.known import KnownValues
from sm_ops.pii.lookup import Index, row_of
from sm_ops.pii.matching import Source, occurrences
from sm_ops.pii.places import left_over
from sm_ops.pii.replacement import TOKEN, Masked, Span, leftmost, masked, rank, replace, restore
from sm_ops.pii.rows import Pair
from sm_ops.pii.text import normalise_source

KEPT = ("id", *TEXT_KEYS, "messages", "lang", "group")
"""The keys of a record that a masked one has, besides `spans`: all others may hold values."""
_BATCH = 32
_BATCH_SIZE = 1 << 18
_SHORT = 5
Progress = Callable[[int], None]


class Document(NamedTuple):
    """A record that can be masked: the NFC forms of its text, or of its messages' contents."""

    row: Row
    texts: list[str]


class Found(NamedTuple):
    """What a source names in one text: normalised candidates, and places of the NFC text with their types."""

    pairs: list[Pair]
    places: list[Span]


class Finder(Protocol):
    """A source of candidates that looks at records."""

    def find(self, documents: Sequence[Document]) -> list[list[Found]]:
        """For each record, what is found in each of its texts."""
        ...


class MappingSink(Protocol):
    """Where mappings go."""

    def add(self, record_id: str, mapping: dict[str, str]) -> None:
        """Keep the mapping of one record."""
        ...


@dataclass
class Masking:
    """How records are masked, and what came of it, in counts."""

    finders: Sequence[Finder] = ()
    known: KnownValues | None = None
    keep: Collection[str] = ()
    records: int = 0
    spans: int = 0
    tokens: Counter[str] = field(default_factory=Counter)
    left_over: int = 0


# ---- records -------------------------------------------------------------------------------------------


def documents(path: Path) -> Iterator[Document]:
    """The records of a file; `InputError` for the first that has no id or no sound text."""
    for row in rows(path):
        yield document(row)


def document(row: Row) -> Document:
    """A checked record."""
    check_texts(row)
    try:
        return Document(row, [normalise_source(text, f"record {row.number}") for text in texts(row.value)])
    except errors.InputError as error:
        raise row.explained(error) from None


def check_texts(row: Row) -> None:
    """Refuse a row without an id, or with another number of texts than one (messages count as one)."""
    _ = row.id
    present = [key for key in (*TEXT_KEYS, "messages") if row.value.get(key) is not None]
    if len(present) != 1:
        raise row.refused(f"it has {len(present)} of text, source_text and messages; a record has exactly one")
    (key,) = present
    value = row.value[key]
    if key != "messages":
        if not isinstance(value, str):
            raise row.refused(f"{key} is no string")
    elif not isinstance(value, list) or not value:
        raise row.refused("messages is no list of at least one message")
    else:
        for number, message in enumerate(value):
            if not isinstance(message, dict) or not isinstance(message.get("content"), str):
                raise row.refused(f"messages[{number}] has no text content")
            if message.get("role") not in ROLES:
                raise row.refused(f"messages[{number}] has a role that is none of {', '.join(ROLES)}")


def survey(path: Path, look: Callable[[Row], Any], distinct: bool = True) -> int:
    """Read a file once before work begins, so that a bad row is refused now; the number of records.

    `InputError` for what `look` refuses, for a repeated id, and for a file without records.
    """
    index, count = Index(), 0
    for row in rows(path):
        look(row)
        count += 1
        if distinct:
            index.add(row.id, row.number)
    if not count:
        raise InputError("no-records", f"{path} holds no records; at least one is needed.")
    if distinct and (number := index.repeated()) is not None:
        reason = "its id was given to an earlier record; give each record an id of its own"
        raise row_of(path, number).refused(reason, "repeated-id")
    return count


# ---- masking -------------------------------------------------------------------------------------------


def mask_file(path: Path, out: Path, masking: Masking, sink: MappingSink, progress: Progress) -> None:
    """Mask all records of a file: texts go to `out`, mappings to `sink`, counts into `masking`."""
    with writing(out, path, (*KEPT, *masking.keep, "spans")) as write:
        for each, found in searched(path, masking.finders, progress):
            result = mask_texts(each.texts, found, masking)
            sink.add(each.row.id, result.mapping)
            write(_masked_row(each, result, masking.keep))


def searched(path: Path, finders: Sequence[Finder], progress: Progress) -> Iterator[tuple[Document, list[Found]]]:
    """Each record with what the finders found in its texts."""
    for batch in _batches(documents(path)):
        by_finder = [finder.find(batch) for finder in finders]
        for number, each in enumerate(batch):
            parts = [found[number] for found in by_finder]
            yield each, [_united(part[text] for part in parts) for text in range(len(each.texts))]
            progress(each.row.number + 1)


def _batches(given: Iterable[Document]) -> Iterator[list[Document]]:
    batch: list[Document] = []
    size = 0
    for each in given:
        batch.append(each)
        size += sum(map(len, each.texts))
        if len(batch) == _BATCH or size > _BATCH_SIZE:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _united(parts: Iterable[Found]) -> Found:
    pairs: dict[Pair, None] = {}
    places: list[Span] = []
    for part in parts:
        pairs |= dict.fromkeys(part.pairs)
        places += part.places
    return Found(list(pairs), places)


def mask_texts(given: Sequence[str], found: Sequence[Found], masking: Masking) -> Masked:
    """The NFC texts of one record masked with one mapping, joined; spans count in the joined texts."""
    spans: list[Span] = []
    start = 0
    for text, each in zip(given, found, strict=True):
        taken = _by_rules(Source(text), each.pairs, masking.known)
        rest = list(left_over(text, each.places, taken))
        masking.left_over += len(rest)
        spans += [(start + a, start + b, type_) for a, b, type_ in sorted([*taken, *rest])]
        start += len(text)
    result = replace("".join(given), spans)
    masking.records += 1
    masking.spans += len(result.spans)
    masking.tokens.update(map(type_of_token, result.mapping))
    return result


def type_of_token(token: str) -> str:
    """The type that a token such as `[PERSON_1]` names."""
    return token[1 : token.rindex("_")]


def _by_rules(source: Source, pairs: Sequence[Pair], known: KnownValues | None) -> list[Span]:
    """The spans (start, end, type) of R15, for candidates and known values together."""
    if known is None:
        return [(start, end, type_of_token(token)) for start, end, token in masked(source, pairs).spans]
    own = sorted(
        (match.start, -match.end, rank(type_, match.literal))
        for type_, value in pairs
        for match in occurrences(source.text, type_, value)
    )
    return list(leftmost(merge(known.matches(source), own)))


def _masked_row(each: Document, result: Masked, keep: Collection[str]) -> Json:
    """The record with masked texts, the keys that are kept, and `spans`: where which type was masked."""
    row = {key: value for key, value in each.row.value.items() if key in (*KEPT, *keep) and key != "spans"}
    contents, spans = [], []
    at = start = 0
    ahead = iter(result.spans)
    span = next(ahead, None)
    for number, text in enumerate(each.texts):
        end, begin, shift = start + len(text), at, at - start
        while span is not None and span[0] < end:
            first, token = span[0] + shift, span[2]
            where = {"start": first - begin, "end": first - begin + len(token), "label": type_of_token(token)}
            spans.append(where | ({"message": number} if row.get("messages") else {}))
            shift += len(token) - (span[1] - span[0])
            span = next(ahead, None)
        at, start = end + shift, end
        contents.append(result.text[begin:at])
    refuse_values_elsewhere(each.row, row, result.mapping.values())
    return {**with_texts(row, contents, ("role",)), "spans": spans}


def with_texts(row: Json, contents: Sequence[str], keep: Collection[str] | None = None) -> Json:
    """A row with other texts; its messages keep the named keys, or all."""
    if row.get("messages") is None:
        key = next(key for key in TEXT_KEYS if row.get(key) is not None)
        return {**row, key: contents[0]}
    messages = [
        {key: value for key, value in message.items() if keep is None or key in keep} | {"content": content}
        for message, content in zip(row["messages"], contents, strict=True)
    ]
    return {**row, "messages": messages}


def refuse_values_elsewhere(given: Row, row: Json, spellings: Iterable[str]) -> None:
    """Refuse a key that is kept and holds what is masked in the text: all of it, or a value that is not short."""
    kept = [key for key in row if key not in (*TEXT_KEYS, "messages")]
    others = [(key, unicodedata.normalize("NFC", text)) for key in kept for text in _strings(row[key])]
    for spelling in spellings:
        for key, text in others:
            if spelling == text or (len(spelling) >= _SHORT and spelling in text):
                raise given.refused(f"{key!r} holds a value that is masked in its text; leave it out or change it")


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


@contextmanager
def published(out: Path, store: AbstractContextManager[MappingSink]) -> Iterator[tuple[Path, MappingSink]]:
    """Where to write a masked file, and its mappings: both take their places when the block ends, or none does.

    The mappings go first, and before them an older `out` is removed: at no moment does a masked file stand beside
    mappings that are not its own.
    """
    with whole(out) as unfinished, store as sink:
        yield unfinished, sink
        out.unlink(missing_ok=True)


# ---- restoring -----------------------------------------------------------------------------------------


@dataclass
class Restoring:
    """What restoring came to, in counts; `unknown` tokens have no spelling, `absent` ones stand in no text."""

    records: int = 0
    restored: int = 0
    unknown: int = 0
    absent: int = 0


def restore_file(path: Path, out: Path, get: Callable[[str], dict[str, str]], progress: Progress) -> Restoring:
    """Restore all records of a file, in its order, to a file for its owner alone (mode 0600).

    `get` gives a record's mapping, or raises `InputError`. Every key is kept but `spans`, whose offsets are gone.
    """
    counts = Restoring()
    with writing(out, path, mode=0o600) as write:
        for row in rows(path):
            check_texts(row)
            contents = _restored(row, get, counts)
            write({key: value for key, value in with_texts(row.value, contents).items() if key != "spans"})
            progress(row.number + 1)
    return counts


def _restored(row: Row, get: Callable[[str], dict[str, str]], counts: Restoring) -> list[str]:
    given = texts(row.value)
    try:
        mapping = get(row.id)
        contents = [restore(text, mapping) for text in given]
    except errors.InputError as error:
        raise InputError(error.code, f"The mapping of record {row.number} is damaged.") from None
    except InputError as error:
        if error.code != "unknown-record":
            raise
        reason = "no mapping has its id; check that it was masked with these mappings and kept its id"
        raise row.refused(reason, error.code) from None
    standing = Counter(token for text in given for token in TOKEN.findall(text))
    counts.records += 1
    counts.restored += sum(count for token, count in standing.items() if token in mapping)
    counts.unknown += sum(count for token, count in standing.items() if token not in mapping)
    counts.absent += sum(token not in standing for token in mapping)
    return contents
