"""Records through a detector in batches and in processes: order, memory, failures, and nobody left behind."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time

import pytest

from sm_ops.core import registry
from sm_ops.core.errors import InputError
from sm_ops.core.records import Message, Record
from sm_ops.detectors import batches
from sm_ops.detectors.batches import detect_rows

EMAIL = "ann@example.com"
PLUGIN = """
import os, signal, time
from sm_ops.detectors.detector import Detection, with_defaults, check_texts
def load(settings):
    with_defaults("fragile", settings, {"threshold": 0.0})
    return Fragile()
class Fragile:
    def detect(self, texts):
        check_texts(texts)
        if "die" in texts:
            os.kill(os.getpid(), signal.SIGKILL)
        if "sleep" in texts:
            time.sleep(600)
        if "value" in texts:
            raise ValueError(texts)
        return [[Detection(0, len(text), "pid", float(os.getpid()))] for text in texts]
"""


def records(*texts):
    return [Record(str(number), text=text) for number, text in enumerate(texts)]


@pytest.fixture(params=[1, 2])
def workers(request):
    return request.param


@pytest.fixture
def fragile(tmp_path, monkeypatch):
    """A detector of another package, which dies, fails or says in whose process it is."""
    (tmp_path / "fragile_detector.py").write_text(PLUGIN)
    about = tmp_path / "fragile_detector-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: fragile_detector\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[sm_ops.detector]\nfragile = fragile_detector\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    registry.members.cache_clear()
    yield "fragile"
    registry.members.cache_clear()


def alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{pid}/stat") as stat:
        return stat.read().rpartition(")")[2].split()[0] != "Z"


def test_each_record_comes_in_order_with_what_is_found_in_it(workers, monkeypatch):
    monkeypatch.setattr(batches, "CHARACTERS", 50)
    given = records(*(f"{'😀' * (n % 4)}{EMAIL} {n}" if n % 3 else f"nothing {n}" for n in range(40)))
    found = list(detect_rows("regex", {}, iter(given), workers))
    assert [record for record, _ in found] == given
    for record, detections in found:
        expected = [EMAIL] if EMAIL in record.content else []
        assert [record.content[each.start : each.end] for each in detections] == expected


@pytest.mark.unit
def test_a_chat_is_read_as_its_content():
    chat = Record("chat", messages=(Message("user", "hi"), Message("assistant", f"ask {EMAIL}")))
    ((record, (found,)),) = detect_rows("regex", {}, [chat])
    assert record.content[found.start : found.end] == EMAIL


@pytest.mark.unit
def test_no_record_no_answer():
    assert list(detect_rows("regex", {}, [])) == []


@pytest.mark.unit
def test_a_batch_ends_with_its_characters_or_its_records(monkeypatch):
    monkeypatch.setattr(batches, "CHARACTERS", 10)
    monkeypatch.setattr(batches, "RECORDS", 3)
    cut = batches._batches(records("12345678", "90", "a", "b", "c", "0123456789ab", "d"))
    assert [(first, [record.id for record in batch]) for first, batch in cut] == [
        (0, ["0", "1"]), (2, ["2", "3", "4"]), (5, ["5"]), (6, ["6"]),
    ]  # fmt: skip


def test_records_are_read_as_they_are_needed(workers, monkeypatch):
    monkeypatch.setattr(batches, "RECORDS", 5)
    taken = []
    rows = detect_rows("regex", {}, (taken.append(n) or Record(str(n), text="x") for n in range(1000)), workers)
    for _ in range(6):
        next(rows)
    assert len(taken) <= 5 * (2 * workers + 1)
    rows.close()
    assert not multiprocessing.active_children()


def test_a_setting_that_is_refused_in_a_worker_is_told_as_it_is(workers):
    with pytest.raises(InputError, match=r"^threshold is 7; give a number from 0 to 1") as caught:
        list(detect_rows("regex", {"threshold": 7}, records("a"), workers))
    assert caught.value.__cause__ is None
    assert not multiprocessing.active_children()


def test_a_text_that_is_refused_is_named_by_the_number_of_its_batch(workers, monkeypatch):
    monkeypatch.setattr(batches, "RECORDS", 2)
    given = records("a", "b", "c", f"{EMAIL} \ud800")
    with pytest.raises(InputError, match=r"^Records from number 2 on \(text 0 is that record\): Text 1 ") as caught:
        list(detect_rows("regex", {}, given, workers))
    assert EMAIL not in str(caught.value)


def test_an_unforeseen_failure_shows_no_text(fragile):
    with pytest.raises(Exception, match="Internal error: ValueError at") as caught:
        list(detect_rows(fragile, {}, records("fine", "value"), 2))
    assert caught.value.__cause__ is None
    assert "value" not in str(caught.value).replace("ValueError", "")


def test_a_dead_worker_is_one_sentence_and_no_process_stays(fragile):
    with pytest.raises(InputError, match="One of 2 workers of the detector 'fragile' died") as caught:
        list(detect_rows(fragile, {}, records("fine", "die"), 2))
    assert caught.value.code == "worker-died"
    assert not multiprocessing.active_children()


@pytest.mark.timeout(90)
def test_who_stops_taking_rows_waits_for_no_worker(fragile, monkeypatch):
    monkeypatch.setattr(batches, "RECORDS", 1)
    rows = detect_rows(fragile, {}, records("fine", *["sleep"] * 3), 2)
    assert next(rows)[0].content == "fine"
    rows.close()
    assert not multiprocessing.active_children()


@pytest.mark.slow
def test_workers_end_with_a_process_that_is_killed(fragile, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        f"import sys, time\nsys.path.insert(0, {str(tmp_path)!r})\n"
        "from sm_ops.core.records import Record\nfrom sm_ops.detectors import batches\n"
        "if __name__ == '__main__':\n    batches.RECORDS = 1\n"
        "    rows = batches.detect_rows('fragile', {}, (Record(str(n), text='x') for n in range(9)), 2)\n"
        "    print(*{int(next(rows)[1][0].score) for _ in range(9)}, flush=True)\n    time.sleep(300)\n"
    )
    with subprocess.Popen([sys.executable, str(program)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pids = [int(pid) for pid in process.stdout.readline().split()]
        process.send_signal(signal.SIGKILL)
    assert pids
    deadline = time.monotonic() + 60
    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(map(alive, pids))
