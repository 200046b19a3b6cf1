"""Programs of unknown making: what they may do, what they cannot, and how an evaluation goes on after them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy
import pytest
from hostile import BOMBS, PROBES

from sm_ops.core.errors import InputError
from sm_ops.evaluation import sandbox
from sm_ops.evaluation.sandbox import available

ROOT = Path(__file__).resolve().parents[2]
MARKER = f"marker-of-{os.getpid()}"
COMMAND = ("python", "tests.py")
HELPERS = {"helper/__init__.py": b"", "helper/deep.py": b"VALUE = 7", "data.bin": bytes(range(256))}
# The system calls that no C library has a name for: keyctl, bpf, io_uring_setup, open_tree, fsopen, mount_setattr.
CALLS = {"x86_64": [250, 321, 425, 428, 430, 442], "aarch64": [219, 280, 425, 428, 430, 442]}


@pytest.fixture(params=["found", pytest.param("namespace", marks=pytest.mark.slow)])
def kind(request, monkeypatch, tmp_path) -> Iterator[str]:
    """What isolates here, and our own namespaces where that is bubblewrap."""
    available._found.cache_clear()
    if request.param == "namespace":
        monkeypatch.setenv("PATH", str(tmp_path))
    if sandbox.isolation() == "refused":
        tell = pytest.fail if request.param == "namespace" and _namespaces_are_to_be_had() else pytest.skip
        tell(f"nothing keeps a program in here: {available._found()[1]}")
    yield sandbox.isolation()
    available._found.cache_clear()


@pytest.fixture
def facts(tmp_path, monkeypatch) -> Iterator[dict[str, Any]]:
    """What lies outside and is to stay there; what a program could reach is looked at afterwards."""
    home = tmp_path / "user"
    secrets = [home / ".ssh" / MARKER, home / "project" / ".sm-ops" / "vault" / MARKER, tmp_path / "home" / MARKER]
    for secret in secrets:
        secret.parent.mkdir(parents=True, exist_ok=True)
        secret.write_text(MARKER)
    monkeypatch.setenv("API_KEY", MARKER)
    monkeypatch.chdir(home)
    python = sorted({sys.prefix, sys.base_prefix, os.path.realpath(sys.base_prefix)})
    with socket.create_server(("127.0.0.1", 0)) as tcp, _listening(f"\0{MARKER}") as abstract, _listening("s") as unix:
        yield {
            "secrets": [str(secret) for secret in (*secrets, ROOT / "pyproject.toml")],
            "marker": MARKER,
            "home": str(Path.home()),
            "python": python,
            "python_ways": [str(way) for prefix in python for way in (Path(prefix), *Path(prefix).parents)],
            "library": numpy.__file__,
            "port": tcp.getsockname()[1],
            "abstract": f"\0{MARKER}",
            "socket": str(home / "s"),
            "processes": [os.getpid(), os.getppid()],
            "calls": CALLS[os.uname().machine],
        }
        for server in (tcp, abstract, unix):
            server.setblocking(False)
            with pytest.raises(BlockingIOError):
                server.accept()
    assert [secret.read_text() for secret in secrets] == [MARKER] * 3


def test_an_evaluation_goes_on_after_programs_that_break_out_and_break_down(kind, facts):
    probes = ["innocent", "home_vault_environment", "write_outside", "sockets", "signals", "symlinks", "privileges"]
    bombs = ["fork_bomb", "endless_output", "one_allocation", "endless_sleep", "raising"]
    sources = [PROBES[name] for name in probes] + [BOMBS[name][0] for name in bombs] + [PROBES["innocent"]]
    limits = sandbox.Limits(seconds=2)
    outcomes = sandbox.run_all([_program(source, facts) for source in sources], limits, workers=2)
    ends = ["processes", "output", "memory", "timeout", "failed"]
    assert [outcome.reason for outcome in outcomes] == ["passed"] * 7 + ends + ["passed"]
    assert [outcome.passed for outcome in outcomes] == [True] * 7 + [False] * 5 + [True]
    assert all(outcome.seconds > 0 for outcome in outcomes)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROBES)
def test_a_program_does_its_work_and_finds_no_way_out(kind, facts, name):
    program = _program(PROBES[name], facts)
    outcome = sandbox.run(*program)
    assert (outcome.passed, outcome.reason) == (True, "passed")
    assert not _with_marker()


@pytest.mark.slow
@pytest.mark.parametrize("name", BOMBS)
def test_a_program_without_measure_is_ended_with_the_reason(kind, facts, name):
    source, reasons, limits = BOMBS[name]
    outcome = sandbox.run(*_program(source, facts), sandbox.Limits(**limits))
    assert outcome.reason in reasons
    assert not outcome.passed


@pytest.mark.slow
def test_nothing_of_a_program_outlives_the_process_that_runs_it(kind, facts):
    script = (
        "import sys; from sm_ops.evaluation import sandbox\n"
        f"sandbox.run({{}}, ['python', '-c', 'import time; time.sleep(300)', {MARKER!r}], sandbox.Limits(seconds=300))"
    )
    outer = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)})
    try:
        _until(lambda: len(_with_marker()) >= 2)
    finally:
        outer.kill()
        outer.wait()
    _until(lambda: not _with_marker())


@pytest.mark.slow
def test_an_interrupt_ends_what_runs(kind):
    sleeping = sandbox.Program({}, ("python", "-c", "import time; time.sleep(300)", MARKER))
    interrupt = threading.Timer(1.5, os.kill, [os.getpid(), signal.SIGINT])
    interrupt.start()
    with pytest.raises(KeyboardInterrupt):
        sandbox.run_all([sleeping] * 4, sandbox.Limits(seconds=300), workers=2)
    _until(lambda: not _with_marker())


@pytest.mark.slow
def test_a_command_that_cannot_be_started_is_the_callers_mistake(kind):
    with pytest.raises(InputError, match="no-such-command does not start in the sandbox: No such file"):
        sandbox.run({}, ["no-such-command"])


@pytest.mark.slow
@pytest.mark.parametrize("path", ["/usr/bin:/bin", "/bin-without-bubblewrap"])
def test_a_user_without_privileges_has_the_same_walls(facts, path):
    """Run by another user, whose programs are its own: what shields here are namespaces and the filter alone."""
    python = _python_for_all()
    programs = {name: (_source(PROBES[name], facts), {}) for name in PROBES} | {
        name: (_source(source, facts), limits) for name, (source, _, limits) in BOMBS.items()
    }
    script = (
        "import json, sys; from sm_ops.evaluation import sandbox\n"
        "def reason(source, limits):\n"
        f"    files = {{**{HELPERS!r}, 'tests.py': source.encode()}}\n"
        "    return sandbox.run(files, ['python3', 'tests.py'], sandbox.Limits(**limits)).reason\n"
        "print(json.dumps([sandbox.isolation()] + [reason(*program) for program in json.load(sys.stdin)]))"
    )
    done = subprocess.run(
        [python, "-c", script],
        input=json.dumps(list(programs.values())),
        env={"PATH": path, "PYTHONPATH": str(ROOT), "HOME": "/nonexistent", "API_KEY": MARKER},
        cwd="/",
        user=65_534,
        group=65_534,
        extra_groups=[],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    isolation, *reasons = json.loads(done.stdout)
    if isolation == "refused":
        pytest.skip("this machine lets no other user make namespaces")
    assert isolation == ("bubblewrap" if shutil.which("bwrap", path=path) else "namespace")
    found = dict(zip(programs, reasons, strict=True))
    assert {name: found[name] for name in PROBES} == dict.fromkeys(PROBES, "passed")
    assert [name for name in BOMBS if found[name] not in BOMBS[name][1]] == []


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can lay its privileges down")
def test_where_nothing_keeps_programs_in_they_are_refused(tmp_path):
    script = (
        "from sm_ops.evaluation import sandbox\nprint(sandbox.isolation())\n"
        "try: sandbox.run({}, ['python', '-c', ''])\nexcept Exception as error: print(type(error).__name__, error)"
    )
    command = ["setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin", sys.executable, "-c", script]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    words = done.stdout.splitlines()
    assert words[0] == "refused"
    assert words[1].startswith("InputError No generated program is run, since nothing keeps it in (bubblewrap: ")
    assert all(each in words[1] for each in ("Operation not permitted", "`make sandbox`", "[no-sandbox]"))


def _namespaces_are_to_be_had() -> bool:
    command = ["unshare", "--user", "--map-root-user", "--mount", "--net", "--pid", "--fork", "--mount-proc", "true"]
    return bool(shutil.which("unshare")) and subprocess.run(command, capture_output=True).returncode == 0


def _source(program: str, facts: dict[str, Any]) -> str:
    return f"FACTS = {facts!r}\n{program}"


def _program(program: str, facts: dict[str, Any]) -> sandbox.Program:
    return sandbox.Program({**HELPERS, "tests.py": _source(program, facts).encode()}, COMMAND)


@contextmanager
def _listening(name: str) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(name)
        server.listen()
        yield server


def _with_marker() -> list[str]:
    """The processes of this machine that have the marker among their arguments."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if MARKER.encode() in (process / "cmdline").read_bytes():
                found.append(process.name)
    return found


def _until(holds: Callable[[], bool], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _python_for_all() -> str:
    """A Python that any user may start and that may read this source."""
    for python in (sys.executable, "/usr/bin/python3"):
        if os.geteuid() == 0 and os.path.exists(python):
            code = "import sys, sm_ops.evaluation.sandbox; sys.exit(sys.version_info < (3, 11))"
            with suppress(OSError):
                done = subprocess.run(
                    [python, "-c", code], cwd="/", env={"PYTHONPATH": str(ROOT)}, user=65_534, capture_output=True
                )
                if done.returncode == 0:
                    return python
    pytest.skip("only root can be another user, who must be able to read Python and this source")
