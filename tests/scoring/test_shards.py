from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from processes import alive, children

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record
from sm_ops.core.tokens import Scored, Tokens
from sm_ops.scoring.plan import Plan
from sm_ops.scoring.reference import run_plan
from sm_ops.scoring.scores import Source
from sm_ops.scoring.shards import score_in_shards

RNG = random.Random(0)
RECORDS = [Record(str(i), text="".join(RNG.choices("abc", k=RNG.randint(0, 40))), group="g") for i in range(200)]
SIZES = {"one": 10**9, "some": 700, "many": 1}


class Toy:
    """A batched reference whose values change when anything about their batch does; each batch run leaves a line.

    It dies at the batch that holds a row of `fatal` tokens: by an exception, or (`kill`) as a process.
    """

    tokenizer, context = None, 30

    def __init__(self, log=None, fatal=None, kill=False, revision="1", threads=1):
        self.log, self.fatal, self.kill, self.worker = log, fatal, kill, None
        self.source, self.arithmetic = Source("toy", revision), {"threads": threads}

    def plan(self, records):
        return Plan(records, [_tokens(record.text) for record in records], [0] * len(records), [2], 30, 100)

    def settle(self, worker):
        self.worker = worker

    def run(self, batch):
        rows = [row.ids.tolist() for row in batch.rows]
        if self.fatal is not None and any(len(row) == self.fatal for row in rows):
            if self.kill:
                os.kill(os.getpid(), signal.SIGKILL)
            raise InputError("toy", "no")
        if self.log is not None:
            with open(self.log, "a") as log:
                log.write(f"{self.worker} {rows}\n")
        number = zlib.crc32(repr(rows).encode())
        return np.arange(batch.scores, dtype=np.float32) - number % 1000

    def score(self, records, progress=None):
        return run_plan(self, records, progress)

    def lines(self):
        return Path(self.log).read_text().splitlines() if Path(self.log).exists() else []


def _tokens(text):
    ids = np.array([ord(c) for c in text], np.int64)
    places, flags = np.arange(len(ids)), np.zeros(len(ids), bool)
    return Tokens(ids, places, places + 1, flags, ~flags)


def the_same(found: list[Scored], expected: list[Scored]) -> bool:
    expected = {each.id: each for each in expected}
    return all(each.logprobs.tobytes() == expected[each.id].logprobs.tobytes() for each in found)


EXPECTED = Toy().score(RECORDS)
PATHS = [str(folder) for folder in Path(__file__).parents[:2]]


@pytest.mark.unit
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("seed", range(3))
def test_neither_order_nor_shards_change_a_byte(tmp_path, size, seed):
    records = random.Random(seed).sample(RECORDS, len(RECORDS))
    scored = score_in_shards(Toy(), records, tmp_path, shard_tokens=SIZES[size])
    assert [s.id for s in scored] == [r.id for r in records]
    assert the_same(scored, EXPECTED)
    names = {path.name for path in tmp_path.glob("*.npz")}
    again = tmp_path / "again"
    score_in_shards(Toy(), RECORDS, again, shard_tokens=SIZES[size])
    assert {path.name for path in again.glob("*.npz")} == names
    assert (len(names) == 1) == (size == "one")


@pytest.mark.parametrize(("size", "workers"), [("some", 2), ("many", 3), ("one", 2)])
def test_workers_change_no_byte_and_share_the_shards(tmp_path, size, workers):
    toy, seen = Toy(tmp_path / "log"), []
    scored = score_in_shards(
        toy, RECORDS, tmp_path / "s", lambda *c: seen.append(c), workers=workers, shard_tokens=SIZES[size]
    )
    assert the_same(scored, EXPECTED)
    assert len(toy.lines()) == len(toy.plan(RECORDS).batches)
    numbers = {line.split()[0] for line in toy.lines()}
    assert numbers <= ({"None"} if size == "one" else {str(n) for n in range(workers)})
    assert seen[-1] == (200, 200)
    assert seen == sorted(seen)


@pytest.mark.unit
def test_a_stopped_run_resumes_at_the_last_finished_shard(tmp_path):
    with pytest.raises(InputError):
        score_in_shards(Toy(tmp_path / "log", fatal=9), RECORDS, tmp_path / "s", shard_tokens=100)
    finished = len(list((tmp_path / "s").glob("*.npz")))
    assert finished > 3
    second, seen = Toy(tmp_path / "log2"), []
    shuffled = random.Random(1).sample(RECORDS, 200)
    scored = score_in_shards(second, shuffled, tmp_path / "s", lambda *c: seen.append(c), shard_tokens=100)
    assert the_same(scored, EXPECTED)
    batches = len(second.plan(RECORDS).batches)
    assert 0 < len(second.lines()) < batches
    assert len(Toy(tmp_path / "log").lines()) + len(second.lines()) <= batches + 5  # the broken shard's alone again
    assert seen == sorted(seen)
    third = Toy(tmp_path / "log3")
    assert the_same(score_in_shards(third, RECORDS, tmp_path / "s", shard_tokens=100), EXPECTED)
    assert third.lines() == []


