"""CPU time of a pipeline with Prefect and MLflow against the same stages called directly, side by side, as a ratio.

Run with `python benchmarks/overhead.py`. Goal: at most 5 % more. CPU seconds of a process count with all its children.
The smallest pipeline is shorter than Prefect's own start, so the parts are told apart: what is paid once (Prefect's
start, MLflow), and what each step costs; together they give the price on a pipeline of other size, such as `tiny`.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SMALLEST = str(ROOT / "tests" / "pipelines" / "smallest.yaml")
TINY_CPU_SECONDS = 900
"""CPU seconds of `sm-ops run tiny` by itself, measured once on two cores; another figure may be given as argument."""
DIRECT = """
import sys
from pathlib import Path
from sm_ops.core.config import load_pipeline, resolve
from sm_ops.core.home import home_folder
from sm_ops.report.surprise.html import write_report
from sm_ops.report.surprise.results import load_results, print_table
from sm_ops.runner import run_pipeline

run = run_pipeline(resolve(load_pipeline(sys.argv[1])), home_folder())
write_report(run, home_folder())
print_table(load_results(run, home_folder()))
"""


def cpu(home: Path, *arguments: str) -> float:
    """CPU seconds of `python ARGUMENTS` and of every process below it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "SM_OPS_HOME": str(home), "OMP_NUM_THREADS": "1"}
    environment.pop("MLFLOW_TRACKING_URI", None)
    subprocess.run([sys.executable, *arguments], env=environment, check=True, capture_output=True, cwd=home.parent)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def steps_of(config: str) -> int:
    from sm_ops.core.config import load_pipeline, resolve
    from sm_ops.plans import plan

    return len(plan(resolve(load_pipeline(config))))


def main() -> None:
    tiny = float(sys.argv[1]) if len(sys.argv) > 1 else TINY_CPU_SECONDS
    cli = ("-m", "sm_ops.cli")
    with tempfile.TemporaryDirectory() as folder:
        plain, flow = Path(folder, "plain"), Path(folder, "flow")
        direct = cpu(plain, "-c", DIRECT, SMALLEST)
        whole = cpu(flow, *cli, "run", SMALLEST, "--orchestrate")
        mlflow = cpu(plain, *cli, "track", "push")
        found = cpu(plain, *cli, "run", SMALLEST)
        # everything is found, so no task runs; the home of Prefect is fresh, as it was above
        prefect = cpu(plain, *cli, "run", SMALLEST, "--orchestrate") - found
    steps, tiny_steps = steps_of(SMALLEST), steps_of("tiny")
    once = prefect + mlflow
    each = max(whole - direct - once, 0) / steps
    print(f"smallest pipeline, {steps} steps: direct {direct:.1f} CPU s, with Prefect and MLflow {whole:.1f} CPU s")
    print(f"ratio: {whole / direct:.3f} (goal 1.05; this pipeline is shorter than Prefect's start)")
    print(f"paid once: Prefect's start {prefect:.1f} CPU s on a fresh home, MLflow {mlflow:.1f} CPU s")
    print(f"paid for each step: {each:.2f} CPU s")
    ratio = 1 + (once + each * tiny_steps) / tiny
    print(f"tiny, {tiny_steps} steps, {tiny:.0f} CPU s alone: ratio {ratio:.3f}, from the parts above (goal 1.05)")


if __name__ == "__main__":
    main()
