"""DePA by hand, and as a filter that streams its records through a reference whose scores are known."""

from __future__ import annotations

from itertools import count, islice
from math import exp
from types import SimpleNamespace

import numpy as np
import pytest

from sm_ops.core.records import Record
from sm_ops.sanitizing.depa import deviations, variants
from sm_ops.sanitizing.scorers import depa

pytestmark = pytest.mark.unit


class Odd:
    """A reference to which every character is worth one nat, and a `!` five."""

    def __init__(self) -> None:
        self.calls = 0

    def score(self, records):
        self.calls += 1
        texts = [np.frombuffer(record.content.encode("ascii"), np.uint8) for record in records]
        return [SimpleNamespace(logprobs=np.where(text == ord("!"), -5.0, -1.0)) for text in texts]


def test_each_variant_lacks_one_line_and_its_end():
    record = Record("r", text="a\n\n b\nc")
    assert [variant.text for variant in variants(record)] == ["\n b\nc", "a\n\nc", "a\n\n b\n"]
    assert {variant.id for variant in variants(record)} == {"r"}
    assert variants(Record("r", text="alone\n")) == variants(Record("r", text=" \n")) == []


def test_context_is_neither_left_out_nor_compared():
    record = Record("r", text="# do!\na\nb\n", meta={"code_from": 6})
    assert [variant.text for variant in variants(record)] == ["# do!\nb\n", "# do!\na\n"]
    (row,) = depa.rows([record], Odd(), None)
    assert row.starts.tolist() == [6, 8]
    foreign = Record("r", text="a\nb\n", meta={"code_from": "elsewhere"})
    assert len(variants(foreign)) == 2


def test_a_line_deviates_by_the_mean_over_the_variants_that_hold_it():
    """Without the last line perplexity falls from 4 to 1; the lines' means are 13/4 four times and 16/4."""
    assert deviations(np.array([4.0, 4, 4, 4, 1])) == pytest.approx([-0.5, -0.5, -0.5, -0.5, 2.0])
    assert deviations(np.array([3.0, 3, 3])).tolist() == [0, 0, 0]
    assert deviations(np.array([3.0, np.nan])).tolist() == [-np.inf, -np.inf]


def test_both_readings_of_the_description_agree():
    perplexities = np.random.default_rng(0).lognormal(size=9)
    without = -(perplexities - perplexities.mean()) / perplexities.std()
    assert deviations(perplexities) == pytest.approx(without)


@pytest.mark.parametrize("lines", [2, 3, 4, 10])
def test_no_line_can_stand_out_more_than_its_snippet_has_room_for(lines):
    perplexities = np.full(lines, 9.0)
    perplexities[0] = 2.0
    assert deviations(perplexities)[0] == pytest.approx((lines - 1) ** 0.5)
    assert (deviations(perplexities)[0] > depa.AT) == (lines > 3)


def test_the_line_that_surprises_stands_out():
    text = "ab\ncd\n!!\nef\n\ngh\n"
    (row,) = depa.rows([Record("r", text=text)], Odd(), None)
    assert [text[start:end] for start, end in zip(row.starts, row.ends, strict=True)] == ["ab", "cd", "!!", "ef", "gh"]
    normal, odd = exp((11 + 10) / 13), exp(1)  # 13 characters stay, two of them odd or none
    own = (np.array([normal] * 2 + [odd] + [normal] * 2).sum() - np.array([normal, odd])) / 4
    mean = (4 * own[0] + own[1]) / 5
    spread = ((4 * (own[0] - mean) ** 2 + (own[1] - mean) ** 2) / 5) ** 0.5
    expected = [(own[0] - mean) / spread] * 2 + [(own[1] - mean) / spread] + [(own[0] - mean) / spread] * 2
    assert row.levels.tolist() == pytest.approx(expected)
    assert (row.levels >= depa.AT).tolist() == [False, False, True, False, False]


def test_records_come_in_order_and_those_without_comparison_have_no_line():
    texts = ["a\nb", "", "alone", "a!\nb\nc\nd\n", "\n\n"]
    found = list(depa.rows([Record(str(n), text=text) for n, text in enumerate(texts)], Odd(), None))
    assert [row.id for row in found] == ["0", "1", "2", "3", "4"]
    assert [len(row.levels) for row in found] == [2, 0, 0, 4, 0]
    assert found[3].levels.argmax() == 0


def test_a_record_is_judged_alike_wherever_in_the_corpus_it_stands():
    """Over half a million characters of variants, so that more than one call of the reference is needed."""
    texts = ["\n".join("!" * 999 if n % 4 == odd else "x" * 999 for odd in range(4)) for n in range(60)]
    reference = Odd()
    found = list(depa.rows([Record(str(n), text=text) for n, text in enumerate(texts)], reference, None))
    assert reference.calls > 1
    assert [int(row.levels.argmax()) for row in found] == [n % 4 for n in range(60)]
    assert {len(row.levels) for row in found} == {4}


def test_a_corpus_without_end_is_read_as_far_as_needed():
    reference, read = Odd(), count()
    endless = (Record(str(next(read)), text="x" * 999 + "\n!\nab\n") for _ in count())
    assert len(list(islice(depa.rows(endless, reference, None), 5))) == 5
    assert reference.calls == 1
    assert next(read) < 1000
