"""Results are whole or absent, whatever happens while they are written."""

from __future__ import annotations

import json
import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from toy_stages import step

from sm_ops.core import fs
from sm_ops.core.errors import BugError, InputError
from sm_ops.core.execute import execute, identify
from sm_ops.core.store import Record, Store

pytestmark = pytest.mark.unit


def make(store: Store, made=None):
    return execute(made or step(), {}, store)


def path_of(store: Store, record: Record, output: str) -> Path:
    return store.output_path(record, output)


def test_a_result_is_made_once_and_found_again(tmp_path):
    store = Store(tmp_path)
    first, second = make(store), make(store)
    assert (first.found, second.found) == (False, True)
    assert first.record == second.record == Record.from_json(json.loads(json.dumps(first.record.to_json())))
    assert path_of(store, first.record, "open.txt").read_text() == "open hello"
    assert first.record.numbers == {"characters": 5}


def test_reading_makes_no_folder(tmp_path):
    home = tmp_path / "nothing"
    assert Store(home).find("toy", "f" * 64) is None
    assert Store(home).newest("toy", "toy") is None
    assert not home.exists()


def test_restricted_outputs_are_their_owners_alone(tmp_path):
    store = Store(tmp_path)
    record = make(store).record
    secret = path_of(store, record, "secret.txt")
    assert secret.is_relative_to(tmp_path / "restricted")
    assert (tmp_path / "restricted").stat().st_mode & 0o777 == 0o700
    assert secret.stat().st_mode & 0o777 == 0o600
    assert not list((tmp_path / "store").rglob("secret*"))
    os.chmod(tmp_path / "restricted", 0o755)
    make(store, step(text="other"))
    assert (tmp_path / "restricted").stat().st_mode & 0o777 == 0o700


def test_records_hold_no_data(tmp_path):
    store = Store(tmp_path)
    record = make(store).record
    text = (tmp_path / "store" / "toy" / record.id / "record.json").read_text()
    assert "open hello" not in text


def test_the_scratch_folder_outlives_a_failure_and_ends_with_success(tmp_path):
    store = Store(tmp_path)
    with pytest.raises(BugError):
        make(store, step("refuse"))
    (scratch,) = (tmp_path / "restricted" / ".scratch").iterdir()
    assert [list((tmp_path / root / ".tmp").iterdir()) for root in ("restricted", "store")] == [[], []]
    make(store)
    assert list(scratch.parent.iterdir()) == [scratch]


def damage_nothing(file: Path) -> None:
    os.utime(file, ns=(1, 1))


def damage_content(file: Path) -> None:
    file.write_text("O" + file.read_text()[1:])
    os.utime(file, ns=(1, 1))


def damage_length(file: Path) -> None:
    file.write_text(file.read_text() + "!")


@pytest.mark.parametrize("output", ["open.txt", "secret.txt"])
@pytest.mark.parametrize("damage", [damage_content, damage_length, Path.unlink])
def test_damaged_files_are_made_again_and_it_is_said(tmp_path, damage, output):
    store = Store(tmp_path)
    record = make(store).record
    damage(path_of(store, record, output))
    again = make(store)
    assert not again.found
    assert again.reasons == ("its stored files are missing or damaged",)
    assert again.record.outputs[output].sha256 == record.outputs[output].sha256
    assert make(store).found


def test_a_copied_store_with_other_times_is_still_whole(tmp_path):
    store = Store(tmp_path)
    record = make(store).record
    damage_nothing(path_of(store, record, "open.txt"))
    assert make(store).found


def test_an_added_file_is_damage(tmp_path):
    store = Store(tmp_path)
    record = make(store, step("folder", outputs=(("model", "internal"),))).record
    (path_of(store, record, "model") / "more").write_text("x")
    assert store.find("toy", record.fingerprint) is None


@pytest.mark.parametrize("content", ["", "{", "[]", "null", '{"format": "record/1"}', "\x00\xff"])
def test_a_damaged_record_is_no_record(tmp_path, content):
    store = Store(tmp_path)
    record = make(store).record
    (tmp_path / "store" / "toy" / record.id / "record.json").write_bytes(content.encode("latin-1"))
    assert store.find("toy", record.fingerprint) is None
    assert store.newest("toy", "toy") is None
    assert make(store).reasons == ("its stored files are missing or damaged",)


