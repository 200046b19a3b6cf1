"""What a run takes of the machine, sampled while it runs: it says how the run went, and never what it is.

Names are those of MLflow's system metrics where it has one, so that its page shows them as such.
"""

from __future__ import annotations

import os
import subprocess
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from sm_ops.core import fs

FORMAT = "usage/1"
FILE = "usage.json"
MOST = 120
"""Samples that are kept: when there are more, every second one goes and the time between two doubles."""

GPU_DEVICE = Path("/dev/nvidiactl")
_MEGABYTE = 1 << 20
_GPU = ("utilization_percentage", "memory_usage_megabytes", "power_usage_watts")
_ASK_GPUS = ("nvidia-smi", "--query-gpu=utilization.gpu,memory.used,power.draw", "--format=csv,noheader,nounits")

Sample = dict[str, float]
"""`time` (seconds since 1970), `cpu_utilization_percentage` (of all cores), `system_memory_usage_megabytes`,
`run_memory_megabytes` (resident memory of the run's processes, what they share counted once each),
`disk_available_megabytes` (below the home), and the three of `_GPU` as `gpu_N_...` where there are GPUs."""


class Usage:
    """Samples from entry to exit, in a thread of its own; a sample that fails is left out and harms nothing."""

    def __init__(self, home: Path, seconds: float = 1.0) -> None:
        self._home = home
        self._seconds = seconds
        self._samples: list[Sample] = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="usage", daemon=True)
        self._gpus = GPU_DEVICE.exists()

    def __enter__(self) -> Usage:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def save(self, run: Path) -> None:
        """Write `usage.json` into a run's folder, unless an earlier process that made the run has."""
        import psutil

        machine = {"cores": os.cpu_count(), "memory_megabytes": psutil.virtual_memory().total // _MEGABYTE}
        if not (run / FILE).is_file():
            fs.write_json(run / FILE, {"format": FORMAT, "machine": machine, "samples": self._samples})

    def _watch(self) -> None:
        import psutil

        psutil.cpu_percent()  # counts from here on
        last = False
        while not last:
            last = self._ended.wait(self._seconds)
            with suppress(OSError, psutil.Error):
                self._samples.append(self._sample())
            if len(self._samples) > MOST:
                del self._samples[::2]
                self._seconds *= 2

    def _sample(self) -> Sample:
        import psutil

        sample = {
            "time": round(time.time(), 3),
            "cpu_utilization_percentage": psutil.cpu_percent(),
            "system_memory_usage_megabytes": round(psutil.virtual_memory().used / _MEGABYTE, 1),
            "run_memory_megabytes": round(_resident() / _MEGABYTE, 1),
            "disk_available_megabytes": round(psutil.disk_usage(str(self._home)).free / _MEGABYTE, 1),
        }
        return sample | (self._sample_gpus() if self._gpus else {})

    def _sample_gpus(self) -> Sample:
        """Of every GPU of the machine; one that does not answer, or not in numbers, is not asked again."""
        try:
            answer = subprocess.run(_ASK_GPUS, capture_output=True, text=True, timeout=5, check=True).stdout
            rows = [[float(value) for value in line.split(",")] for line in answer.splitlines()]
        except (OSError, subprocess.SubprocessError, ValueError):
            self._gpus = False
            return {}
        return {f"gpu_{n}_{name}": value for n, row in enumerate(rows) for name, value in zip(_GPU, row, strict=True)}


def read_samples(run: Path) -> list[Sample]:
    """The samples that lie in a run's folder, in the order of time; none for a run without or of another version."""
    try:
        found = fs.read_json(run / FILE)
    except (FileNotFoundError, ValueError):
        return []
    return found["samples"] if found.get("format") == FORMAT else []


def _resident() -> int:
    """Resident memory in bytes of this process and all below it; one that ends meanwhile counts nothing."""
    import psutil

    own = psutil.Process()
    total = 0
    for process in (own, *own.children(recursive=True)):
        with suppress(psutil.Error):
            total += process.memory_info().rss
    return total
