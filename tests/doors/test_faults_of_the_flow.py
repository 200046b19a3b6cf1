from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from doors import SMALLEST, call, environment, sm_ops
from processes import arguments, living, variables

pytestmark = pytest.mark.xdist_group("doors")

PLANTED = "svc-qzx-81f7@planted.example"
FAILING = """
import sys
from pathlib import Path
from flows import _run
from sm_ops.core.errors import StageError
from sm_ops.core.pool import Pool

def fail(self, step, upstream):
    try:
        raise KeyError({planted!r})
    except KeyError as inner:
        raise {error} from inner

Pool.run = fail
_run.end_with_parent = lambda: None
sys.exit(_run.main("flows.surprise", ["--inside", sys.argv[1]]))
"""


def database(home: Path) -> str:
    """Every value of every table of Prefect's database."""
    with sqlite3.connect(home / "prefect" / "prefect.db") as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return "\n".join(repr(row) for table in tables for row in connection.execute(f'SELECT * FROM "{table}"'))


def processes_of(home: Path) -> list[str]:
    """Command lines of the living processes whose home folder is this one."""
    return [" ".join(arguments(pid)) for pid in living() if f"SM_OPS_HOME={home}" in variables(pid)]


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (f"ValueError({PLANTED!r})", 1, "Internal error: ValueError"),
        pytest.param(
            "StageError('audit-failed', 'Two sets share a value.')",
            3,
            "Two sets share a value. [audit-failed]",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_of_a_failure_prefect_learns_code_and_hint_alone(
    tmp_path: Path, error: str, code: int, sentence: str
) -> None:
    home = tmp_path / "home"
    resolved = tmp_path / "resolved.json"
    resolved.write_text(call(sm_ops("validate", str(SMALLEST), "--resolve"), tmp_path, home).stdout)
    script = FAILING.format(planted=PLANTED, error=error)
    done = call([sys.executable, "-c", script, str(resolved)], tmp_path, home)
    assert done.returncode == code, done.stderr
    stored = database(home)
    assert sentence in stored
    assert sentence in done.stderr
    for seen in (stored, done.stdout, done.stderr):
        assert PLANTED not in seen
        assert "Traceback" not in seen


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_an_interrupted_flow_ends_in_order_and_leaves_no_process(tmp_path: Path, number: signal.Signals) -> None:
    home = tmp_path / "home"
    process = subprocess.Popen(
        sm_ops("run", str(SMALLEST), "--orchestrate"),
        cwd=tmp_path,
        env=environment(home),
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 240
    while not any("sm_ops.core.worker" in command for command in processes_of(home)):
        assert process.poll() is None, process.stderr
        assert time.monotonic() < deadline
        time.sleep(0.2)
    os.killpg(process.pid, number)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in said
    time.sleep(0.5)
    assert processes_of(home) == []
    assert "Crashed" in database(home)
