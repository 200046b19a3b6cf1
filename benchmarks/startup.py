"""Start-up of `sm-ops --help` in CPU seconds, beside a bare interpreter: `python -m benchmarks.startup`.

Goal: under 0.5 CPU seconds.
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys

REPEATS = 7
CASES = {
    "python -c pass": ("-c", "pass"),
    "sm-ops --help": ("-m", "sm_ops.cli", "--help"),
    "sm-ops ls": ("-m", "sm_ops.cli", "ls"),
}


def cpu_seconds(arguments: tuple[str, ...]) -> float:
    """User and system time of one interpreter from its start to its end."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Take turns, so that a busy machine troubles all alike; print medians and their ratio to the bare start."""
    times = {name: [] for name in CASES}
    for _ in range(REPEATS):
        for name, arguments in CASES.items():
            times[name].append(cpu_seconds(arguments))
    bare = statistics.median(times["python -c pass"])
    for name, measured in times.items():
        seconds = statistics.median(measured)
        print(f"{name:<16} {seconds:.3f} CPU s   {seconds / bare:5.1f} x")


if __name__ == "__main__":
    main()
