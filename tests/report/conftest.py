from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import fake_runs
import pytest


@pytest.fixture
def tiny(tmp_path: Path) -> SimpleNamespace:
    return fake_runs.make_tiny(tmp_path / "home")


@pytest.fixture(scope="session")
def prototype(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    return fake_runs.make_prototype(tmp_path_factory.mktemp("prototype"))