def test_a_killed_run_resumes(tmp_path):
    """The whole process dies by SIGKILL in the middle."""
    code = (
        "import sys; sys.path[:0] = sys.argv[2:]\n"
        "from pathlib import Path; from test_shards import *\n"
        "score_in_shards(Toy(fatal=9, kill=True), RECORDS, Path(sys.argv[1]), shard_tokens=100)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "s"), *PATHS], check=False)
    assert done.returncode == -signal.SIGKILL
    second = Toy(tmp_path / "log")
    assert the_same(score_in_shards(second, RECORDS, tmp_path / "s", shard_tokens=100), EXPECTED)
    assert 0 < len(second.lines()) < len(second.plan(RECORDS).batches)


def test_a_worker_that_dies_is_one_sentence_and_its_fellow_leaves(tmp_path):
    with pytest.raises(InputError, match=r"2 scoring workers died.*finished shards are kept"):
        score_in_shards(Toy(fatal=9, kill=True), RECORDS, tmp_path, workers=2, shard_tokens=100)
    assert children(os.getpid()) == []
    assert the_same(score_in_shards(Toy(), RECORDS, tmp_path, shard_tokens=100), EXPECTED)


def test_an_error_in_a_worker_is_the_callers(tmp_path):
    with pytest.raises(InputError, match="no"):
        score_in_shards(Toy(fatal=9), RECORDS, tmp_path, workers=2, shard_tokens=100)
    assert children(os.getpid()) == []


class OneFails(Toy):
    def run(self, batch):
        if self.worker:
            time.sleep(600)
        raise InputError("toy", "no")


@pytest.mark.timeout(120)
def test_an_error_does_not_wait_for_the_other_workers(tmp_path):
    with pytest.raises(InputError, match="no"):
        score_in_shards(OneFails(), RECORDS, tmp_path, workers=2, shard_tokens=100)
    assert children(os.getpid()) == []


def test_workers_leave_when_their_parent_is_killed(tmp_path):
    code = (
        "import sys; sys.path[:0] = sys.argv[2:]\n"
        "from pathlib import Path; from test_shards import *\n"
        "if __name__ == '__main__':\n"
        "    score_in_shards(Sleeper(), RECORDS, Path(sys.argv[1]), workers=2, shard_tokens=100)"
    )
    script = tmp_path / "script.py"
    script.write_text(code)
    parent = subprocess.Popen([sys.executable, str(script), str(tmp_path / "s"), *PATHS])
    deadline = time.monotonic() + 60
    while len(children(parent.pid)) < 2 and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(1)
    workers = children(parent.pid)
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 20
    while any(alive(worker) for worker in workers) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert len(workers) >= 2
    assert [worker for worker in workers if alive(worker)] == []


class Sleeper(Toy):
    def run(self, batch):
        time.sleep(600)


@pytest.mark.unit
def test_a_torn_or_changed_shard_is_computed_again(tmp_path):
    score_in_shards(Toy(), RECORDS, tmp_path, shard_tokens=1000)
    torn, changed, other, *_ = sorted(tmp_path.glob("*.npz"))
    torn.write_bytes(torn.read_bytes()[:-4])
    content = bytearray(changed.read_bytes())
    content[len(content) // 2] ^= 1
    changed.write_bytes(content)
    np.savez(other, values=np.zeros(3, np.float32))
    assert the_same(score_in_shards(Toy(), RECORDS, tmp_path, shard_tokens=1000), EXPECTED)


@pytest.mark.unit
@pytest.mark.parametrize("change", ["text", "source", "threads", "id"])
def test_what_would_be_computed_decides_what_is_found(tmp_path, change):
    score_in_shards(Toy(), RECORDS, tmp_path / "s", shard_tokens=100)
    records, toy = list(RECORDS), Toy(tmp_path / "log")
    if change == "text":
        records[0] = Record("0", text="c" * 28)  # as long as any chunk: the first batches change
    elif change == "id":
        records[0] = replace(records[0], id="other")
    else:
        toy = Toy(tmp_path / "log", **{"revision": "2"} if change == "source" else {"threads": 2})
    scored = score_in_shards(toy, records, tmp_path / "s", shard_tokens=100)
    assert the_same(scored, Toy(revision=toy.source.revision).score(records))
    batches = len(toy.plan(records).batches)
    count = len(toy.lines())
    assert {"text": 0 < count <= batches, "id": count == 0}.get(change, count == batches)


@pytest.mark.unit
def test_a_reference_without_batches_is_scored_directly(tmp_path):
    class Direct:
        source, tokenizer, context = Source(), None, None

        def score(self, records, progress=None):
            return EXPECTED[: len(records)]

    assert score_in_shards(Direct(), RECORDS[:3], tmp_path / "s") == EXPECTED[:3]
    assert not (tmp_path / "s").exists()
    assert score_in_shards(Toy(), [], tmp_path / "s") == []
