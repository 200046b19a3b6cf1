"""An evaluation in parts: by hand on a handful of documents, whole equal to the evaluator's own figures."""

from __future__ import annotations

import pytest

from sm_ops.pii import evaluate
from sm_ops.pii.breakdown import breakdown
from sm_ops.pii.evaluation import documents as counted

pytestmark = pytest.mark.unit

DOCUMENTS = [
    {
        "id": "a", "lang": "ko", "source_text": "김가상 / 남궁예시 / 010-0000-0001",
        "entities": [
            {"type": "PERSON", "value": "김가상", "seen_surname": True},
            {"type": "PERSON", "value": "남궁예시", "seen_surname": False},
            {"type": "PHONE", "value": "010-0000-0001"},
        ],
    },
    {
        "id": "b", "lang": "en", "source_text": "Call Taylor at 010-0000-0002, her mother too.",
        "entities": [
            {"type": "PERSON", "value": "Taylor", "seen_surname": True},
            {"type": "PHONE", "value": "010-0000-0002"},
            {"type": "REL", "value": "mother", "seen_rel": True},
        ],
    },
    {"id": "c", "lang": "ko", "source_text": "아무것도 없다 1577-0000", "entities": []},
]  # fmt: skip
PREDICTIONS = [
    {"id": "a", "prediction": "PERSON\t김가상\nPHONE\t010-0000-0001\nEMAIL\tnobody@example.com", "parse_success": True},
    {"id": "b", "prediction": "PERSON\tTaylor\nREL\tmother\nDOB\tCall", "parse_success": True},
    {"id": "c", "prediction": "PHONE\t1577-0000", "parse_success": True},
]


@pytest.fixture(scope="module")
def result():
    return breakdown(DOCUMENTS, list(counted(DOCUMENTS, PREDICTIONS)))


def score(result, slice_="all", types="all"):
    return next(each for each in result["scores"] if (each["slice"], each["types"]) == (slice_, types))


def test_by_hand(result):
    # right: 김가상, its phone, Taylor, mother; wrong: DOB Call, PHONE 1577-0000; missed: 남궁예시, the second phone
    whole = score(result)
    assert (whole["tp"], whole["fp"], whole["fn"]) == (4, 2, 2)
    assert whole["precision"]["value"] == whole["recall"]["value"] == whole["f1"]["value"] == pytest.approx(2 / 3)
    numeric = score(result, types="numeric")
    assert (numeric["tp"], numeric["fp"], numeric["fn"]) == (1, 2, 1)
    assert numeric["f1"]["value"] == pytest.approx(2 / 5)
    assert result["per_document"] == [[1, 0, 0], [0, 1, 1], [0, 1, 0]]
    korean, english = score(result, "ko"), score(result, "en")
    assert (korean["tp"], korean["fp"], korean["fn"]) == (2, 1, 1)
    assert (english["tp"], english["fp"], english["fn"]) == (2, 1, 1)
    assert (result["documents"], result["positives"]) == (3, 2)


def test_rates_by_hand(result):
    rates = {name: value["value"] for name, value in result["rates"]["all"].items()}
    assert rates == pytest.approx({
        "document_leak": 2 / 3, "entity_leak": 2 / 6, "over_redaction": 2 / 6, "hallucination": 1 / 7,
        "parse_success": 1.0, "deterministic": 1.0, "round_trip": 1.0,
    })  # fmt: skip


def test_recall_by_what_training_has_shown(result):
    found = {(each["type"], each["seen"]): (each["k"], each["n"]) for each in result["familiarity"]}
    assert found == {("PERSON", True): (2, 2), ("PERSON", False): (0, 1), ("REL", True): (1, 1)}


def test_the_whole_is_the_evaluators(result):
    reference = evaluate(DOCUMENTS, PREDICTIONS)
    for name in ("precision", "recall", "f1"):
        assert score(result)[name]["value"] == reference["entity"][name]
        for type_, expected in reference["per_type"].items():
            assert score(result, types=type_)[name]["value"] == expected[name]
    assert result["rates"]["all"]["entity_leak"]["value"] == reference["entities"]["leak_rate"]
    assert result["rates"]["all"]["document_leak"]["value"] == reference["documents"]["leak_rate"]
    assert result["rates"]["all"]["hallucination"]["value"] == reference["entities"]["hallucination_rate"]


def test_nothing_to_divide_by_is_zero_without_an_interval():
    result = breakdown([], [])
    assert score(result)["f1"] == {"value": 0.0, "low": None, "high": None}
    assert result["rates"]["all"]["document_leak"] == {"value": 0.0, "low": None, "high": None}


def test_no_value_stands_in_it(result):
    shown = str(result)
    assert not any(entity["value"] in shown for document in DOCUMENTS for entity in document["entities"])
