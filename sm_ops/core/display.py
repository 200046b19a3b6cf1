"""Progress for people: one line per finished step on standard error, and a bar when it is a terminal."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any

from sm_ops.core.execute import Outcome
from sm_ops.core.stage import Step

_PATIENCE = 10.0
"""Seconds between two lines of a long task where there is no bar."""


class Display:
    """Speaks on standard error; standard output stays free for data. Safe to call from several threads."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._guard = threading.Lock()
        self._bar: Any = None
        self._task: Any = None
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

            columns = (TextColumn("{task.description:32}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task("steps", total=total)

    def __enter__(self) -> Display:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar:
            self._bar.stop()

    def say(self, line: str) -> None:
        """Print a line above the bar; a closed terminal does not end a run."""
        with self._guard, suppress(OSError):
            if self._bar:
                self._bar.console.print(line, markup=False, highlight=False, soft_wrap=True)
            else:
                print(line, file=sys.stderr, flush=True)

    def finished(self, step: Step, outcome: Outcome) -> None:
        """One line: the step, its time or that it was found, its key number, and why it ran again."""
        self._done += 1
        record = outcome.record
        taken = "found" if outcome.found else f"{record.seconds:.1f} s"
        key = step.stage.key
        number = f"{key} {show_number(record.numbers.get(key))}" if key else ""
        self.say(f"[{self._done:>3}/{self._total}] {step.name:<28} {taken:>8}   {number}".rstrip())
        if outcome.reasons:
            shown = "; ".join(outcome.reasons[:3])
            more = f"; and {len(outcome.reasons) - 3} more" if len(outcome.reasons) > 3 else ""
            self.say(f"          ran again: {shown}{more}")
        if self._bar:
            self._bar.update(self._task, completed=self._done)

    def heard(self, step: Step, message: dict[str, Any]) -> None:
        """What a running step tells: how far it is, or whom it waits for."""
        if "waiting" in message:
            self.say(f"          {step.name}: {message['waiting']}")
        elif self._bar:
            done, total = message["progress"]
            self._bar.update(self._task, description=f"{step.name} {done}/{total}")


@contextmanager
def counting(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar for one long task on a terminal, and elsewhere a line at each tenth; called with (done, all)."""
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import Progress

        with Progress(console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(what, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)
        return
    told = 0

    def tell(done: int, total: int) -> None:
        nonlocal told
        if (tenth := 10 * done // max(total, 1)) > told:
            told = tenth
            print(f"{done} of {total} {what}", file=sys.stderr, flush=True)

    yield tell


@contextmanager
def patiently(what: str) -> Iterator[Callable[[str, int, int], None]]:
    """A bar for several tasks on a terminal, and elsewhere a line every ten seconds, so that quick ones say nothing.

    Called with (task, done, all).
    """
    if sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import Progress

        with Progress(console=Console(stderr=True), transient=True) as bar:
            line = bar.add_task(what, total=None)
            yield lambda task, done, total: bar.update(line, description=f"{what} {task}", completed=done, total=total)
        return
    said = time.monotonic()

    def tell(task: str, done: int, total: int) -> None:
        nonlocal said
        if (now := time.monotonic()) >= said + _PATIENCE:
            said = now
            print(f"{what} {task}: {100 * done // max(total, 1)} %", file=sys.stderr, flush=True)

    yield tell


def show_number(value: Any) -> str:
    """A number as people read it; undefined is a dash, never 0."""
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
