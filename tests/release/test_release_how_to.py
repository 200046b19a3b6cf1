"""The how-to of approvals, typed as it stands on a terminal: every command, every question, every exit code."""

from __future__ import annotations

import os
import pty
import re
import select
import sys
import time
from pathlib import Path

import pytest
from driving import ROOT

PAGE = ROOT / "docs" / "how-to" / "approve_release.md"
PASSPHRASE = "three plain words"
ANSWERS = (
    (re.compile(r"Type the version \(([^)]+)\)[^:]*: $"), lambda asked: asked[1]),
    (re.compile(r"(?:[Pp]assphrase[^:\n]*|The same again): $"), lambda _: PASSPHRASE),
)
BUNDLE = """
import sys
from pathlib import Path
from made_release import canonical, make_bundle
from ready_release import ABOUT
from sm_ops.release.folder import CONFIG
name, version = sys.argv[2].split("@")
make_bundle(Path(sys.argv[1]), name, version, extra={CONFIG: canonical({"about": ABOUT})})
(Path(sys.argv[1]) / "releases" / "approvers.yaml").unlink()
"""


def commands() -> list[tuple[str, int]]:
    """Every command of the page, and the exit code that the page says it has."""
    lines = "".join(re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.S | re.M)).splitlines()
    found = (re.fullmatch(r"(.*?)(?:\s+# exit code (\d+))?", line) for line in lines)
    return [(match[1], int(match[2] or 0)) for match in found if match]


def typed(lines: list[tuple[str, int]], folder: Path, stand_in: str) -> str:
    """What a terminal shows of these commands; `stand_in` are lines of a shell that may answer in place of `sm-ops`."""
    tool = folder / "bin" / "sm-ops"
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\n{stand_in}\nexec "{sys.executable}" -P -m sm_ops.cli "$@"\n')
    tool.chmod(0o755)
    check = 'code=$?; test $code = {expected} || {{ echo "STOPPED with $code: {number}"; exit 1; }}'
    script = "\n".join(
        f"{line}\n{check.format(expected=expected, number=number)}" for number, (line, expected) in enumerate(lines)
    )
    environment = os.environ | {
        "SM_OPS_HOME": str(folder / "home"),
        "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}{os.pathsep}{ROOT / 'tests' / 'release'}",
        "PATH": f"{tool.parent}{os.pathsep}{os.environ['PATH']}",
    }
    environment.pop("SM_OPS_KEY_PASSPHRASE", None)
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.execvpe("bash", ["bash", "-c", script], environment)
    try:
        return _answered(terminal)
    finally:
        os.close(terminal)
        os.waitpid(child, 0)


def _answered(terminal: int, patience: float = 1100) -> str:
    shown, told, end = "", 0, time.monotonic() + patience
    while time.monotonic() < end:
        if not select.select([terminal], [], [], 1)[0]:
            continue
        try:
            shown += os.read(terminal, 65536).decode(errors="replace")
        except OSError:  # the last process has closed its end
            break
        for question, answer in ANSWERS:
            if asked := question.search(shown, told):
                told = len(shown)
                os.write(terminal, f"{answer(asked)}\n".encode())
    return shown.replace("\r\n", "\n")


def test_the_page_is_typed_to_its_end(tmp_path):
    """What a run gives is made by hand here; all else is what the page says."""
    made = f'"{sys.executable}" -P -c \'{BUNDLE}\' "$SM_OPS_HOME" "$3"'
    stand_in = f'case "$1 $2" in "run ") exit;; "release build") {made}; exit;; esac'
    _check(typed(commands(), tmp_path, stand_in), tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_page_is_typed_after_a_run(tmp_path):
    _check(typed(commands(), tmp_path, ""), tmp_path)


def _check(shown: str, folder: Path) -> None:
    assert not re.search("STOPPED|Traceback", shown), shown
    assert shown.count("Type the version") == 3
    assert shown.count("The same again") == 3
    assert PASSPHRASE not in shown
    for words in (
        "version 3: add the key",
        "notes@1.0 requested",
        "next: sm-ops release publish notes@1.0 --to PLACE",
        "next: sm-ops release verify received --approvers approvers.yaml",
        "notes@1.0: every byte is what was signed",
        "ben, cleo",
        "REVOKED: notes@1.0",
        "a name was found in record r1",
    ):
        assert words in shown, shown
    assert not (folder / "published" / "notes@1.0" / "data").exists()
    assert (folder / "received" / "data").is_dir()
    assert not (folder / "again").exists()
