"""The three doors to one pipeline: the plain run, the Prefect flow, and `dvc repro`; each with a home of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
SMALLEST = ROOT / "tests" / "pipelines" / "smallest.yaml"


def environment(home: Path, **more: str) -> dict[str, str]:
    """What a door sees: its home, one thread, and no setting of the person who runs the tests."""
    own = ("PREFECT_", "MLFLOW_", "SM_OPS_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(own)}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**kept, "PATH": path, "SM_OPS_HOME": str(home), "OMP_NUM_THREADS": "1", "DVC_NO_ANALYTICS": "1", **more}


def call(command: list[str], folder: Path, home: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; the caller looks at the exit code."""
    return subprocess.run(
        command, cwd=folder, env=environment(home, **more), capture_output=True, text=True, check=False, timeout=500
    )


def sm_ops(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "sm_ops.cli", *arguments]


def write_config(folder: Path, **changes: dict) -> Path:
    """The smallest pipeline, and less: two masks beside the unmasked condition."""
    config = yaml.safe_load(SMALLEST.read_text())
    config["masking"] |= {"targets": [0.95], "baselines": {"random": [], "goldfish": []}}
    for section, values in changes.items():
        config[section] = config.get(section, {}) | values
    path = folder / "pipeline.yaml"
    path.write_text(yaml.safe_dump(config))
    return path


def dvc_repository(folder: Path, config: Path, home: Path) -> None:
    """A git repository with the DVC settings of ours and the pipeline that `sm-ops init` writes."""
    folder.mkdir()
    shutil.copytree(ROOT / ".dvc", folder / ".dvc", ignore=shutil.ignore_patterns("tmp", "cache", "config.local"))
    (folder / ".gitignore").write_text("/out/\n")
    assert call(["git", "init", "--quiet", "."], folder, home).returncode == 0
    assert call(sm_ops("init", str(config)), folder, home).returncode == 0


def hashes(home: Path) -> dict[str, str]:
    """Content hash of every output of every step."""
    records = [json.loads(path.read_text()) for path in (home / "store").glob("*/*/record.json")]
    return {
        f"{record['step']}/{name}": output["sha256"]
        for record in records
        for name, output in record["outputs"].items()
    }
