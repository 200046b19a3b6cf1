from __future__ import annotations

import numpy as np
import pytest

from sm_ops.core.records import Record
from sm_ops.core.tokens import Scored, Tokens
from sm_ops.scoring.shards import score_in_shards

pytestmark = pytest.mark.unit


class Fake:
    """Scores a record by its length; dies before the record named `fatal`."""

    name, revision, tokenizer_hash, tokenizer, context = "fake", "1", "h", None, None

    def __init__(self, fatal=None):
        self.fatal, self.seen = fatal, []

    def score(self, records, progress=None):
        if any(record.id == self.fatal for record in records):
            raise KeyboardInterrupt
        self.seen += [record.id for record in records]
        if progress:
            progress(len(records), len(records))
        return [self._one(record) for record in records]

    def _one(self, record):
        n = len(record.content)
        places = np.arange(n)
        flags = np.zeros(n, dtype=bool)
        return Scored(record.id, record.group, Tokens(places, places, places + 1, flags, ~flags), -np.ones(n) * n)


RECORDS = [Record(str(i), text="x" * i) for i in range(10)]


def ids(scored):
    return [each.id for each in scored]


def test_a_killed_run_resumes_at_the_last_finished_shard(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        score_in_shards(Fake(fatal="7"), RECORDS, tmp_path, 3)
    assert len(list(tmp_path.iterdir())) == 2
    second, seen = Fake(), []
    scored = score_in_shards(second, RECORDS, tmp_path, 3, lambda *counts: seen.append(counts))
    assert second.seen == ["6", "7", "8", "9"]
    assert ids(scored) == [record.id for record in RECORDS]
    for resumed, direct in zip(scored, Fake().score(RECORDS), strict=True):
        np.testing.assert_array_equal(resumed.logprobs, direct.logprobs)
    assert seen[0] == (3, 10)
    assert seen[-1] == (10, 10)
    assert seen == sorted(seen)


def test_a_half_written_shard_is_never_read(tmp_path):
    score_in_shards(Fake(), RECORDS, tmp_path, 5)
    _, second = sorted(tmp_path.iterdir())
    second.rename(tmp_path / f".{second.name}.tmp")
    again = Fake()
    score_in_shards(again, RECORDS, tmp_path, 5)
    assert again.seen == ["5", "6", "7", "8", "9"]


@pytest.mark.parametrize("change", ["text", "id", "order", "reference", "group"])
def test_other_content_or_reference_is_not_reused(tmp_path, change):
    score_in_shards(Fake(), RECORDS, tmp_path, 5)
    other, records = Fake(), list(RECORDS)
    if change == "text":
        records[1] = Record("1", text="y")
    elif change == "id":
        records[1] = Record("one", text="x")
    elif change == "group":
        records[1] = Record("1", text="x", group="g")
    elif change == "order":
        records[0], records[1] = records[1], records[0]
    else:
        other.revision = "2"
    scored = score_in_shards(other, records, tmp_path, 5)
    assert ids(scored) == [record.id for record in records]
    assert len(other.seen) == (10 if change == "reference" else 5)


def test_nothing_to_score(tmp_path):
    assert score_in_shards(Fake(), [], tmp_path / "none") == []
