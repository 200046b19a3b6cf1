"""Our own modules as processes: of this source, whatever lies in the present folder, and ended with their parent."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from calling import call_cli

from sm_ops.core import processes

pytestmark = pytest.mark.unit

ROOT = Path(__file__).resolve().parents[2]


def program(folder: Path, text: str) -> Path:
    """A source with a module of the name of one of ours."""
    (folder / "flows").mkdir(parents=True)
    (folder / "flows" / "__init__.py").touch()
    (folder / "flows" / "_process.py").write_text(text)
    return folder


def test_a_package_of_the_same_name_in_the_present_folder_is_not_run(tmp_path):
    program(tmp_path, "print('theirs')")
    done = subprocess.run(
        processes.command("flows._process"), env=processes.environment(), cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_a_copy_of_the_source_runs_its_own_modules(tmp_path, monkeypatch):
    copy = program(tmp_path / "copy", "print('of the copy')")
    for package in ("sm_ops", "sm_ops/core"):
        (copy / package).mkdir()
        (copy / package / "__init__.py").touch()
    shutil.copy(ROOT / "sm_ops" / "core" / "processes.py", copy / "sm_ops" / "core")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    code = "from sm_ops.core import processes; processes.become('flows._process')"
    done = subprocess.run([sys.executable, "-c", code], cwd=copy, capture_output=True, text=True)
    assert done.stdout == "of the copy\n", done.stderr


def test_nothing_starts_one_of_our_modules_otherwise():
    """A container names its entry point itself, and is the sole process in it."""
    files = [path for folder in ("sm_ops", "flows") for path in (ROOT / folder).rglob("*.py")]
    found = {path.name for path in files if re.search(r'(sys\.executable|"python"),[^\]]*"-m"', path.read_text())}
    assert found == {"processes.py", "request.py"}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_process_ends_when_its_parent_has_gone(number):
    code = f"import time; from sm_ops.core.processes import *; end_with_parent({int(number)}); time.sleep(60)"
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    child.communicate(timeout=30)
    assert child.returncode == -number


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["release", "build", "notes@1.0", "--run", "tiny", "--orchestrate"],
            "flows.release build notes@1.0 --run tiny",
        ),
        (["release", "expire", "--orchestrate"], "flows.release expire"),
        (["deploy", "--status", "--json"], "flows.deploy status --json"),
        (["deploy", "mine.yaml"], "flows.deploy apply mine.yaml"),
    ],
)
def test_every_flow_finds_the_servers_of_the_stack(arguments, words, monkeypatch, capsys):
    monkeypatch.setattr("sm_ops.stack.client.use", lambda home: os.environ.update(PREFECT_API_URL="of the stack"))
    monkeypatch.setenv("PREFECT_API_URL", "")

    def become(path, command, environment):
        print(json.dumps([command[command.index("-m") + 1 :], environment["PREFECT_API_URL"]]))
        raise SystemExit(0)

    monkeypatch.setattr(os, "execve", become)
    done = call_cli(monkeypatch, capsys, *arguments)
    assert json.loads(done.stdout) == [words.split(), "of the stack"]
