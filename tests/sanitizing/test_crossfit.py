"""What is fitted on the validation side never judges a record of a group that it has seen."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record, Span
from sm_ops.core.tokens import Scored, Tokens
from sm_ops.sanitizing import crossfit

pytestmark = pytest.mark.unit

RECORDS = [Record(f"{group}{n}", text="x" * size, group=group) for group, size in zip("abcdefg", (9, 8, 5, 4, 3, 2, 1),
           strict=True) for n in range(2)]  # fmt: skip


class Told:
    """A reference that says by its log probabilities from which groups it was made."""

    def __init__(self, path):
        self.seen = json.loads(path.read_text())

    def score(self, records, progress=None):
        return [self._scored(record) for record in records]

    def _scored(self, record):
        one = np.zeros(1, np.int64)
        tokens = Tokens(one + 3, one, one + 1, one > 0, one == 0)
        return Scored(record.id, record.group, tokens, np.array([-1.0 if record.group in self.seen else 0.0]))


def write(records, path):
    path.write_text(json.dumps(sorted({record.group for record in records})))


def test_no_record_is_judged_by_what_saw_its_group_and_the_whole_saw_all(tmp_path):
    assert crossfit.fit(RECORDS, tmp_path, write) == 5
    assert json.loads((tmp_path / crossfit.WHOLE).read_text()) == list("abcdefg")
    scored = crossfit.CrossFitted(tmp_path, Told).score(RECORDS)
    assert [each.id for each in scored] == [record.id for record in RECORDS]
    assert all(each.logprobs[0] == 0 for each in scored)


def test_token_ids_of_different_parts_are_different(tmp_path):
    crossfit.fit(RECORDS, tmp_path, write)
    scored = crossfit.CrossFitted(tmp_path, Told).score(RECORDS)
    by_part = {}
    for each, part in zip(scored, crossfit.deal(RECORDS), strict=True):
        by_part.setdefault(part, set()).add(int(each.tokens.ids[0]))
    assert all(len(ids) == 1 for ids in by_part.values())
    assert len(set.union(*by_part.values())) == 5


def test_a_record_may_come_several_times_under_its_id(tmp_path):
    crossfit.fit(RECORDS, tmp_path, write)
    scored = crossfit.CrossFitted(tmp_path, Told).score([RECORDS[3], RECORDS[0], RECORDS[3]])
    assert [each.id for each in scored] == [RECORDS[3].id, RECORDS[0].id, RECORDS[3].id]


def test_groups_are_dealt_whole_the_largest_first_into_the_emptiest_part():
    # sizes by group 18, 16, 10, 8, 6, 4, 2: a to e open the parts 0 to 4, f joins e, g joins d
    assert crossfit.deal(RECORDS) == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4, 4, 3, 3]


def test_records_without_a_group_are_their_own_and_order_changes_nothing():
    records = [Record(str(n), text="x" * (9 - n)) for n in range(4)]
    parts = crossfit.deal(records, 2)
    assert parts == [0, 1, 1, 0]
    assert crossfit.deal(records[::-1], 2) == parts[::-1]


def test_one_group_alone_is_refused():
    with pytest.raises(InputError, match="of one group"):
        crossfit.deal(RECORDS[:2])


@pytest.mark.parametrize(
    ("spans", "unclear", "texts"),
    [
        ([], [], ["0123456789"]),
        ([(2, 4)], [], ["01", "456789"]),
        ([(0, 3), (2, 5)], [[9, 10]], ["5678"]),
        ([(4, 6)], [[5, 10]], ["0123"]),
        ([(0, 10)], [], []),
    ],
)
def test_only_what_is_neither_target_nor_left_out_is_fitted(spans, unclear, texts):
    own = tuple(Span(start, end, "x") for start, end in spans)
    assert crossfit.outside(Record("r", text="0123456789", spans=own, meta={"left_out": unclear})) == texts
