"""How well predictions mask documents: pairs found, values left readable, rows made up (R24 to R31).

What these numbers are not: gold occurrences are inferred by string match, so this is entity F1, not span F1; a
type and a match in the source do not prove personal data; a predicted pair that covers a gold value in another
spelling counts as wrong, though nothing leaks. A rate of nothing is 0.0 here (R29): look at its counts.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sm_ops.pii.errors import RuleError
from sm_ops.pii.matching import Source, searches, stands_in
from sm_ops.pii.replacement import Span, masked, restore
from sm_ops.pii.rows import Pair, accepted, parse_rows
from sm_ops.pii.text import normalise_source, normalise_type, normalise_value
from sm_ops.pii.types import PRIORITY, TYPES


class Record(NamedTuple):
    """A record that was checked: its id, its NFC text, its distinct gold pairs in their order."""

    id: str
    text: str
    gold: list[Pair]


class Prediction(NamedTuple):
    """A prediction that was checked."""

    id: str
    text: str
    flag: bool


@dataclass(frozen=True, slots=True)
class DocumentCounts:
    """All that a record adds to the results; the sets hold normalised (type, value) and are never printed."""

    gold: frozenset[Pair] = field(repr=False)
    predicted: frozenset[Pair] = field(repr=False)
    leaking: frozenset[Pair] = field(repr=False)
    rows: int
    hallucinated: int
    flag: bool
    deterministic: bool
    round_trip: bool

    def pairs(self) -> dict[str, tuple[int, int, int]]:
        """(TP, FP, FN) by type, for the types that occur in the document (R26)."""
        tp, fp, fn = (Counter(type_ for type_, _ in pairs) for pairs in self._compared())
        return {type_: (tp[type_], fp[type_], fn[type_]) for type_ in TYPES if tp[type_] + fp[type_] + fn[type_]}

    def _compared(self) -> tuple[frozenset[Pair], frozenset[Pair], frozenset[Pair]]:
        return self.gold & self.predicted, self.predicted - self.gold, self.gold - self.predicted


def evaluate(records: Iterable[Mapping[str, Any]], predictions: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Counts and rates over all records, as `summary` gives them; raises `RuleError` for the first fault (R31)."""
    return summary(documents(records, predictions))


def documents(
    records: Iterable[Mapping[str, Any]], predictions: Iterable[Mapping[str, Any]]
) -> Iterator[DocumentCounts]:
    """The counts of each record, in the order of the records; all inputs are checked before the first (R31)."""
    known = checked_records(records)
    given = {each.id: each for each in checked_predictions(predictions, {record.id for record in known})}
    return (counted(record, given.get(record.id)) for record in known)


def document_counts(record: Mapping[str, Any], prediction: Mapping[str, Any] | None) -> DocumentCounts:
    """The counts of one record with its prediction, or with none."""
    return next(documents([record], [] if prediction is None else [prediction]))


def checked_records(records: Iterable[Mapping[str, Any]]) -> list[Record]:
    """Records in their order; raises `RuleError` with the index of the first that breaks R24 or R30."""
    checked: dict[str, Record] = {}
    for index, record in enumerate(records):
        place = f"record {index}"
        if not _has_id(record) or not isinstance(record.get("entities"), list | tuple):
            raise RuleError("E_RECORD_SHAPE", place)
        if record["id"] in checked:
            raise RuleError("E_RECORD_ID_DUPLICATE", place)
        source = Source(normalise_source(record.get("source_text"), place))
        gold = [_gold(entity, source, f"{place} entity {number}") for number, entity in enumerate(record["entities"])]
        checked[record["id"]] = Record(record["id"], source.text, list(dict.fromkeys(gold)))
    return list(checked.values())


def checked_predictions(predictions: Iterable[Mapping[str, Any]], ids: set[str]) -> list[Prediction]:
    """Predictions in their order; raises `RuleError` with the index of the first that breaks R24 or R30."""
    checked: dict[str, Prediction] = {}
    for index, prediction in enumerate(predictions):
        place = f"prediction {index}"
        if not _has_id(prediction):
            raise RuleError("E_PREDICTION_SHAPE", place)
        if prediction["id"] in checked:
            raise RuleError("E_PREDICTION_ID_DUPLICATE", place)
        if prediction["id"] not in ids:
            raise RuleError("E_PREDICTION_UNKNOWN", place)
        if not isinstance(prediction.get("parse_success"), bool):
            raise RuleError("E_PARSE_FLAG", place)
        if not isinstance(prediction.get("prediction"), str):
            raise RuleError("E_PREDICTION_TYPE", place)
        checked[prediction["id"]] = Prediction(prediction["id"], prediction["prediction"], prediction["parse_success"])
    return list(checked.values())


