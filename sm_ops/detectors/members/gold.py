"""Gold: what labelled records say is private, in their own texts and wherever else it stands.

A text that is one of the records gets the spans of that record. Any other text is searched for all their values in
one pass (Aho-Corasick): a value within a longer word or number is no mention, and of overlapping values of one label
the longest counts.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ahocorasick_rs import AhoCorasick

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record
from sm_ops.data.records import read_records
from sm_ops.detectors.detector import Detection, check_texts, in_order, with_threshold
from sm_ops.detectors.overlaps import longest

PLACES = ("records",)
DEFAULTS = {"records": None, "threshold": 0.0}
_NUMBER_BEFORE, _NUMBER_AFTER = re.compile(r"\d[.,:/-]?\Z"), re.compile(r"[.,:/-]?\d")
_GLUED = re.compile("[\uac00-\ud7a3\u3040-\u30ff\u4e00-\u9fff]")
"""Scripts that write particles right behind a name."""


def load(settings: Mapping[str, Any]) -> GoldDetector:
    """The values of `records` (a path or labelled records); reads `threshold` too, though gold is always sure."""
    return GoldDetector(_records(check(settings)["records"]))


def check(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings as `load` takes them."""
    values = with_threshold("gold", settings, DEFAULTS)
    records = values["records"]
    if not isinstance(records, str | Path | None) and not all(isinstance(each, Record) for each in _listed(records)):
        raise InputError("bad-records", "records must be the path of a file of labelled records.")
    return values


def available(settings: Mapping[str, Any]) -> None:
    """`InputError` without `records`, or where the file cannot be read up to its first span, or has none."""
    if not any(record.spans for record in _records(check(settings)["records"])):
        raise InputError("no-spans", "The records of the detector 'gold' have no spans, so it would find nothing.")


def _listed(records: Any) -> Sequence[Any]:
    return records if isinstance(records, list | tuple) else [records]


def _records(records: Any) -> Iterable[Record]:
    if records is None:
        raise InputError("no-records", "The detector 'gold' needs `records`: a file of labelled records.")
    return read_records(records) if isinstance(records, str | Path) else records


class GoldDetector:
    """The spans of known texts, and an automaton of all labelled values; each detection has the score 1."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._known: dict[str, list[Detection]] = {}
        labels: dict[str, set[str]] = defaultdict(set)
        for record in records:
            content = record.content
            spans = [Detection(start, end, label, 1.0) for start, end, label in record.content_spans]
            self._known[content] = in_order([*self._known.get(content, ()), *spans])
            for start, end, label, _ in spans:
                if value := content[start:end].strip():
                    labels[value].add(label)
        values = sorted(labels)
        self._labels = [sorted(labels[value]) for value in values]
        self._automaton = AhoCorasick(values)

    def detect(self, texts: Sequence[str]) -> list[list[Detection]]:
        """The spans of each text; see `Detector.detect`."""
        check_texts(texts)
        return [self._known[text] if text in self._known else self._search(text) for text in texts]

    def _search(self, text: str) -> list[Detection]:
        matches = self._automaton.find_matches_as_indexes(text, overlapping=True)
        return longest(
            Detection(start, end, label, 1.0)
            for value, start, end in matches
            if _stands_free(text, start, end)
            for label in self._labels[value]
        )


def _stands_free(text: str, start: int, end: int) -> bool:
    """Whether neither edge lies within a word or a number."""
    before, after = text[max(0, start - 2) : start], text[end : end + 2]
    if text[start].isdecimal() and _NUMBER_BEFORE.search(before):
        return False
    if text[end - 1].isdecimal() and _NUMBER_AFTER.match(after):
        return False
    if _in_word(before[-1:]) and _in_word(text[start]):
        return False
    return not (_in_word(after[:1]) and _in_word(text[end - 1]) and not _GLUED.match(after))


def _in_word(character: str) -> bool:
    return character.isalnum() or character == "_"
