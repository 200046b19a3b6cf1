"""Where candidates come from: an extractor's predictions, a detector, own labels, lists of known values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeGuard

from sm_ops.core.errors import InputError
from sm_ops.detectors.detector import Detector
from sm_ops.detectors.labels import LABELS, type_of
from sm_ops.pii.corpus import Document, Found, check_texts
from sm_ops.pii.errors import RuleError
from sm_ops.pii.files import Row, lines, parsed, texts
from sm_ops.pii.known import KnownValues
from sm_ops.pii.lookup import table
from sm_ops.pii.matching import Source, stands_in
from sm_ops.pii.places import Places
from sm_ops.pii.rows import Pair, parse_rows
from sm_ops.pii.text import SURROGATE, normalise_type, normalise_value
from sm_ops.pii.types import PRIORITY

_PLACEHOLDER = re.compile("[A-Za-z][A-Za-z0-9_-]{0,39}")


class Predictions:
    """An extractor's output, rows `{id, prediction, parse_success}`: its distinct rows are candidates (R8)."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._table = table(path, _check_prediction)
        self.used = 0
        self.rows = 0
        self.nowhere = 0

    def __len__(self) -> int:
        return len(self._table)

    def look(self, row: Row) -> bool:
        """Whether a record has a prediction; those that have are counted as `used`."""
        there = row.id in self._table
        self.used += there
        return there

    def find(self, documents: Sequence[Document]) -> list[list[Found]]:
        """The accepted rows (R9) of each record, for each of its texts; none without a prediction."""
        return [self._find(document) for document in documents]

    def _find(self, document: Document) -> list[Found]:
        row = self._table.get(document.row.id)
        pairs = list(dict.fromkeys(parse_rows(row["prediction"]))) if row else []
        sources = [Source(text) for text in document.texts]
        found = [[pair for pair in pairs if stands_in(source, *pair)] for source in sources]
        self.rows += len(pairs)
        self.nowhere += len(pairs) - len({pair for each in found for pair in each})
        return [Found(each, []) for each in found]


def _check_prediction(row: Row) -> None:
    place = f"prediction {row.number}"
    if not isinstance(row.value.get("id"), str):
        raise row.explained(RuleError("E_PREDICTION_SHAPE", place))
    if not isinstance(row.value.get("prediction"), str):
        raise row.explained(RuleError("E_PREDICTION_TYPE", place))


class Detections:
    """A detector's spans: candidates by their spelling, and places."""

    def __init__(self, detector: Detector) -> None:
        self._detector = detector

    def find(self, documents: Sequence[Document]) -> list[list[Found]]:
        """What is found in each text; labels that are none of the nine types are left out."""
        found = iter(self._detector.detect([text for document in documents for text in document.texts]))
        return [[self._found(text, next(found)) for text in document.texts] for document in documents]

    @staticmethod
    def _found(text: str, detections: Sequence[Any]) -> Found:
        typed = ((each.start, each.end, type_of(each.label)) for each in detections)
        return _found(text, [(start, end, type_) for start, end, type_ in typed if type_ is not None])


