"""The step that runs a detector over the labelled splits: counted, and read as it is written."""

from __future__ import annotations

import pytest

from sm_ops.core.records import Record
from sm_ops.core.settings import Settings
from sm_ops.core.stage import Context
from sm_ops.data.records import write_records
from sm_ops.detectors.batches import RECORDS
from sm_ops.sanitizing import levels
from sm_ops.steps import detect

pytestmark = pytest.mark.unit


def test_a_split_is_never_held_whole(tmp_path, monkeypatch) -> None:
    """No second batch is read before the first is written; an empty split is a file without rows."""
    count, read, first = 2 * RECORDS, [], []
    train, empty = tmp_path / "train.jsonl", tmp_path / "calibration.jsonl"
    write_records(train, (Record(str(n), text=f"a{n}@example.com" if n % 2 else "x") for n in range(count)))
    empty.touch()
    rows, write = detect.split_rows, levels.write

    def reading(path):
        for record in rows(path):
            read.append(record.id)
            yield record

    def writing(path, source, given):
        def noted():
            for row in given:
                first.append(len(read))
                yield row

        write(path, source, noted())

    monkeypatch.setattr(detect, "split_rows", reading)
    monkeypatch.setattr(levels, "write", writing)
    outputs = {name: tmp_path / f"{name}.parquet" for name in ("calibration", "train")}
    context = Context({"train": train, "calibration": empty}, outputs, tmp_path)
    settings = Settings({"detection": {"detector": "regex", "settings": {}}})
    assert detect.run(settings, context) == {"records": count, "spans": RECORDS}
    assert first[0] == RECORDS
    assert [len(row.levels) for row in levels.read(outputs["train"])] == [0, 1] * RECORDS
    assert [*levels.read(outputs["calibration"])] == []
