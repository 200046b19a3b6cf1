"""The evaluator: pairs, leaks by coverage, rates, checks and their order (R24 to R31). Numbers counted by hand."""

from __future__ import annotations

import time

import pytest

from sm_ops.pii import TYPES, InputError, evaluate
from sm_ops.pii.evaluation import document_counts, documents, summary

pytestmark = pytest.mark.unit


def record(source, *gold, id="a"):
    return {"id": id, "source_text": source, "entities": [{"type": type_, "value": value} for type_, value in gold]}


def prediction(*rows, flag=True, id="a"):
    return {"id": id, "prediction": "\n".join(f"{type_}\t{value}" for type_, value in rows), "parse_success": flag}


def leaking(source, gold, rows):
    return document_counts(record(source, *gold), prediction(*rows)).leaking


def test_one_run_with_every_number():
    """Four documents: found and made up; wrong type; unusable; negative without prediction."""
    records = [
        record("솔가람 이모 012-345", ("PERSON", "솔가람"), ("REL", "이모"), ("PHONE", "012-345"), id="a"),
        record("솔가람", ("PERSON", "솔가람"), id="b"),
        record("한가을 a@b.example", ("PERSON", "한가을"), ("EMAIL", "a@b.example"), id="c"),
        record("nothing", id="d"),
    ]
    predictions = [
        prediction(("PERSON", "한가을"), ("PERSON", "한가을"), ("PERSON", "한 가 을"), flag=False, id="c"),
        prediction(("REL", "솔가람"), id="b"),
        prediction(
            ("PERSON", "솔가람"), ("PHONE", "012345"), ("PERSON", "솔"), ("REL", "고모"), ("PERSON", "솔가람"), id="a"
        ),
    ]
    got = evaluate(records, predictions)
    # a: TP PERSON; FP PHONE 012345, PERSON 솔; FN REL 이모, PHONE 012-345 (covered); leaking 이모
    # b: FP REL; FN PERSON (covered).  c: FN PERSON, EMAIL, both leaking
    assert got["entity"] == {"tp": 1, "fp": 3, "fn": 5, "precision": 1 / 4, "recall": 1 / 6, "f1": 2 / 10}
    zero = {"tp": 0, "fp": 0, "fn": 0, "precision": 0.0, "recall": 0.0, "f1": 0.0}
    assert got["per_type"] == dict.fromkeys(TYPES, zero) | {
        "PERSON": {"tp": 1, "fp": 1, "fn": 2, "precision": 1 / 2, "recall": 1 / 3, "f1": 2 / 5},
        "REL": zero | {"fp": 1, "fn": 1},
        "PHONE": zero | {"fp": 1, "fn": 1},
        "EMAIL": zero | {"fn": 1},
    }
    assert got["documents"] == {"total": 4, "leaked": 2, "leak_rate": 0.5}
    assert got["entities"] == {
        "gold": 6, "leaked": 3, "leak_rate": 3 / 6, "predicted": 4, "over_redaction_rate": 3 / 4,
        "rows": 9, "hallucinated": 1, "hallucination_rate": 1 / 9,
    }  # fmt: skip
    assert got["parse"] == {"success": 2, "success_rate": 0.5}
    assert got["tokenization"] == {
        "deterministic": 4, "deterministic_rate": 1.0, "round_trip": 4, "round_trip_rate": 1.0,
    }  # fmt: skip


def test_nothing_gives_zeros():
    got = evaluate([], [])
    rates = [got["entity"][key] for key in ("precision", "recall", "f1")]
    rates += [got["documents"]["leak_rate"], got["parse"]["success_rate"]]
    rates += [got["entities"][key] for key in ("leak_rate", "over_redaction_rate", "hallucination_rate")]
    rates += [got["tokenization"][key] for key in ("deterministic_rate", "round_trip_rate")]
    assert rates == [0.0] * 10
    assert all(isinstance(rate, float) for rate in rates)
    assert set(got["per_type"]) == set(TYPES)


