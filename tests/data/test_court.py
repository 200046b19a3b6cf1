"""Generated judgments: the same for the same settings, whole, labelled where they should be, and casts apart."""

from __future__ import annotations

import re
from collections import defaultdict

import pytest

from sm_ops.core.errors import InputError
from sm_ops.data.corpora import _court_sentences as sentences
from sm_ops.data.corpora import court
from sm_ops.data.corpora._court_cast import CASTS
from sm_ops.data.statistics import statistics

pytestmark = pytest.mark.unit

CLASSES = {"PERSON", "CODE", "LOC", "ORG", "DATETIME", "QUANTITY", "DEM"}
PARTS = ("OPENING", "COUNSEL", "GOVERNMENT", "COURSE", "PERSON", "FACTS", "RULINGS", "CLAIMS")


def make(**settings):
    return list(court.read(None, settings))


@pytest.fixture(scope="module")
def casts():
    return {name: make(documents=150, cast=name) for name in CASTS}


def values(records):
    return {record.text[s.start : s.end] for record in records for s in record.spans}


def test_equal_settings_give_equal_documents_and_more_documents_leave_the_first():
    assert make(documents=3) == make(documents=3) == make(documents=9)[:3]
    assert make(documents=3, seed=1) != make(documents=3)
    assert [r.group for r in make(documents=2)] == [r.id for r in make(documents=2)]


def test_documents_are_of_one_size_and_without_leftover_slots(casts):
    for records in casts.values():
        for record in records:
            assert 600 <= len(record.text) <= 3000
            assert not re.search(r"[{}]|  |None", record.text)
            assert record.text.startswith("PROCEDURE\n1. ")


def test_spans_are_ascending_disjoint_whole_words_of_the_seven_classes(casts):
    for record in casts["members"]:
        end = 0
        for span in record.spans:
            assert end <= span.start < span.end
            end = span.end
            assert not record.text[span.start - 1].isalnum()
            assert not record.text[span.end].isalnum()
            assert record.text[span.start : span.end].strip(" .,“”()") == record.text[span.start : span.end]
    assert {s.label for r in casts["members"] for s in r.spans} == CLASSES


def test_what_is_labelled_looks_like_its_class(casts):
    shapes = {
        "CODE": r"\d{5}/\d\d|[IVKUCNTcsb0-9 ]+ \d{2,3}/\d\d",
        "DATETIME": r"(\d{1,2} )?([A-Z][a-z]+ )?\d{4}|[a-z]+ (days|weeks|months|years|hours)",
        "QUANTITY": r"EUR [\d,]+|[\d,]+ euros|\d\d? per cent",
        "PERSON": r"[A-Z][a-z]+( [A-Z][a-z]+)?",
        "LOC": r"[A-Z][a-z]+",
        "ORG": r"University of [A-Z][a-z]+|[A-Z][a-z]+( [A-Z][a-z']+| of)+",
        "DEM": r"[A-Z][a-z]+|[a-z ]+",
    }
    for record in casts["public"]:
        for s in record.spans:
            assert re.fullmatch(shapes[s.label], record.text[s.start : s.end]), (s.label, record.id)


def test_every_capitalised_invented_word_is_labelled_wherever_it_stands(casts):
    """No name is left unlabelled: words of labelled names occur nowhere outside spans."""
    for record in casts["reference"]:
        names = {
            word
            for s in record.spans
            if s.label in ("PERSON", "LOC")
            for word in record.text[s.start : s.end].split()
        }
        outside = list(record.text)
        for s in record.spans:
            outside[s.start : s.end] = " " * (s.end - s.start)
        assert not names & set(re.findall(r"\w+", "".join(outside)))


def test_casts_share_sentences_and_no_value(casts):
    found = {name: values(records) for name, records in casts.items()}
    assert not found["members"] & found["public"]
    assert not found["members"] & found["reference"]
    assert not found["public"] & found["reference"]
    assert min(map(len, found.values())) > 1000
    assert not values(make(documents=20, seed=7)) & found["public"]  # whatever the seed
    stripped = {name: {_without_values(r) for r in records} for name, records in casts.items()}
    common = {line for text in stripped["members"] for line in text} & {
        line for text in stripped["public"] for line in text
    }
    assert len(common) > 60


def _without_values(record):
    text = list(record.text)
    for s in reversed(record.spans):
        text[s.start : s.end] = ["_"]
    return tuple(re.split(r"(?<=\.)\s", "".join(text)))


def test_names_recur_within_documents_and_some_across(casts):
    all_classes, *rows = statistics(casts["members"])
    assert 1.4 < all_classes["duplication"] < 3
    assert next(row for row in rows if row["class"] == "PERSON")["duplication"] > 1.8
    holders = defaultdict(set)
    for record in casts["members"]:
        for s in record.spans:
            if s.label == "PERSON":
                holders[record.text[s.start : s.end]].add(record.id)
    shared = sum(len(ids) > 1 for ids in holders.values())
    assert 0.05 < shared / len(holders) < 0.6
    applicants = [re.search(r"(\w+) \(“the applicant”\)", r.text)[1] for r in casts["members"]]
    again = [r.text.count(name) > 1 for r, name in zip(casts["members"], applicants, strict=True)]
    assert sum(again) > 0.9 * len(again)


def test_every_sentence_is_used_and_filled(casts):
    texts = "\n".join(record.text for records in casts.values() for record in records)
    for part in PARTS:
        for sentence in getattr(sentences, part):
            shape = re.sub(r"\\{.*?\\}", r"[\\w ,./'-]+", re.escape(sentence))
            assert re.search(rf"(?m)[. ]{shape}($| )", texts), sentence


@pytest.mark.parametrize(
    ("path", "settings", "said"),
    [("x.json", {}, "reads no path"), (None, {"cast": "both"}, "no cast 'both'; known are members, public, reference")],
)
def test_what_it_cannot_do_is_refused(path, settings, said):
    with pytest.raises(InputError, match=said):
        court.read(path, settings)
