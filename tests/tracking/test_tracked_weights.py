"""Weights leave the home when somebody asks, and no sooner."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from sm_ops.cli import track
from sm_ops.core.errors import InputError
from sm_ops.tracking import runs, weights


def artifacts(home: Path) -> list[Path]:
    return sorted((home / "mlartifacts").rglob("weights/*/model"))


def test_weights_are_sent_on_request_alone(tiny: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SM_OPS_HOME", str(tiny.home))
    with pytest.raises(InputError, match="sm-ops track push"):
        weights.send_weights(tiny.run, tiny.home)
    runs.push(tiny.home)
    assert artifacts(tiny.home) == []
    done = CliRunner().invoke(track.app, ["weights", tiny.run.id])
    assert done.exit_code == 0, done.output
    # the fake run has models of three conditions and two seeds
    names = [f"{row}/seed_{seed}" for row in ("unmasked", "oracle", "random95") for seed in (0, 1)]
    assert done.stdout.split() == names
    assert "6 models" in done.stderr
    assert "0 too large" in done.stderr
    assert len(artifacts(tiny.home)) == 6
    assert all("planted.example" in path.read_text() for path in artifacts(tiny.home))  # what the fakes wrote


def test_large_ones_stay_pointers(tiny: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    runs.push(tiny.home)
    monkeypatch.setattr(weights, "LIMIT", 3)
    sent, too_large = weights.send_weights(tiny.run, tiny.home)
    assert (len(sent), len(too_large)) == (0, 6)
    assert artifacts(tiny.home) == []
