"""One run at a time on a GPU: who waits, for whom, and that the lock dies with its holder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from driving import ROOT

from sm_ops.core import exclusive

pytestmark = pytest.mark.unit

HOLD = """
import sys, time; from pathlib import Path; from sm_ops.core.exclusive import held
with held([Path(sys.argv[1])], print):
    print("held", flush=True)
    time.sleep(600)
"""


def test_the_next_waits_until_the_holder_is_killed(tmp_path: Path) -> None:
    device = tmp_path / "nvidia0"
    device.touch()
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(device)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert holder.stdout
    assert holder.stdout.readline() == "held\n"
    told: list[str] = []

    def waiting(sentence: str) -> None:
        told.append(sentence)
        holder.kill()  # nothing but its death frees the lock

    with exclusive.held([device], waiting):
        assert told == [f"waiting for process {holder.pid}, which runs on nvidia0"]
    holder.wait()
    holder.stdout.close()
    with exclusive.held([device], pytest.fail):  # freed when it was left
        pass


def test_a_process_that_the_holder_starts_does_not_keep_the_lock(tmp_path: Path) -> None:
    device = tmp_path / "nvidia0"
    device.touch()
    with exclusive.held([device], print):
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    with exclusive.held([device], pytest.fail):
        child.communicate()


@pytest.mark.parametrize(
    ("visible", "names"),
    [
        (None, ["nvidia0", "nvidia1", "nvidia10"]),
        ("1", ["nvidia1"]),
        ("2,0", ["nvidia0", "nvidia10"]),
        ("GPU-5c1a", ["nvidia0", "nvidia1", "nvidia10"]),
        ("7", ["nvidia0", "nvidia1", "nvidia10"]),
    ],
)
def test_the_gpus_that_are_visible_are_locked_in_one_order(
    visible: str | None, names: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("nvidia0", "nvidia1", "nvidia10", "nvidiactl", "nvidia-uvm", "null"):
        (tmp_path / name).touch()
    monkeypatch.setattr(exclusive, "_DEVICES", tmp_path)
    monkeypatch.setattr(exclusive, "device_class", lambda: "cuda")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert [path.name for path in exclusive.gpus()] == names


def test_a_machine_without_a_gpu_has_nothing_to_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert exclusive.gpus() == []
