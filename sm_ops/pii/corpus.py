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
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from heapq import merge
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from sm_ops.core.errors import InputError
from sm_ops.data.records import ROLES
from sm_ops.pii.errors import RuleError
from sm_ops.pii.files import TEXT_KEYS, Json, Row, abandoned, locked, paragraph_id, rows, texts, whole, writing
from sm_ops.pii.known import KnownValues
from sm_ops.pii.lookup import Index, row_of
from sm_ops.pii.matching import Source, occurrences, stands_in
from sm_ops.pii.places import left_over
from sm_ops.pii.replacement import TOKEN, Masked, Span, leftmost, masked, rank, replace, restore
from sm_ops.pii.rows import Pair
from sm_ops.pii.text import SURROGATE, normalise_source

KEPT = ("id", *TEXT_KEYS, "messages", "lang", "group")
"""The keys of a record that a masked one has, besides `spans`: all others may hold values."""
_BATCH = 32
_BATCH_SIZE = 1 << 18
_SHORT = 5
_NO_MAPPINGS = {"no-file", "no-mappings", "shredded", "unknown-dataset"}
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

    def add(self, record_id: str, mapping: dict[str, str], digest: str) -> None:
        """Keep the mapping of one record, and the digest of its masked texts."""
        ...


class MappingSource(Protocol):
    """Where mappings come from."""

    def __len__(self) -> int: ...

    def get_with_digest(self, record_id: str) -> tuple[dict[str, str], str]:
        """What a sink was given for a record, "" for no digest; `InputError` for an id that it was not."""
        ...


@dataclass
class Masking:
    """How records are masked, and what came of it, in counts."""

    finders: Sequence[Finder] = ()
    known: KnownValues | None = None
    keep: Collection[str] = ()
    records: int = 0
    masked: int = 0
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
    except RuleError as error:
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
            row = _masked_row(each, result, masking.keep)
            spellings = [(type_of_token(token), spelling) for token, spelling in result.mapping.items()]
            candidates = dict.fromkeys([*spellings, *(pair for part in found for pair in part.pairs)])
            refuse_values_elsewhere(each.row, row, candidates, masking.known)
            sink.add(each.row.id, result.mapping, text_digest(texts(row)))
            write(row)


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
    masking.masked += bool(result.spans)
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


def refuse_values_elsewhere(given: Row, row: Json, candidates: Collection[Pair], known: KnownValues | None) -> None:
    """Refuse a kept key in which a candidate of its record, or any known value, stands by the matcher's rules.

    Numbers count as they are written, and so do the names of keys; long candidates are found in any letter case.
    """
    for key, value in row.items():
        if key in (*TEXT_KEYS, "messages", "spans") or (key == "id" and value == paragraph_id(given.number)):
            continue
        if any(_holds(text, candidates, known) for text in _strings(value)):
            raise given.refused(f"{key!r} holds a value that is masked; leave it out or change it")
        if key not in KEPT and _holds(key, candidates, known):
            raise given.refused("the name of a kept key holds a value that is masked; leave the key out")


def _holds(text: str, candidates: Collection[Pair], known: KnownValues | None) -> bool:
    source = Source(unicodedata.normalize("NFC", SURROGATE.sub("\ufffd", text)))
    if known is not None and any(True for _ in known.matches(source)):
        return True
    folded = Source(source.text.casefold())
    return any(
        stands_in(source, type_, value) or (len(value) >= _SHORT and stands_in(folded, type_, value.casefold()))
        for type_, value in candidates
    )


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def text_digest(given: Sequence[str]) -> str:
    """What tells the masked texts of a record from all others: 128 bits of BLAKE2b, hexadecimal."""
    digest = blake2b(digest_size=16)
    for text in given:
        data = text.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


@contextmanager
def published(out: Path, store: AbstractContextManager[MappingSink]) -> Iterator[tuple[Path, MappingSink]]:
    """Where to write a masked file, and its mappings: both take their places when the block ends, or none does.

    The mappings go first. A run that is killed before its file follows leaves it, whole, for `finish_killed`; beside
    these mappings an older `out` is known by its digests.
    """
    with ExitStack() as until_renamed, whole(out) as unfinished, store as sink:
        yield unfinished, sink
        until_renamed.enter_context(locked(unfinished))


def finish_killed(out: Path, open_mappings: Callable[[], AbstractContextManager[MappingSource]]) -> bool:
    """Put in its place what a run left that was killed between its mappings and its file; whether there was one."""
    for left in abandoned(out):
        try:
            with open_mappings() as mappings:
                fits = _fits(left, mappings)
        except InputError as error:
            if error.code not in _NO_MAPPINGS:
                raise
            return False
        if fits:
            left.replace(out)
            return True
    return False


def _fits(path: Path, mappings: MappingSource) -> bool:
    """Whether a file has exactly the records of the mappings, each with the text that they were made for."""
    count = 0
    try:
        for row in rows(path):
            check_texts(row)
            if mappings.get_with_digest(row.id)[1] != text_digest(texts(row.value)):
                return False
            count += 1
    except InputError:
        return False
    return count == len(mappings)


# ---- restoring -----------------------------------------------------------------------------------------


@dataclass
class Restoring:
    """What restoring came to, in counts; `unknown` tokens have no spelling, `absent` ones stand in no text.

    The texts of `changed` records are others than those that were masked, those of `unchecked` ones have no digest.
    """

    edited: bool = False
    records: int = 0
    restored: int = 0
    unknown: int = 0
    absent: int = 0
    changed: int = 0
    unchecked: int = 0


def restore_file(path: Path, out: Path, mappings: MappingSource, edited: bool, progress: Progress) -> Restoring:
    """Restore all records of a file, in its order, to a file for its owner alone (mode 0600).

    Every key is kept but `spans`, whose offsets are gone. `InputError` for a record without a mapping, and, unless
    they were `edited`, for one whose texts are not those that were masked.
    """
    counts = Restoring(edited)
    with writing(out, path, mode=0o600) as write:
        for row in rows(path):
            check_texts(row)
            contents = _restored(row, mappings, counts)
            write({key: value for key, value in with_texts(row.value, contents).items() if key != "spans"})
            progress(row.number + 1)
    return counts


def _restored(row: Row, mappings: MappingSource, counts: Restoring) -> list[str]:
    given = texts(row.value)
    try:
        mapping, digest = mappings.get_with_digest(row.id)
        contents = [restore(text, mapping) for text in given]
    except RuleError as error:
        raise row.refused("the mapping of its id is damaged; take one from a backup", error.code) from None
    except InputError as error:
        if error.code != "unknown-record":
            raise
        reason = "no mapping has its id; check that it was masked with these mappings and kept its id"
        raise row.refused(reason, error.code) from None
    counts.unchecked += not digest
    if digest and digest != text_digest(given):
        if not counts.edited:
            reason = "its text is not the one that was masked with these mappings; name its own, or add --edited where "
            raise row.refused(reason + "the text was changed on purpose", "other-text")
        counts.changed += 1
    standing = Counter(token for text in given for token in TOKEN.findall(text))
    counts.records += 1
    counts.restored += sum(count for token, count in standing.items() if token in mapping)
    counts.unknown += sum(count for token, count in standing.items() if token not in mapping)
    counts.absent += sum(token not in standing for token in mapping)
    return contents
