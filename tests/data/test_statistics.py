"""The table of a data set, by hand."""

from __future__ import annotations

import unicodedata

import pytest

from sm_ops.core.records import Message, Record, Span
from sm_ops.data.statistics import statistics

pytestmark = pytest.mark.unit


def row(name, records, mentions, distinct, duplication, holders):
    return {"class": name, "records": records, "mentions": mentions, "distinct": distinct,
            "duplication": duplication, "records_with_mention": holders}  # fmt: skip


def test_mentions_distinct_strings_and_holders_by_class():
    text = "Ann, Ann, ann in Rome"
    records = [
        Record("a", text=text, spans=(Span(0, 3, "PERSON"), Span(5, 8, "PERSON"), Span(10, 13, "PERSON"),
                                      Span(17, 21, "LOC"))),
        Record("b", text=" Ann ", spans=(Span(0, 5, "PERSON"), Span(0, 1, "PERSON"))),  # outer blanks do not count
        Record("c", text="nothing"),
        Record("d", messages=(Message("user", "x"), Message("assistant", "Ann")), spans=(Span(0, 3, "LOC", 1),)),
    ]  # fmt: skip
    assert statistics(records) == [
        row("all", 4, 6, 4, 1.5, 3),  # Ann as a place is another value
        row("LOC", 4, 2, 2, 1.0, 2),
        row("PERSON", 4, 4, 2, 2.0, 2),
    ]


def test_equal_after_nfc_is_one_string():
    forms = [unicodedata.normalize(form, "Rémy") for form in ("NFC", "NFD")]
    records = [Record(f, text=f, spans=(Span(0, len(f), "PERSON"),)) for f in forms]
    assert statistics(records)[1] == row("PERSON", 2, 2, 1, 2.0, 2)


def test_without_mentions_duplication_is_undefined():
    assert statistics([Record("a", text="x")]) == [row("all", 1, 0, 0, None, 0)]
    assert statistics([]) == [row("all", 0, 0, 0, None, 0)]