def _has_id(each: object) -> bool:
    return isinstance(each, Mapping) and isinstance(each.get("id"), str)


def _gold(entity: object, source: Source, place: str) -> Pair:
    given = entity if isinstance(entity, Mapping) else {}
    name, value = given.get("type"), given.get("value")
    if not isinstance(name, str) or (type_ := normalise_type(name)) not in PRIORITY:
        raise RuleError("E_GOLD_TYPE", place)
    if not isinstance(value, str) or not (value := normalise_value(value)):
        raise RuleError("E_GOLD_VALUE", place)
    if not stands_in(source, type_, value):
        raise RuleError("E_GOLD_NO_MATCH", place)
    return type_, value


def counted(record: Record, prediction: Prediction | None) -> DocumentCounts:
    """What a record adds to the results; without a prediction it has no rows and no flag (R24)."""
    source, flag = Source(record.text), prediction is not None and prediction.flag
    rows = parse_rows(prediction.text) if prediction else []
    found = accepted(source, rows)
    standing = set(found)
    predicted = found if flag else []
    result = masked(source, predicted)
    covered = Covered(result.spans)
    return DocumentCounts(
        gold=frozenset(record.gold),
        predicted=frozenset(predicted),
        leaking=frozenset(pair for pair in record.gold if covered.leaves_out(source, pair)),
        rows=len(rows),
        hallucinated=sum(row not in standing for row in rows),
        flag=flag,
        deterministic=masked(source, reversed(predicted)) == result,
        round_trip=restore(result.text, result.mapping) == source.text,
    )


class Covered:
    """The masked stretches of a text, touching ones merged (R27)."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        for start, end, _ in spans:
            if self._ends and self._ends[-1] == start:
                self._ends[-1] = end
            else:
                self._starts.append(start)
                self._ends.append(end)

    def leaves_out(self, source: Source, pair: Pair) -> bool:
        """Whether some occurrence of a pair is not wholly inside one stretch: it leaks."""
        for search in searches(source, *pair):
            at = 0
            while found := search.first(at):
                start, end = found
                covered_to = self._end_of_stretch_at(start)
                if end > covered_to:
                    return True
                at = max(start + 1, covered_to - search.longest + 1)  # those between end inside the stretch as well
        return False

    def _end_of_stretch_at(self, place: int) -> int:
        index = bisect_right(self._starts, place) - 1
        return self._ends[index] if index >= 0 else 0


def summary(counts: Iterable[DocumentCounts]) -> dict[str, Any]:
    """Counts and rates of some documents (R26 to R29); reads them once and keeps sums only."""
    totals: Counter[str] = Counter()
    by_type = {type_: [0, 0, 0] for type_ in TYPES}
    for document in counts:
        totals.update(
            documents=1,
            leaked_documents=bool(document.leaking),
            gold=len(document.gold),
            leaking=len(document.leaking),
            predicted=len(document.predicted),
            rows=document.rows,
            hallucinated=document.hallucinated,
            flag=document.flag,
            deterministic=document.deterministic,
            round_trip=document.round_trip,
        )
        for type_, numbers in document.pairs().items():
            by_type[type_] = [a + b for a, b in zip(by_type[type_], numbers, strict=True)]
    tp, fp, fn = (sum(column) for column in zip(*by_type.values(), strict=True))
    n = totals["documents"]
    return {
        "entity": _scores(tp, fp, fn),
        "per_type": {type_: _scores(*numbers) for type_, numbers in by_type.items()},
        "documents": {
            "total": n,
            "leaked": totals["leaked_documents"],
            "leak_rate": _rate(totals["leaked_documents"], n),
        },
        "entities": {
            "gold": totals["gold"],
            "leaked": totals["leaking"],
            "leak_rate": _rate(totals["leaking"], totals["gold"]),
            "predicted": totals["predicted"],
            "over_redaction_rate": _rate(fp, totals["predicted"]),
            "rows": totals["rows"],
            "hallucinated": totals["hallucinated"],
            "hallucination_rate": _rate(totals["hallucinated"], totals["rows"]),
        },
        "parse": {"success": totals["flag"], "success_rate": _rate(totals["flag"], n)},
        "tokenization": {
            "deterministic": totals["deterministic"],
            "deterministic_rate": _rate(totals["deterministic"], n),
            "round_trip": totals["round_trip"],
            "round_trip_rate": _rate(totals["round_trip"], n),
        },
    }


def _scores(tp: int, fp: int, fn: int) -> dict[str, float]:
    return {
        "precision": _rate(tp, tp + fp),
        "recall": _rate(tp, tp + fn),
        "f1": _rate(2 * tp, 2 * tp + fp + fn),
        "tp": tp,
        "fp": fp,
        "fn": fn,
    }


def _rate(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
