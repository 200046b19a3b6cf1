"""Commands over a finished run."""

from __future__ import annotations

import json
import time

from driving import SMALLEST, copy_home, run_cli
from test_commands import imported_by

from sm_ops.core import fs


def test_a_second_run_finds_everything(finished_home):
    started = time.monotonic()
    done = run_cli("run", str(SMALLEST), home=finished_home)
    assert done.returncode == 0
    assert time.monotonic() - started < 20
    steps = [line for line in done.stderr.splitlines() if line.startswith("[")]
    assert steps
    assert all(" found " in line for line in steps)
    assert done.stdout.splitlines()[-1].startswith("next: sm-ops ")


def test_report_prints_a_table_or_json(finished_home):
    done = run_cli("report", "--json", home=finished_home)
    assert done.returncode == 0
    results = json.loads(done.stdout)
    assert {"rows", "per_seed"} <= results.keys()
    assert run_cli("report", home=finished_home).stdout.splitlines()[-1].startswith("report: ")


def test_report_and_show_import_nothing_heavy(finished_home):
    for arguments in (["report", "--json"], ["report"], ["show", "--config", str(SMALLEST)], ["ls", "runs"]):
        assert imported_by(arguments, finished_home) == [], arguments


def test_show_after_a_run_points_to_the_report(finished_home):
    done = run_cli("show", "--config", str(SMALLEST), home=finished_home)
    steps, _, chain = done.stdout.partition("\n\n")
    assert {line.split()[1] for line in steps.splitlines()} == {"stored"}
    (run,) = (finished_home / "runs").iterdir()
    links = {line.split()[0]: line.split()[1] for line in chain.splitlines()}
    assert links["run"] == run.name
    assert links["data"] == fs.read_json(run / "links.json")["data"]
    assert done.stderr == "next: sm-ops report\n"


def test_show_tells_in_words_why_a_step_would_run(finished_home):
    arguments = ("show", "mask", "--config", str(SMALLEST), "--set", "masking.baselines.goldfish=[5]")
    done = run_cli(*arguments, home=finished_home)
    assert "setting masking.baselines.goldfish went from [3] to [5]" in done.stdout


def test_one_stage_by_hand(finished_home, tmp_path):
    home = copy_home(finished_home, tmp_path / "home", without="calibrate")
    done = run_cli("stage", "calibrate", "--config", str(SMALLEST), "--out", "out", home=home)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert done.stderr.splitlines()[-1] == f"next: sm-ops stage mask --config {SMALLEST}"
    assert (tmp_path / "out" / "calibrate" / "calibration.json").is_file()