def test_gold_and_predicted_pairs_are_distinct_and_normalised():
    counts = document_counts(
        record("한 이모 한", ("person", "\u1112\u1161\u11ab"), ("PERSON", " 한\u200b"), ("rel", "이모")),
        prediction(("Person", "\u3000한"), ("PERSON", "한"), ("REL", "한")),
    )
    assert counts.gold == {("PERSON", "한"), ("REL", "이모")}
    assert counts.predicted == {("PERSON", "한"), ("REL", "한")}
    assert counts.leaking == {("REL", "이모")}
    assert counts.rows == 3
    assert counts.hallucinated == 0
    assert counts.pairs() == {"PERSON": (1, 0, 0), "REL": (0, 1, 1)}


def test_rows_count_with_duplicates_and_whatever_the_flag_says():
    rows = [("REL", "고모"), ("REL", "고모"), ("REL", "이모"), ("NAME", "x"), ("REL", "")]
    for flag in (True, False):
        counts = document_counts(record("이모"), prediction(*rows, flag=flag))
        assert (counts.rows, counts.hallucinated, counts.flag) == (3, 2, flag)
        assert counts.predicted == ({("REL", "이모")} if flag else set())


def test_a_record_without_prediction_has_no_rows_and_no_flag():
    counts = document_counts(record("이모", ("REL", "이모")), None)
    assert (counts.rows, counts.hallucinated, counts.flag) == (0, 0, False)
    assert counts.leaking == {("REL", "이모")}
    assert counts.deterministic
    assert counts.round_trip


@pytest.mark.parametrize(
    ("source", "gold", "rows", "leaks"),
    [
        ("Ann Lee", ("PERSON", "Ann Lee"), [("PERSON", "Ann Lee")], False),
        ("Ann Lee", ("PERSON", "Ann Lee"), [("PERSON", "Ann")], True),
        ("Ann Lee", ("PERSON", "Ann Lee"), [("PERSON", "Lee")], True),
        ("Ann Lee", ("PERSON", "Ann Lee"), [("PERSON", "Ann"), ("PERSON", "Lee")], True),  # the blank is left
        ("AnnLee", ("REL", "AnnLee"), [("PERSON", "Ann"), ("PERSON", "Lee")], False),  # touching pieces
        ("AnnLee!", ("REL", "AnnLee"), [("PERSON", "Ann"), ("PERSON", "Lee!")], False),
        ("xAnnLee", ("REL", "AnnLee"), [("PERSON", "xAnn"), ("PERSON", "Lee")], False),
        ("AnnLee", ("PERSON", "Lee"), [("EMAIL", "AnnLee")], False),  # inside a longer one of another type
        ("Lee AnnLee", ("PERSON", "Lee"), [("EMAIL", "AnnLee")], True),  # one place of two
        ("AnnLee Lee", ("PERSON", "Lee"), [("EMAIL", "AnnLee")], True),
        ("AnnLee Ann", ("PERSON", "Ann"), [("EMAIL", "AnnLee")], True),
        ("솔가 솔 가", ("PERSON", "솔가"), [("PERSON", "솔가")], False),
        ("솔가 솔 가", ("PERSON", "솔가"), [("REL", "솔가")], True),  # its own type finds the spaced place
        ("솔가 솔 가", ("REL", "솔가"), [("REL", "솔가")], False),
        ("012345 012-345", ("PHONE", "012345"), [("PHONE", "012-345")], False),
        ("012345 012-345", ("PHONE", "012345"), [("ADDRESS", "012345")], True),
        ("012 345", ("PHONE", "012-345"), [("PHONE", "012345")], False),  # gold in another spelling than the text's
        ("솔 가", ("PERSON", "솔가"), [("PERSON", "솔")], True),
        ("012345 9012345", ("PHONE", "012345"), [("PHONE", "012345")], False),  # no place inside a longer number
        ("(02) 345-678", ("PHONE", "(02) 345-678"), [("PHONE", "02345678")], True),  # the bracket is left
        ("(02) 345-678", ("PHONE", "02) 345-678"), [("PHONE", "(02) 345-678")], False),
        ("ab cd ef", ("REL", "cd ef"), [("REL", "cd ef"), ("PERSON", "ab cd")], True),  # cut by one from the left
        ("ababa", ("REL", "aba"), [("REL", "aba")], True),  # the second place overlaps the first
        ("ababab", ("REL", "ab"), [("REL", "ab")], False),
        ("aaaa", ("REL", "aa"), [("REL", "aa")], False),  # three places, all inside two touching spans
        ("REL", ("REL", "REL"), [("REL", "REL")], False),  # the token's own letters are no leak
        ("PERSON 1", ("ACCOUNT", "1"), [("PERSON", "PERSON"), ("ACCOUNT", "1")], False),
        ("ab", ("REL", "ab"), [], True),
    ],
)  # fmt: skip
def test_a_value_leaks_if_one_place_is_not_inside_one_masked_stretch(source, gold, rows, leaks):
    assert leaking(source, [gold], rows) == ({gold} if leaks else set())


