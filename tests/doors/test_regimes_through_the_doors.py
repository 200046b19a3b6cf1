"""LoRA on chats, GPT-2 from scratch, an audit: all three doors give equal hashes for every output of every step."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from doors import ROOT, call, dvc_repository, hashes, sm_ops

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("doors")]


@pytest.mark.parametrize("regime", ["lora_chat", "scratch"])
def test_every_door_gives_equal_hashes(regime: str, tmp_path: Path) -> None:
    settings = yaml.safe_load((ROOT / "tests" / "pipelines" / f"{regime}.yaml").read_text())
    settings["masking"] |= {"targets": [0.95], "baselines": {"random": [], "goldfish": []}}
    found = through_the_doors(settings, tmp_path)
    assert {"train@SM95-0/model", "attack@base-0/outcomes.json"} <= found["plain"].keys()
    assert found["flow"] == found["plain"]
    assert found["dvc"] == found["plain"]


def test_an_audit_gives_equal_hashes(tmp_path: Path) -> None:
    settings = yaml.safe_load((ROOT / "tests" / "pipelines" / "audit_smallest.yaml").read_text())
    settings["defences"] = {"undefended": {}, "dp": {"private": True}}
    settings["attacks"] = {name: settings["attacks"][name] for name in ("extraction", "membership")}
    found = through_the_doors(settings, tmp_path)
    assert {"audit_train@dp-0/model", "audit_measure@base-0/measures.json"} <= found["plain"].keys()
    assert found["flow"] == found["plain"]
    assert found["dvc"] == found["plain"]


def through_the_doors(settings: dict, tmp_path: Path) -> dict[str, dict[str, str]]:
    """Hashes of every output by door."""
    config = tmp_path / "pipeline.yaml"
    config.write_text(yaml.safe_dump(settings))
    repository = tmp_path / "repository"
    dvc_repository(repository, config, tmp_path / "dvc")
    doors = {
        "plain": (sm_ops("run", str(config)), tmp_path),
        "flow": (sm_ops("run", str(config), "--orchestrate"), tmp_path),
        "dvc": (["dvc", "--wait-for-lock", "repro"], repository),
    }
    found = {}
    for door, (command, folder) in doors.items():
        done = call(command, folder, tmp_path / door)
        assert done.returncode == 0, done.stdout + done.stderr
        found[door] = hashes(tmp_path / door)
    return found
