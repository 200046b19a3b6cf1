"""Files of levels: they come back as they were, some at a time, and belong to their records."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from labelled import record

from sm_ops.core.errors import InputError
from sm_ops.sanitizing import levels
from sm_ops.sanitizing.levels import Filter, Row
from sm_ops.sanitizing.sides import side

pytestmark = pytest.mark.unit
SOURCE = Filter("regex", "detector", 0.5)


def rows(count: int):
    for number in range(count):
        size = number % 3
        yield Row(str(number), np.arange(size), np.arange(size) + 1, np.array([-np.inf, 0.1, 2.0])[:size])


def test_rows_come_back_in_order(tmp_path):
    levels.write(tmp_path / "l.parquet", SOURCE, rows(600))
    assert levels.about(tmp_path / "l.parquet") == SOURCE
    found = list(levels.read(tmp_path / "l.parquet"))
    assert [row.id for row in found] == [str(number) for number in range(600)]
    for row, given in zip(found, rows(600), strict=True):
        assert [own.tolist() for own in row[1:]] == [own.tolist() for own in given[1:]]


def test_no_rows_are_a_file_too(tmp_path):
    levels.write(tmp_path / "l.parquet", Filter("s", "surprise"), [])
    assert list(levels.read(tmp_path / "l.parquet")) == []
    assert levels.about(tmp_path / "l.parquet").at is None


def test_another_format_is_refused(tmp_path):
    pq.write_table(pa.table({"id": ["a"]}), tmp_path / "other.parquet")
    with pytest.raises(InputError, match=r"other\.parquet is no file of levels of format 'levels/1'"):
        levels.about(tmp_path / "other.parquet")


@pytest.mark.parametrize("ids", [["0"], ["0", "2"], ["1", "0"], ["0", "1", "2"]])
def test_levels_of_other_records_are_refused(tmp_path, ids):
    levels.write(tmp_path / "l.parquet", SOURCE, rows(2))
    with pytest.raises(InputError, match=r"l\.parquet holds levels of other records"):
        side([record(name, "text") for name in ids], [tmp_path / "l.parquet"])


def test_a_side_has_a_profile_of_each_record(tmp_path):
    levels.write(tmp_path / "l.parquet", SOURCE, rows(3))
    own, filters = side([record(number, "text") for number in range(3)], [tmp_path / "l.parquet"])
    assert filters == [SOURCE]
    assert [each.masked(0.1) for each in own.profiles["regex"]] == [[], [], [(1, 2)]]
