"""Runs in a home: the newest, by name, damaged ones in words."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
from toy_stages import step

from sm_ops.core import fs
from sm_ops.core.errors import InputError
from sm_ops.core.execute import execute
from sm_ops.core.home import Run, all_runs, find_run, home_folder
from sm_ops.core.store import Store

pytestmark = pytest.mark.unit


def saved(home, name: str, text: str) -> Run:
    record = execute(step(text=text), {}, Store(home)).record
    run = Run.save(home, {"name": name}, {"toy": replace(record, seconds=1.0)})
    os.utime(run.folder / "run.json", ns=(saved.clock, saved.clock))
    saved.clock += 10**9
    return run


saved.clock = 10**18


def test_the_newest_run_is_the_one_asked_for_last(tmp_path):
    first, second = saved(tmp_path, "one", "a"), saved(tmp_path, "two", "b")
    assert [run.id for run in all_runs(tmp_path)] == [first.id, second.id]
    assert saved(tmp_path, "one", "a").id == first.id
    assert find_run(tmp_path).id == first.id
    assert find_run(tmp_path, "two").id == second.id
    assert find_run(tmp_path, "two") == Run.load(second.folder)


def test_no_run_is_told(tmp_path):
    with pytest.raises(InputError, match="no finished run under"):
        find_run(tmp_path)
    saved(tmp_path, "one", "a")
    with pytest.raises(InputError, match="no finished run named 'nine'"):
        find_run(tmp_path, "nine")


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"format": "run/1"}'])
def test_a_damaged_run_is_told(tmp_path, content):
    run = saved(tmp_path, "one", "a")
    (run.folder / "run.json").write_text(content)
    with pytest.raises(InputError, match="run-damaged"):
        all_runs(tmp_path)


def test_another_format_is_refused_in_words(tmp_path):
    run = saved(tmp_path, "one", "a")
    path = run.folder / "run.json"
    fs.write_json(path, {**fs.read_json(path), "format": "run/9"})
    with pytest.raises(InputError, match="format 'run/9', this version reads 'run/1'"):
        Run.load(run.folder)


def test_the_home_is_a_setting_of_the_environment(tmp_path, monkeypatch):
    assert home_folder() == tmp_path / "home"
    monkeypatch.delenv("SM_OPS_HOME")
    monkeypatch.chdir(tmp_path)
    assert home_folder() == tmp_path / ".sm-ops"
