"""Runs in a home: the newest, by name, damaged ones in words."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from toy_stages import step

from sm_ops.core import fs
from sm_ops.core.errors import InputError
from sm_ops.core.execute import execute
from sm_ops.core.home import Run, all_runs, find_run, home_folder, linked_run, unreadable_runs
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
def test_a_damaged_run_is_told_where_it_is_meant_and_hides_no_other(tmp_path, content):
    good, bad = saved(tmp_path, "one", "a"), saved(tmp_path, "two", "b")
    (bad.folder / "run.json").write_text(content)
    assert all_runs(tmp_path) == [good]
    assert [(name, error.code) for name, error in unreadable_runs(tmp_path).items()] == [(bad.id, "run-damaged")]
    assert find_run(tmp_path) == linked_run(tmp_path, "one") == good
    assert linked_run(tmp_path, "three") is None
    for find in (find_run, linked_run):
        for name in (bad.id, "tw"):
            with pytest.raises(InputError, match="run-damaged"):
                find(tmp_path, name)
    assert Run.save(tmp_path, bad.config, {"toy": execute(step(text="b"), {}, Store(tmp_path)).record}).id == bad.id
    assert {run.id for run in all_runs(tmp_path)} == {good.id, bad.id}


def test_equal_steps_have_the_config_that_was_asked_for_last(tmp_path):
    """Settings that no step reads, as prices and what a release says of itself, are in the config alone."""
    first = saved(tmp_path, "one", "a")
    record = execute(step(text="a"), {}, Store(tmp_path)).record
    again = Run.save(tmp_path, {"name": "one", "prices": {"machine_hour": 1}}, {"toy": record})
    assert again.id == first.id
    assert find_run(tmp_path).config == again.config == {"name": "one", "prices": {"machine_hour": 1}}


def test_links_made_at_the_same_time_are_all_kept(tmp_path):
    run = saved(tmp_path, "one", "a")
    with ThreadPoolExecutor(8) as several:
        list(several.map(lambda server: run.link(mlflow={f"server {server}": "id"}), range(8)))
        list(several.map(lambda name: run.link(**{name: "commit"}), ["git", "data"]))
    assert run.links() == {"git": "commit", "data": "commit", "mlflow": {f"server {i}": "id" for i in range(8)}}


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