class Labels:
    """The records' own `spans` (places) and `entities` (type and value).

    `names` gives own labels another name, or None to leave them; with `any_label`, what is none of the nine types
    stays as it is, and else it is refused.
    """

    def __init__(self, names: Mapping[str, str | None], any_label: bool = False) -> None:
        self._names, self._any_label = dict(names), any_label
        self.count = 0

    def look(self, row: Row) -> None:
        """Check a row's labels, and count them."""
        check_texts(row)
        self.count += len(list(self._spans(row))) + len(list(self._entities(row)))

    def find(self, documents: Sequence[Document]) -> list[list[Found]]:
        """The labels of each text; `InputError` for an entity that stands in none."""
        return [self.of(document) for document in documents]

    def of(self, document: Document) -> list[Found]:
        """The labels of one record."""
        row = document.row
        entities = list(self._entities(row))
        sources = [Source(text) for text in document.texts]
        for number, pair in entities:
            if not any(stands_in(source, *pair) for source in sources):
                raise row.explained(RuleError("E_GOLD_NO_MATCH", f"record {row.number} entity {number}"))
        places: list[list[tuple[int, int, str]]] = [[] for _ in document.texts]
        by_text: dict[int, Places] = {}
        for number, message, start, end, type_ in self._spans(row):
            if message not in by_text:
                by_text[message] = Places(texts(row.value)[message])
            start, end = by_text[message].span(start, end)
            if not normalise_value(document.texts[message][start:end]):
                raise row.refused(f"spans[{number}] holds blanks only; remove it")
            places[message].append((start, end, type_))
        found = [_found(text, own) for text, own in zip(document.texts, places, strict=True)]
        return [Found([*(pair for _, pair in entities), *each.pairs], each.places) for each in found]

    def _entities(self, row: Row) -> Iterator[tuple[int, Pair]]:
        for number, entity in enumerate(_list(row, "entities")):
            field = f"entities[{number}]"
            if not isinstance(entity, dict) or not isinstance(entity.get("value"), str):
                raise row.refused(f"{field} has no text value")
            type_, value = self._type(row, entity.get("type"), field), normalise_value(entity["value"])
            if not value:
                raise row.refused(f"{field} has an empty value")
            if type_ is not None:
                yield number, (type_, value)

    def _spans(self, row: Row) -> Iterator[tuple[int, int, int, int, str]]:
        """(number, text's number, start, end, type)."""
        for number, span in enumerate(_list(row, "spans")):
            field = f"spans[{number}]"
            if not isinstance(span, dict):
                raise row.refused(f"{field} is no object")
            label = span.get("label")
            type_ = self._type(row, span.get("type") if label is None else label, field)
            message = self._message(row, span, field)
            start, end = span.get("start"), span.get("end")
            size = len(texts(row.value)[message])
            if not _whole(start) or not _whole(end) or not 0 <= start < end <= size:
                raise row.refused(f"{field} is no stretch of its text, which has {size} code points")
            if type_ is not None:
                yield number, message, start, end, type_

    @staticmethod
    def _message(row: Row, span: dict[str, Any], field: str) -> int:
        message = span.get("message")
        if row.value.get("messages") is None:
            if message is not None:
                raise row.refused(f"{field} names a message, but the record is a text")
            return 0
        if not _whole(message) or not 0 <= message < len(row.value["messages"]):
            raise row.refused(f"{field} names no message of the record")
        return message

    def _type(self, row: Row, label: object, field: str) -> str | None:
        """What a label stands for, or None for a label that is left."""
        if not isinstance(label, str):
            raise row.refused(f"{field} has no label")
        if label in self._names:
            return self._names[label]
        name = normalise_type(label)
        type_ = name if name in PRIORITY else LABELS.get(name)
        if type_ is not None:
            return type_
        if self._any_label and _PLACEHOLDER.fullmatch(label):
            return label
        raise row.refused(
            f"the label of {field} is none of the nine types; say which with --label LABEL=TYPE, or leave what has it "
            "as it is with --label LABEL=-",
            "unknown-label",
        )


def _list(row: Row, key: str) -> list[Any]:
    value = row.value.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        raise row.refused(f"{key} is no list")
    return value


def _whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _found(text: str, places: Sequence[tuple[int, int, str]]) -> Found:
    pairs = ((type_, normalise_value(text[start:end])) for start, end, type_ in places)
    return Found(list(dict.fromkeys(pair for pair in pairs if pair[1])), list(places))


def known_values_of(given: Iterable[str]) -> KnownValues:
    """The values of vault datasets, `vault:NAME`, and of files that `listed_values` reads, made ready together."""
    return KnownValues(pair for each in given for pair in _values_of(each))


def _values_of(given: str) -> Iterator[Pair]:
    if given.startswith("vault:"):
        from sm_ops.vault import Vault

        pairs = Vault().values(given.removeprefix("vault:"))
    else:
        pairs = listed_values(Path(given))
    count = 0
    for count, (name, value) in enumerate(pairs, start=1):
        if normalise_type(name) not in PRIORITY or not normalise_value(value):
            raise InputError("E_CANDIDATE", f"{given}: value {count - 1} has none of the nine types or is empty.")
        yield name, value
    if not count:
        raise InputError("no-values", f"{given} holds no values; nothing would be masked.")


def listed_values(path: Path) -> Iterator[Pair]:
    """Normalised values of a file with rows TYPE<TAB>VALUE, or JSONL (.jsonl) with `type` and `value`.

    Blank lines and a byte order mark are passed over; `InputError` names the first bad line.
    """
    if not path.is_file():
        raise InputError("no-file", f"There is no file {path}; give vault:NAME or a file with rows TYPE<TAB>VALUE.")
    for number, _, line in lines(path, marked=True):
        if not line.strip():
            continue
        place = f"{path}, line {number}"
        if path.suffix == ".jsonl":
            row = parsed(line, place)
            name, value = row.get("type"), row.get("value")
        else:
            name, _, value = line.rstrip("\r\n").partition("\t")
        pair = "", ""
        if isinstance(name, str) and isinstance(value, str) and not SURROGATE.search(value):
            pair = normalise_type(name), normalise_value(value)
        if pair[0] not in PRIORITY or not pair[1]:
            wanted = 'object with "type" and "value"' if path.suffix == ".jsonl" else "row TYPE<TAB>VALUE"
            raise InputError("bad-value-row", f"{place}: no {wanted}, of one of the nine types and not empty.")
        yield pair
