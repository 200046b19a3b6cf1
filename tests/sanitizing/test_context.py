"""What stands before a record's code is read by a filter, and nothing that it says of it is kept."""

from __future__ import annotations

import numpy as np
import pytest

from sm_ops.core.records import Record
from sm_ops.sanitizing.context import behind, noted
from sm_ops.sanitizing.levels import Row

pytestmark = pytest.mark.unit


def rows_of(records):
    """A filter to which every character is a little more suspicious than the one before."""
    for record in records:
        starts = np.arange(len(record.content))
        yield Row(record.id, starts, starts + 1, starts / 10)


def kept(*records: Record) -> list[list[float]]:
    begins: dict[str, int] = {}
    found = [row.levels.tolist() for row in behind(rows_of(noted(records, begins)), begins)]
    assert begins == {}
    return found


def test_levels_begin_with_the_code():
    task = Record("a", text="task\nx", meta={"code_from": 5})
    assert kept(task, Record("b", text="xy")) == [[0.5], [0.0, 0.1]]


@pytest.mark.parametrize("meta", [{}, {"code_from": "5"}, {"code_from": None}, {"code_from": True}, {"code_from": 0}])
def test_a_record_without_a_number_there_has_no_context(meta):
    assert kept(Record("a", text="xyz", meta=meta)) == [[0.0, 0.1, 0.2]]
