"""A home, and the command line over it."""

from __future__ import annotations

from pathlib import Path

import pytest
from calling import call_cli


@pytest.fixture
def home(tmp_path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def sm_ops(monkeypatch, capsys):
    def call(*arguments: str, code: int = 0):
        done = call_cli(monkeypatch, capsys, *arguments)
        assert done.returncode == code, done.stderr
        return done

    return call
