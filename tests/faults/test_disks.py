"""A full or a read-only disk is one sentence and exit code 2; nothing half-written is found later."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from driving import SMALLEST, copy_home, hashes, run_cli, run_steps

from sm_ops.stages import SURPRISE


def _mount(folder: Path, *options: str) -> None:
    done = subprocess.run(["mount", *options, str(folder)], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"this user may not mount: {done.stderr.strip()}")


@pytest.fixture
def small_disk(tmp_path):
    """A disk of its own; `size` sets how many bytes it has."""
    if os.geteuid() or not shutil.which("mount"):
        pytest.skip("a disk of a chosen size needs root and mount")
    folder = tmp_path / "disk"
    folder.mkdir()
    _mount(folder, "-t", "tmpfs", "-o", "size=300m", "tmpfs")
    yield folder
    with contextlib.suppress(OSError):
        subprocess.run(["umount", "-l", str(folder)], check=False)


def resize(disk: Path, size: int) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size}", str(disk)], check=True)


def used(disk: Path) -> int:
    status = os.statvfs(disk)
    return (status.f_blocks - status.f_bfree) * status.f_frsize


def sentence_of(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    (sentence,) = [line for line in done.stderr.splitlines() if line.startswith("sm-ops:")]
    return sentence


ROOM = {"audit": 0, "calibrate": 4096, "attack": 4096, "evaluate": 4096}
"""Bytes that are left for a stage; the others get somewhat more, to fail in the middle of their writing."""


@pytest.mark.parametrize(
    "stage", [pytest.param(s.name, marks=[] if s.name == "score" else pytest.mark.slow) for s in SURPRISE]
)
def test_a_full_disk_in_each_stage(stage, finished_home, small_disk):
    home = copy_home(finished_home, small_disk / "home", without=stage)
    resize(small_disk, used(small_disk) + ROOM.get(stage, 24_576))
    done = run_cli("run", str(SMALLEST), "--jobs", "1", home=home)
    assert sentence_of(done).startswith("sm-ops: No space left on device")
    resize(small_disk, 300_000_000)
    run_steps(home)
    assert hashes(home) == hashes(finished_home)


@pytest.fixture
def read_only(finished_home, tmp_path):
    """A finished home on a disk that cannot be written to."""
    home = copy_home(finished_home, tmp_path / "home", without="evaluate")
    if os.geteuid():
        pytest.skip("a read-only disk needs root and mount; root's writes ignore permissions")
    _mount(home, "--bind", str(home))
    _mount(home, "-o", "remount,ro,bind")
    yield home
    subprocess.run(["umount", "-l", str(home)], check=False)


def test_a_read_only_disk(read_only, finished_home, tmp_path):
    done = run_cli("run", str(SMALLEST), "--jobs", "1", home=read_only)
    assert sentence_of(done).startswith("sm-ops: Read-only file system below")
    assert "SM_OPS_HOME" in done.stderr
    shown = run_cli("show", "--config", str(SMALLEST), home=read_only)
    assert shown.returncode == 0, "what is stored can still be read"
    assert "would run" in shown.stdout
    subprocess.run(["mount", "-o", "remount,rw,bind", str(read_only)], check=True)
    run_steps(read_only)
    assert hashes(read_only) == hashes(finished_home)


@pytest.mark.skipif(os.geteuid() == 0, reason="root's writes ignore permissions; the read-only disk stands for this")
def test_a_home_without_permission(tmp_path):
    (tmp_path / "home").mkdir(mode=0o500)
    done = run_cli("run", str(SMALLEST), "--jobs", "1", home=tmp_path / "home")
    assert sentence_of(done).startswith("sm-ops: Permission denied")
