"""Call `sm-ops` in the process of a test: the same entry point, streams and exit code, without a new interpreter."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import pytest

from sm_ops.cli import main


@dataclass(frozen=True)
class Called:
    """What a command printed, and its exit code."""

    returncode: int
    stdout: str
    stderr: str


def call_cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str) -> Called:
    """Run one command to its end."""
    capsys.readouterr()
    monkeypatch.setattr(sys, "argv", ["sm-ops", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr()
    return Called(int(ended.value.code or 0), said.out, said.err)
