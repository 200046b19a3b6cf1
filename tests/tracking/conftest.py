from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

sys.path.append(str(Path(__file__).resolve().parents[1] / "report"))


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A small finished run below a fresh home, and no tracking server set."""
    import fake_runs

    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return fake_runs.make_tiny(tmp_path / "home")