def test_leaks_are_judged_with_what_the_flag_lets_through():
    counts = document_counts(record("이모", ("REL", "이모")), prediction(("REL", "이모"), flag=False))
    assert counts.leaking == {("REL", "이모")}
    assert not counts.flag


def test_counts_come_in_the_order_of_the_records_and_sum_up_by_group():
    records = [record("이모", ("REL", "이모"), id="a"), record("고모", ("REL", "고모"), id="b")]
    given = [prediction(("REL", "고모"), id="b"), prediction(id="a")]
    first, second = documents(records, given)
    assert [len(each.leaking) for each in (first, second)] == [1, 0]
    assert summary([first])["documents"] == {"total": 1, "leaked": 1, "leak_rate": 1.0}
    assert summary([second])["entity"]["f1"] == 1.0
    assert summary(each for each in (first, second)) == evaluate(records, given)


def test_ids_are_compared_exactly():
    records = [record("이모", ("REL", "이모"), id=each) for each in ("a", "A", " a", "é", "e\u0301", "")]
    assert evaluate(records, [prediction(("REL", "이모"), id="A")])["documents"]["leaked"] == 5


def test_what_is_printed_shows_no_value():
    assert "이모" not in repr(document_counts(record("이모", ("REL", "이모")), prediction(("REL", "이모"))))


RECORD, PREDICTION = record("이모", ("REL", "이모")), prediction()
WRONG = object()


def changed(given, **fields):
    return {key: value for key, value in (given | fields).items() if value is not WRONG}


def entity(**fields):
    return changed({"type": "REL", "value": "이모"}, **fields)


