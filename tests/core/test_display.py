"""Progress is for people: plain lines where standard error is no terminal, a bar where it is one."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace

import pytest
from toy_stages import step

from sm_ops.core.display import Display, patiently, show_number
from sm_ops.core.execute import Outcome

pytestmark = pytest.mark.unit


def outcome(found=False, reasons=(), **numbers) -> Outcome:
    return Outcome(SimpleNamespace(seconds=1.25, numbers=numbers), found, reasons)  # type: ignore[arg-type]


def test_one_plain_line_a_step(capsys):
    with Display(2) as display:
        display.finished(step(key="characters"), outcome(characters=5))
        display.heard(step(), {"progress": [1, 2]})
        display.heard(step(), {"waiting": "waiting for process 7"})
        display.finished(step(), outcome(found=True))
    out, err = capsys.readouterr()
    assert out == ""
    assert [line.split() for line in err.splitlines()] == [
        ["[", "1/2]", "toy", "1.2", "s", "characters", "5"],
        ["toy:", "waiting", "for", "process", "7"],
        ["[", "2/2]", "toy", "found"],
    ]


def test_reasons_are_told_the_first_three(capsys):
    with Display(1) as display:
        display.finished(step(), outcome(reasons=("a", "b", "c", "d", "e")))
    assert capsys.readouterr().err.splitlines()[1].strip() == "ran again: a; b; c; and 2 more"


def test_a_terminal_gets_a_bar(monkeypatch):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with Display(3) as display:
        display.heard(step(), {"progress": [1, 2]})
        display.finished(step(), outcome())
    assert "toy" in terminal.getvalue()


def test_of_long_tasks_alone_a_line_every_ten_seconds(monkeypatch, capsys):
    clock = iter([0, 4, 9, 11, 12, 20, 30])
    monkeypatch.setattr("sm_ops.core.display.time.monotonic", lambda: next(clock))
    with patiently("checking") as progress:
        for done in range(1, 7):
            progress("schema" if done < 5 else "remote", done, 8)
    assert capsys.readouterr().err.splitlines() == ["checking schema: 37 %", "checking remote: 75 %"]


def test_a_closed_terminal_ends_no_run(monkeypatch):
    class Gone(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stderr", Gone())
    with Display(1) as display:
        display.finished(step(), outcome())


@pytest.mark.parametrize(("value", "shown"), [(None, "-"), (0, "0"), (0.123456, "0.1235"), (12, "12"), ("x", "x")])
def test_numbers_as_people_read_them(value, shown):
    assert show_number(value) == shown
