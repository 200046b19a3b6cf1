"""The pages on operations, typed line by line against one real stack with PostgreSQL and S3.

What is not typed here names the test that does it, or says what it takes: an account, another machine.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from driving import ROOT, SMALLEST
from processes import arguments, living, variables

PAGES = ROOT / "docs" / "how-to"

TYPED = ("serve", "nightly", "version", "track", "backup", "upgrade")
"""Pages whose lines are typed, in this order."""

ELSEWHERE = {
    r"sm-ops serve --dev$": "tests/stack/test_stack_dev.py",
    r"sm-ops serve$": "tests/stack/test_stack_postgres.py",
    r"python -m flows.worker": "tests/survival/test_survival_runs.py",
    r"sm-ops show 1f706f8": "tests/versioning/test_data_versions.py",
    r"git clone team-server": "another machine",
    r"dvc ": "tests/doors/test_three_doors.py",
    r"sm-ops init": "tests/versioning/test_pipeline_files.py",
    r"mlflow ui": "a browser",
    r"export MLFLOW_TRACKING_URI=https": "another machine",
    r"set -a": "a shell that goes on; tests/stack/running_stack.py reads the file",
}
"""Lines of typed pages that are not typed: by whom they are run, or what they take."""

OTHER_PAGES = {
    "gpus": "tests/training/test_distributed.py",
    "ray": "tests/scaleout/test_ray_cluster.py",
    "sagemaker": "tests/sagemaker/test_job_end_to_end.py",
    "containers": "tests/infra/test_containers.py",
    "single-host": "a host of its own",
}

CODES = {"sm-ops doctor": (0, 3)}
"""Exit codes beside 0: the pool of the example has no worker, which needs a person."""


def lines(page: str) -> list[str]:
    """The commands of a page's fenced blocks without a language."""
    text = (PAGES / f"{page}.md").read_text(encoding="utf-8")
    found = "".join(re.findall(r"^```\n(.*?)^```", text, re.DOTALL | re.MULTILINE)).splitlines()
    commands = r"(\w+=\S+ )?(sm-ops|python|dvc|git clone|mlflow ui|export|set -a)\b"
    return [line for line in found if re.match(commands, line)]


def is_typed(line: str) -> bool:
    return not any(re.search(pattern, line) for pattern in ELSEWHERE)


@pytest.mark.unit
def test_what_is_not_typed_is_run_elsewhere_or_says_what_it_takes():
    for name in (*ELSEWHERE.values(), *OTHER_PAGES.values()):
        assert (ROOT / name).is_file() or not name.startswith("tests/") or " " in name, name
    for page in (*TYPED, *OTHER_PAGES):
        assert (PAGES / f"{page}.md").is_file()
    every = [line for page in TYPED for line in lines(page)]
    assert all(any(re.search(pattern, line) for line in every) for pattern in ELSEWHERE)


@pytest.fixture(scope="module")
def place(finished_home):
    folder = Path(tempfile.mkdtemp(prefix="sm-ops-test-"))
    folder.chmod(0o711)  # PostgreSQL, which does not run as root, passes through
    home = shutil.copytree(finished_home, folder / "home")
    (home / "configs").mkdir(exist_ok=True)
    shutil.copy(SMALLEST, home / "configs" / "ours.yaml")
    (run,) = (path.parent.name for path in home.glob("runs/*/run.json"))
    example = re.search(r"^(format: .*?)^```", (PAGES / "nightly.md").read_text(), re.DOTALL | re.MULTILINE)
    (folder / "my_deployments.yaml").write_text(example[1].replace("s3://our-releases/", "s3://releases/"))
    own = ("PREFECT_", "MLFLOW_", "SM_OPS_", "AWS_")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(own)}
    environment |= {"SM_OPS_HOME": str(home), "OMP_NUM_THREADS": "1"}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    made = SimpleNamespace(folder=folder, run=run, environment=environment)
    yield made
    typed(made, "sm-ops serve stop")
    assert [arguments(pid) for pid in living() if f"SM_OPS_HOME={home}" in variables(pid)] == []
    shutil.rmtree(folder)


def typed(place, line: str) -> subprocess.CompletedProcess[str]:
    """Run a line as it stands, with the places of this test."""
    for there, here in {
        "tiny-0a1b": place.run,
        "/backups/": f"{place.folder}/",
        "/srv/restored": f"{place.folder}/restored",
        "/mnt/share": f"{place.folder}/share",
        "s3://our-restricted-bucket": "s3://dvc-restricted",
    }.items():
        line = line.replace(there, here)
    line = re.sub(r"^sm-ops run$", f"sm-ops run {SMALLEST}", line)
    return subprocess.run(
        ["bash", "-c", line], cwd=place.folder, env=place.environment, capture_output=True, text=True, timeout=300,
        check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pg_dump") is None, reason="PostgreSQL is not installed")
@pytest.mark.parametrize("page", TYPED)
def test_every_line_does_what_the_page_says(page, place):
    (place.folder / "share").mkdir(exist_ok=True)
    typed(place, "sm-ops vault init")
    for line in filter(is_typed, lines(page)):
        done = typed(place, line)
        assert done.returncode in CODES.get(line, (0,)), f"{line}\n{done.stdout[-1500:]}\n{done.stderr[-1500:]}"
        assert "Traceback" not in done.stdout + done.stderr, line
