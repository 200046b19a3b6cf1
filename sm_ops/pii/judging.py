"""The evaluator over files: records and predictions are read as streams, and joined by id with a few bytes a row.

The first fault is the one that the rules would report (R31), with its place in the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from sm_ops.core.errors import InputError
from sm_ops.pii.corpus import Progress, document
from sm_ops.pii.errors import RuleError
from sm_ops.pii.evaluation import DocumentCounts, Prediction, Record, checked_predictions, checked_records, counted
from sm_ops.pii.files import Json, Row, rows
from sm_ops.pii.finders import Labels
from sm_ops.pii.lookup import Index, Table, row_of


class Judging:
    """Records and predictions that were checked: all records, then all predictions (R31)."""

    def __init__(self, records: Path, predictions: Path, names: Mapping[str, str | None]) -> None:
        """`InputError` for the first fault; `names` is as for `Labels`."""
        self._records, self._labels, self._gold = records, Labels(names), 0
        shapes = "E_RECORD_SHAPE", "E_RECORD_ID_DUPLICATE"
        known = _checked(records, "record", shapes, self._look)
        if not len(known):
            raise InputError("no-records", f"{records} holds no records; at least one is needed.")
        if not self._gold:
            hint = f"{records} has no labels, so there is nothing that could be found or missed; label some records."
            raise InputError("no-labels", hint)
        self.total = len(known)

        def check(row: Row) -> None:
            identity = row.value.get("id")
            ids = {identity} if isinstance(identity, str) and known.find(identity) is not None else set()
            checked_predictions([row.value], ids)

        shapes = "E_PREDICTION_SHAPE", "E_PREDICTION_ID_DUPLICATE"
        self._predictions = Table(predictions, _checked(predictions, "prediction", shapes, check))

    def counts(self, progress: Progress) -> Iterator[DocumentCounts]:
        """The counts of each record, in order."""
        for row in rows(self._records):
            given = self._predictions.get(row.id)
            prediction = Prediction(row.id, given["prediction"], given["parse_success"]) if given else None
            yield counted(self._record(row), prediction)
            progress(row.number + 1)

    def _look(self, row: Row) -> None:
        self._gold += len(self._record(row).gold)

    def _record(self, row: Row) -> Record:
        (record,) = checked_records([self._document(row)])
        return record

    def _document(self, row: Row) -> Json:
        """The row as the evaluator wants it (R24): own records, with `text`, have entities by their labels."""
        value = row.value
        if value.get("source_text") is not None or value.get("text") is None:
            return value
        (found,) = self._labels.of(document(row))
        return {
            "id": row.id,
            "source_text": value["text"],
            "entities": [{"type": type_, "value": value} for type_, value in found.pairs],
        }


def _checked(path: Path, noun: str, codes: tuple[str, str], check: Callable[[Row], object]) -> Index:
    """The ids of a file whose rows are sound; `check` sees each row alone, as number 0."""
    shape, duplicate = codes
    index = Index()
    for row in rows(path):
        try:
            check(row)
        except RuleError as error:
            if error.code != shape:
                index.add(row.id, row.at)
            _refuse_repeated(path, index, noun, duplicate)
            place = error.place.replace(f"{noun} 0", f"{noun} {row.number}", 1)
            raise row.explained(RuleError(error.code, place)) from None
        index.add(row.id, row.at)
    _refuse_repeated(path, index, noun, duplicate)
    return index


def _refuse_repeated(path: Path, index: Index, noun: str, code: str) -> None:
    if (number := index.repeated()) is not None:
        raise row_of(path, number).explained(RuleError(code, f"{noun} {number}"))
