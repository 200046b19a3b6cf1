from __future__ import annotations

import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from sm_ops.core import fs
from sm_ops.core.home import find_run
from sm_ops.report import finish as after
from sm_ops.report.surprise.html import write_report
from sm_ops.tracking.server import connected

sys.path.append(str(Path(__file__).resolve().parents[1] / "report"))

LOSSES = {0: [[1, 4.0], [2, 2.0]], 1: [[1, 5.0], [2, 3.0]]}
"""What SM95's trainings left, by seed."""
SAMPLES = [
    {"time": 1000.0, "cpu_utilization_percentage": 50.0, "run_memory_megabytes": 700.0},
    {"time": 1060.5, "cpu_utilization_percentage": 75.0, "run_memory_megabytes": 300.0},
]


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a small finished run, its report, and an empty database, whose tables take seconds to make."""
    import fake_runs

    home = tmp_path_factory.mktemp("made") / "home"
    fake = fake_runs.make_tiny(home).fake
    for seed, points in LOSSES.items():
        history = {"format": "history/1", "curves": {"loss": points}}
        fake.add(f"train@SM95-{seed}", {"history.json": history})
    run = fake.finish(fake_runs.config())
    write_report(run, home)
    fs.write_json(run.folder / "usage.json", {"format": "usage/1", "samples": SAMPLES})
    with pytest.MonkeyPatch.context() as changed:
        changed.delenv("MLFLOW_TRACKING_URI", raising=False)
        with connected(home) as client:
            client.search_experiments()
    return home


@pytest.fixture
def tiny(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A copy of that home, and its run; no tracking server is set, and nothing versions data here."""
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setattr(after, "_version", lambda run, home: None)
    home = tmp_path / "home"
    shutil.copytree(made, home)
    return SimpleNamespace(home=home, run=find_run(home))
