"""The sandbox's rules that need no program to run: the filter of system calls, refusals, the installer."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from sm_ops.core.errors import InputError
from sm_ops.evaluation import sandbox
from sm_ops.evaluation.sandbox import available, seccomp, wardens

pytestmark = pytest.mark.unit

ROOT = Path(__file__).resolve().parents[2]
ALLOW, KILL, EPERM, ENOSYS, EAFNOSUPPORT = 0x7FFF0000, 0x80000000, 0x50001, 0x50026, 0x50061
X86, ARM = 0xC000003E, 0xC00000B7


def _decision(machine: str, architecture: int, number: int, argument: int = 0) -> int:
    """What the kernel's own machine would make of a system call (Documentation/networking/filter.rst)."""
    steps = list(struct.iter_unpack("=HBBI", seccomp.program(machine)))
    data = struct.pack("=iIQQQQQQQ", number, architecture, 0, argument, 0, 0, 0, 0, 0)
    place = accumulator = 0
    while True:
        operation, yes, no, operand = steps[place]
        place += 1
        if operation == 0x06:
            return operand
        if operation == 0x20:
            accumulator = struct.unpack_from("=I", data, operand)[0]
        else:
            holds = {0x15: accumulator == operand, 0x35: accumulator >= operand, 0x45: accumulator & operand}
            place += yes if holds[operation] else no


@pytest.mark.parametrize(
    ("machine", "architecture", "calls"),
    # asm/unistd_64.h and asm-generic/unistd.h: read, execve; socket, clone; unshare, ptrace, keyctl, memfd_create
    [("x86_64", X86, (0, 59, 41, 56, 272, 101, 250, 319)), ("aarch64", ARM, (63, 221, 198, 220, 97, 117, 219, 279))],
)
def test_the_filter_lets_programs_work_and_closes_what_namespaces_leave_open(machine, architecture, calls):
    read, execute, socket, clone, *refused = calls
    asked = [(read, 0), (execute, 0), (socket, 1), (clone, 17), (clone, 0x3D0F00)]  # UNIX; fork; a thread
    assert [_decision(machine, architecture, *call) for call in asked] == [ALLOW] * 5
    assert {_decision(machine, architecture, socket, family) for family in (2, 10, 16, 17, 38, 40)} == {EAFNOSUPPORT}
    for namespace in (0x10000000, 0x20000, 0x40000000, 0x20000000 | 17):
        assert _decision(machine, architecture, clone, namespace) == EPERM
    assert {_decision(machine, architecture, number) for number in (*refused, 425, 428, 430, 442)} == {EPERM}
    assert _decision(machine, architecture, 435) == ENOSYS  # clone3
    assert _decision(machine, architecture ^ 1, read) == KILL
    assert _decision(machine, architecture, 0x40000000 | read) == EPERM  # x32


@pytest.mark.parametrize("name", ["/etc/x", "../x", "a/../../x", "", ".", "a\0b"])
def test_a_file_outside_the_programs_folder_is_refused(name):
    with pytest.raises(InputError, match="leaves its folder"):
        sandbox.run({name: b""}, ["true"])


def test_what_no_program_can_be_is_refused():
    with pytest.raises(InputError, match="no command"):
        sandbox.run({}, [])
    with pytest.raises(InputError, match="files_bytes"):
        sandbox.run_all([sandbox.Program({"x": bytes(100)}, ["true"])], sandbox.Limits(files_bytes=99))
    for name in ("seconds", "processes", "output_bytes"):
        with pytest.raises(InputError, match=f"limit {name} is not positive"):
            sandbox.Limits(**{name: 0})


@pytest.mark.parametrize(
    ("machine", "release", "words"),
    [("riscv64", "6.1.0", "only on Linux on aarch64 or x86_64"), ("x86_64", "5.4.0-26", "older than 5.14")],
)
def test_where_no_wall_can_be_built_programs_are_refused_with_the_way_out(monkeypatch, machine, release, words):
    monkeypatch.setattr(available.os, "uname", lambda: SimpleNamespace(machine=machine, release=release))
    available._found.cache_clear()
    try:
        assert sandbox.isolation() == "refused"
        with pytest.raises(InputError, match=words) as caught:
            sandbox.run({}, ["true"])
    finally:
        available._found.cache_clear()
    assert "make sandbox" in str(caught.value)


def test_a_python_around_the_home_folder_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    with pytest.raises(InputError, match="would see the home folder"):
        list(wardens._places())


def _installed(tmp_path: Path, user: int, working: str) -> tuple[str, str]:
    """What the installer asked of apt-get, and what it said; apt-get succeeds where `working` says."""
    commands = tmp_path / "bin"
    commands.mkdir()
    scripts = {
        "id": f"echo {user}",
        "apt-get": f'echo "$1" >> {tmp_path}/asked; {working}; echo > {commands}/bwrap; /bin/chmod +x {commands}/bwrap',
    }
    for name, text in scripts.items():
        (commands / name).write_text(f"#!/bin/sh\n{text}\n")
        (commands / name).chmod(0o755)
    done = subprocess.run(
        ["/bin/sh", ROOT / "infra" / "sandbox.sh"], env={"PATH": str(commands)}, capture_output=True, text=True
    )
    assert done.returncode == 0
    asked = tmp_path / "asked"
    return asked.read_text() if asked.exists() else "", done.stderr


@pytest.mark.parametrize(
    ("user", "working", "asked", "said"),
    [
        (0, ":", "install\n", ""),
        (0, '[ "$(/bin/grep -c . {asked})" -gt 1 ] || exit 100', "install\nupdate\n", ""),
        (0, "exit 100", "install\nupdate\n", "bubblewrap is not installed"),
        (1000, ":", "", "bubblewrap is not installed"),
    ],
)
def test_the_installer_does_what_it_may_and_never_fails(tmp_path, user, working, asked, said):
    got, words = _installed(tmp_path, user, working.format(asked=tmp_path / "asked"))
    assert got.startswith(asked)
    assert (said in words) if said else not words
    assert os.path.exists(tmp_path / "bin" / "bwrap") is not bool(said)
