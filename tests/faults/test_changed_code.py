"""A helper that changed re-runs what used it, and it is said which; a comment re-runs nothing."""

from __future__ import annotations

import json

import pytest
from driving import SMALLEST, copy_home, copy_source, run_cli, run_steps


@pytest.fixture
def source(tmp_path):
    return copy_source(tmp_path / "source")


def states(home, source) -> dict[str, dict]:
    done = run_cli("show", "--config", str(SMALLEST), "--json", home=home, source=source)
    assert done.returncode == 0, done.stderr
    return {row["step"]: row for row in json.loads(done.stdout)}


def change(source, module: str, addition: str) -> None:
    path = source / module
    path.write_text(path.read_text() + addition)


def test_an_unchanged_copy_elsewhere_finds_everything(finished_home, source):
    assert {row["state"] for row in states(finished_home, source).values()} == {"stored"}


def test_a_comment_changes_nothing(finished_home, source):
    change(source, "sm_ops/evaluation/frontier.py", "\n# a thought\n")
    change(source, "sm_ops/metrics/counts.py", '\n# a thought\n"""and a string"""\n')
    assert {row["state"] for row in states(finished_home, source).values()} == {"stored"}


def test_a_changed_helper_runs_what_used_it(finished_home, source, tmp_path):
    """`metrics.ranking` is two imports away from the step that calibrates, and no concern of training."""
    change(source, "sm_ops/metrics/ranking.py", "\n\ndef added():\n    return 1\n")
    shown = states(finished_home, source)
    assert shown["calibrate"]["state"] == "would run"
    assert "code sm_ops.metrics.ranking changed" in shown["calibrate"]["reasons"]
    assert shown["base"]["state"] == "stored"
    assert shown["mask"]["reasons"] == ["step calibrate would run first"]
    home = copy_home(finished_home, tmp_path / "home")
    lines = run_steps(home, source)
    position = next(i for i, line in enumerate(lines) if " calibrate " in line)
    assert "found" not in lines[position]
    assert "ran again: code sm_ops.metrics.ranking changed" in lines[position + 1]
    assert "found" in next(line for line in lines if " train@unmasked-0 " in line), "equal outputs stop the ripple"