@pytest.mark.parametrize(
    ("records", "predictions", "told"),
    [
        ([RECORD, None], [], "E_RECORD_SHAPE at record 1"),
        ([["a"]], [], "E_RECORD_SHAPE at record 0"),
        ([changed(RECORD, id=WRONG)], [], "E_RECORD_SHAPE at record 0"),
        ([changed(RECORD, id=3)], [], "E_RECORD_SHAPE at record 0"),
        ([changed(RECORD, id=None, entities=WRONG)], [], "E_RECORD_SHAPE at record 0"),
        ([changed(RECORD, entities=WRONG)], [], "E_RECORD_SHAPE at record 0"),
        ([changed(RECORD, entities=None)], [], "E_RECORD_SHAPE at record 0"),
        ([changed(RECORD, entities={})], [], "E_RECORD_SHAPE at record 0"),
        ([changed(RECORD, entities="이모")], [], "E_RECORD_SHAPE at record 0"),
        ([RECORD, RECORD], [], "E_RECORD_ID_DUPLICATE at record 1"),
        ([RECORD, changed(RECORD, source_text=3)], [], "E_RECORD_ID_DUPLICATE at record 1"),
        ([changed(RECORD, source_text=WRONG)], [], "E_SOURCE_TYPE at record 0"),
        ([changed(RECORD, source_text=None, entities=[3])], [], "E_SOURCE_TYPE at record 0"),
        ([changed(RECORD, source_text="이모\udc80")], [], "E_SOURCE_SURROGATE at record 0"),
        ([changed(RECORD, entities=[entity(), None])], [], "E_GOLD_TYPE at record 0 entity 1"),
        ([changed(RECORD, entities=[entity(type="NAME", value="")])], [], "E_GOLD_TYPE at record 0 entity 0"),
        ([changed(RECORD, entities=[entity(type=WRONG)])], [], "E_GOLD_TYPE at record 0 entity 0"),
        ([changed(RECORD, entities=[entity(type=3)])], [], "E_GOLD_TYPE at record 0 entity 0"),
        ([changed(RECORD, entities=[entity(), entity(value=WRONG)])], [], "E_GOLD_VALUE at record 0 entity 1"),
        ([changed(RECORD, entities=[entity(value="\u3000\ufeff")])], [], "E_GOLD_VALUE at record 0 entity 0"),
        ([changed(RECORD, entities=[entity(value=3)])], [], "E_GOLD_VALUE at record 0 entity 0"),
        ([changed(RECORD, entities=[entity(value="고모")])], [], "E_GOLD_NO_MATCH at record 0 entity 0"),
        ([changed(RECORD, entities=[entity(value="이 모")])], [], "E_GOLD_NO_MATCH at record 0 entity 0"),
        ([changed(RECORD, entities=[entity(value="고모"), entity(type="NAME")])], [],
        "E_GOLD_NO_MATCH at record 0 entity 0"),
        ([RECORD], [None], "E_PREDICTION_SHAPE at prediction 0"),
        ([RECORD], [PREDICTION, changed(PREDICTION, id=WRONG)], "E_PREDICTION_SHAPE at prediction 1"),
        ([RECORD], [changed(PREDICTION, id=3, parse_success=3)], "E_PREDICTION_SHAPE at prediction 0"),
        ([RECORD], [PREDICTION, changed(PREDICTION, parse_success=3)], "E_PREDICTION_ID_DUPLICATE at prediction 1"),
        ([RECORD], [changed(PREDICTION, id="A", parse_success=3)], "E_PREDICTION_UNKNOWN at prediction 0"),
        ([], [PREDICTION], "E_PREDICTION_UNKNOWN at prediction 0"),
        ([RECORD], [changed(PREDICTION, parse_success=WRONG, prediction=3)], "E_PARSE_FLAG at prediction 0"),
        ([RECORD], [changed(PREDICTION, parse_success=None)], "E_PARSE_FLAG at prediction 0"),
        ([RECORD], [changed(PREDICTION, parse_success=1)], "E_PARSE_FLAG at prediction 0"),
        ([RECORD], [changed(PREDICTION, parse_success="true")], "E_PARSE_FLAG at prediction 0"),
        ([RECORD], [changed(PREDICTION, prediction=WRONG)], "E_PREDICTION_TYPE at prediction 0"),
        ([RECORD], [changed(PREDICTION, prediction=["REL\t이모"])], "E_PREDICTION_TYPE at prediction 0"),
        ([RECORD, None], [None], "E_RECORD_SHAPE at record 1"),  # all records come first
        ([RECORD], [PREDICTION, None, changed(PREDICTION, id="A")], "E_PREDICTION_SHAPE at prediction 1"),
    ],
)  # fmt: skip
def test_the_first_fault_is_told_by_code_and_place(records, predictions, told):
    with pytest.raises(InputError) as caught:
        evaluate(records, predictions)
    assert str(caught.value) == told
    assert caught.value.__cause__ is None


def test_all_is_checked_before_the_first_counts():
    with pytest.raises(InputError, match="E_RECORD_SHAPE at record 1"):
        documents([RECORD, None], [])
    with pytest.raises(InputError, match="E_PARSE_FLAG at prediction 0"):
        documents([RECORD], [{"id": "a"}])


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("1 " * 10_000, [("ACCOUNT", "1" * k) for k in range(6, 206)]),
        ("솔" * 20_000, [("PERSON", "솔" * k) for k in range(1, 7)]),
        ("a" * 20_000, [("EMAIL", "a" * k) for k in range(1, 201)]),
        ("a1" * 10_000, [("EMAIL", "1a" * k + "1") for k in range(1, 101)]),
    ],
)
def test_coverage_of_hostile_texts_takes_milliseconds(text, pairs):
    began = time.process_time()
    document_counts(record(text, *pairs), prediction(*pairs))
    assert time.process_time() - began < 1.0
