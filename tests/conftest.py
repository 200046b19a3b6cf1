"""Every test: one thread, no network, no telemetry, and a home of its own."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from types import SimpleNamespace

os.environ |= {
    "OMP_NUM_THREADS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "HF_HUB_OFFLINE": "1",
    "HF_DATASETS_OFFLINE": "1",
    "DO_NOT_TRACK": "true",
    "NO_COLOR": "1",
}

import pytest
from driving import SMALLEST, run_cli
from own_corpus import OwnCorpus

ROOT = Path(__file__).resolve().parents[1]

# A background job without job control ignores Ctrl-C, and its children would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _own_home(tmp_path, monkeypatch):
    """No test finds or leaves results in the project's own `.sm-ops`."""
    monkeypatch.setenv("SM_OPS_HOME", str(tmp_path / "home"))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder `shared` beside the repository: specification, cases, notes."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip(f"{folder} is not there: these tests read the specification's files")
    return folder


@pytest.fixture(scope="session")
def finished_home(tmp_path_factory) -> Path:
    """A home in which the smallest pipeline has run once, by one worker. Read it, or change a copy."""
    home = tmp_path_factory.mktemp("finished") / "home"
    done = run_cli("run", str(SMALLEST), "--jobs", "1", home=home)
    assert done.returncode == 0, done.stderr
    return home


@pytest.fixture(scope="session")
def audited(tmp_path_factory) -> SimpleNamespace:
    """The smallest audit of own documents (`own`) has run once: its `home`, and what the command said (`done`)."""
    own = OwnCorpus(tmp_path_factory.mktemp("corpus") / "data")
    home = tmp_path_factory.mktemp("audited") / "home"
    done = run_cli("run", str(own.config), home=home)
    assert done.returncode == 0, done.stderr
    return SimpleNamespace(own=own, home=home, done=done)
