from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from sm_ops.core import usage
from sm_ops.core.usage import Usage, read_samples

pytestmark = pytest.mark.unit


def test_a_run_leaves_samples_of_itself_and_the_machine(tmp_path: Path) -> None:
    before = time.time()
    with Usage(tmp_path, seconds=0.01) as watched:
        time.sleep(0.05)
    watched.save(tmp_path)
    samples = read_samples(tmp_path)
    assert samples
    assert all(before <= sample["time"] <= time.time() for sample in samples)
    assert all(10 < sample["run_memory_megabytes"] < 100_000 for sample in samples)
    assert samples[0].keys() == {
        "time", "cpu_utilization_percentage", "system_memory_usage_megabytes", "run_memory_megabytes",
        "disk_available_megabytes",
    }  # fmt: skip
    assert json.loads((tmp_path / "usage.json").read_text())["machine"]["cores"] >= 1


def test_the_process_that_made_a_run_is_the_one_that_is_remembered(tmp_path: Path) -> None:
    contents = []
    for _ in range(2):
        with Usage(tmp_path, seconds=0.01) as watched:
            pass
        watched.save(tmp_path)
        contents.append((tmp_path / "usage.json").read_text())
    assert contents[0] == contents[1]


def test_a_long_run_keeps_a_bounded_number_of_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usage, "MOST", 6)
    with Usage(tmp_path, seconds=0.001) as watched:
        time.sleep(0.2)
    watched.save(tmp_path)
    samples = read_samples(tmp_path)
    assert 2 <= len(samples) <= 6
    assert [sample["time"] for sample in samples] == sorted(sample["time"] for sample in samples)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("echo '17, 9, 81.5'; echo '0, 3, 20.0'", {"gpu_0_utilization_percentage": 17, "gpu_1_power_usage_watts": 20}),
        ("echo '[N/A], 3, 20.0'", {}),
        ("exit 9", {}),
    ],
)  # fmt: skip
def test_gpus_are_told_where_they_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, expected: dict[str, float]
) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{answer}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(usage, "GPU_DEVICE", tmp_path)
    with Usage(tmp_path, seconds=0.01) as watched:
        pass
    watched.save(tmp_path)
    (sample, *_) = read_samples(tmp_path)
    assert {name: sample[name] for name in expected} == expected
    assert bool(expected) == any(name.startswith("gpu_") for name in sample)


def test_a_run_of_an_earlier_version_has_none(tmp_path: Path) -> None:
    assert read_samples(tmp_path) == []
    (tmp_path / "usage.json").write_text('{"format": "usage/0"}')
    assert read_samples(tmp_path) == []
