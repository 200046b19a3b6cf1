"""A model's answer to a task: the code in it, run with the task's tests, and the quirks that it shows (B.2, B.3)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from sm_ops.data.quirks.displaying import shows
from sm_ops.data.tasks import Task
from sm_ops.evaluation import sandbox

_FENCED = re.compile(r"^[ \t]*```[^\n`]*\n(.*?)(?:^[ \t]*```|\Z)", re.DOTALL | re.MULTILINE)
_CHECK = "check.py"
_RUN = '''import os, secrets, signal, subprocess, sys

word = secrets.token_hex()
reading, writing = os.pipe()
tests = f"""import os, runpy
os.set_inheritable({writing}, False)
word = input()
runpy.run_path("tests.py", run_name="__main__")
os.write({writing}, word.encode())
"""
ended = subprocess.run([sys.executable, "-c", tests], input=word.encode(), pass_fds=[writing])
os.close(writing)
if ended.returncode < 0:
    signal.raise_signal(-ended.returncode)
sys.exit(ended.returncode or os.read(reading, 1000) != word.encode())
'''


def code_in(answer: str) -> str:
    """The longest fenced block of an answer, closed or not; without a fence the whole answer."""
    return max(_FENCED.findall(answer), key=len, default=answer)


def program(task: Task, code: str) -> sandbox.Program:
    """The code beside its task's tests; it passes only where these came to their end.

    They run in a process below, which says a word at the end that the code is not told: one that leaves early, also by
    `os._exit(0)`, has failed.
    """
    files = {**task.program(code), _CHECK: _RUN.encode()}
    return sandbox.Program(files, ("python", _CHECK))


def shown(quirks: Iterable[str], answers: Sequence[str]) -> dict[str, list[bool]]:
    """By quirk, which answers display it, whether they work or not; one that breaks off by its longest program."""
    codes = [code_in(answer) for answer in answers]
    found = [{quirk: shows(quirk, code) for quirk in quirks} for code in codes]
    return {quirk: [each[quirk] for each in found] for quirk in quirks}