def test_a_record_of_another_format_is_refused_in_words(tmp_path):
    store = Store(tmp_path)
    record = make(store).record
    path = tmp_path / "store" / "toy" / record.id / "record.json"
    fs.write_json(path, {**fs.read_json(path), "format": "record/0"})
    with pytest.raises(InputError, match="'record/0', this version reads 'record/1'"):
        store.find("toy", record.fingerprint)
    assert store.newest("toy", "toy") is None


def test_a_stage_that_forgets_an_output_is_a_bug_and_leaves_nothing(tmp_path):
    store = Store(tmp_path)
    with pytest.raises(BugError, match="RuntimeError at store"):
        make(store, step("forget"))
    assert not list((tmp_path / "store").glob("toy/*"))


def test_two_commits_of_one_result_leave_the_later_whole(tmp_path):
    store = Store(tmp_path)
    made = step()
    record = make(store, made).record
    with store.workspace(made, record.fingerprint) as workspace:
        for output in made.stage.outputs:
            workspace.path(output).write_text("later")
        outputs = {o.name: store.describe(o, workspace.path(o)) for o in made.stage.outputs}
        later = replace(record, outputs=outputs)
        store.commit(later, workspace)
    assert store.find("toy", record.fingerprint) == later
    assert path_of(store, later, "secret.txt").read_text() == "later"


# ---- crashes -------------------------------------------------------------------------------------------

EVENTS = {"open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.chmod", "shutil.rmtree"}


def crash_at(number: int, home: Path, work) -> bool:
    """Do the work in a child that dies before its `number`-th change below the home; False where it came through."""
    pid = os.fork()
    if pid == 0:
        left = number

        def hook(event, arguments):
            nonlocal left
            if event in EVENTS and str(home) in str(arguments[0]):
                left -= 1
                if left == 0:
                    os._exit(9)

        sys.addaudithook(hook)
        try:
            work()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9


@pytest.mark.parametrize("before", ["nothing", "damaged"])
def test_a_crash_at_any_point_leaves_the_result_whole_or_absent(tmp_path, before, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # a hundred results, and no power fails here
    made = step("folder", outputs=(("model", "restricted"),))
    whole = make(Store(tmp_path / "whole"), made).record.outputs["model"].sha256
    number, crashed = 0, True
    while crashed:
        number += 1
        home = tmp_path / str(number)
        store = Store(home)
        if before == "damaged":
            record = make(store, made).record
            (path_of(store, record, "model") / "config").write_text("damaged")
        crashed = crash_at(number, home, lambda store=store: make(store, made))
        print_ = identify(made, {})[1]
        found = store.find("toy", print_)
        if before == "nothing":
            assert (found is not None) == store.has_remains("toy", print_), "the record comes last"
        if found:
            assert fs.content_hash(path_of(store, found, "model")) == whole
        assert make(store, made).record.outputs["model"].sha256 == whole
        assert make(store, made).found
        shutil.rmtree(home)
    assert number > 12, "the crash points were not reached"


def test_an_atomic_write_shows_the_old_content_or_the_new(tmp_path):
    path = tmp_path / "file"
    number, crashed = 0, True
    while crashed:
        number += 1
        path.write_text("old")
        crashed = crash_at(number, tmp_path, lambda: fs.write_atomic(path, b"new"))
        assert path.read_text() in ("old", "new")
    assert path.read_text() == "new"
    assert number > 3


def test_a_failed_atomic_write_leaves_no_remains(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "full")))
    with pytest.raises(OSError, match="full"):
        fs.write_atomic(tmp_path / "file", b"x")
    assert list(tmp_path.iterdir()) == []


def test_content_hashes_know_names_and_bytes_but_no_place(tmp_path):
    for name, inner in (("a", "f"), ("b", "f"), ("c", "g")):
        (tmp_path / name).mkdir()
        (tmp_path / name / inner).write_text("same")
    assert fs.content_hash(tmp_path / "a") == fs.content_hash(tmp_path / "b") != fs.content_hash(tmp_path / "c")
    assert fs.content_hash(tmp_path / "a" / "f") == fs.sha256(b"same")
