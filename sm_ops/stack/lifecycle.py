"""Start the stack, wait until it answers, end it."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from sm_ops.core import processes
from sm_ops.core.errors import InputError
from sm_ops.stack import client, leftovers, lock, postgres, state, supervisor
from sm_ops.stack.plan import Folders, Plan, make_folders
from sm_ops.stack.services import client_variables, services

SECONDS = 240
"""Until all servers answer; the first start makes databases."""
_STOP_SECONDS = 300
_PAUSE = 0.5
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_STARTS = 4
"""Of one service, until we no longer wait for it."""
_NEEDED = {"supervisor": "supervisor", "asyncpg": "asyncpg", "psycopg2": "psycopg2", "flask_wtf": "mlflow[auth]"}


class _Told(Exception):
    """We were told to end."""


@dataclass(frozen=True)
class Started:
    """A stack that was started: its plan, the supervisor, and the signals that have told us to end since."""

    plan: Plan
    process: subprocess.Popen[bytes]
    signals: list[int]

    def pause(self) -> None:
        """Wait a moment, and go no further when told to end.

        The signal's handler does not raise: what it would raise is lost where Python happens to run a destructor.
        """
        time.sleep(_PAUSE)
        if self.signals:
            raise _Told


def plan_of(home: Path, *, postgres: bool, s3: bool, dev: bool, pools: tuple[str, ...]) -> Plan:
    """What to start: what is asked for, and what this home's stack had before."""
    folders = Folders(home)
    last = Plan.load(home) if folders.settings.is_file() else None
    if dev and (postgres or (last and last.postgres)):
        hint = "--dev keeps everything in SQLite; "
        hint += (
            "leave --postgres or --dev out." if postgres else f"{folders.stack} has PostgreSQL; start it without --dev."
        )
        raise InputError("dev-postgres", hint)
    return Plan.make(home, postgres or bool(last and last.postgres), s3 or bool(last and last.s3), pools)


def start(home: Path, wanted: Callable[[], Plan], attached: bool) -> Started:
    """Start the stack that `wanted` makes a plan of once no other runs; it ends with us where it is `attached`.

    Raises `InputError` where one is running, or a program is missing.
    """
    _check_packages()
    if "%" in str(home):
        raise InputError("home-name", f"{home} has a '%' in its name, which supervisor does not take; move it.")
    folders = Folders(home)
    folders.stack.mkdir(mode=0o700, parents=True, exist_ok=True)  # that of a running stack stays as it is
    held = lock.take(folders)
    signals: list[int] = []
    try:
        plan = wanted()
        if plan.postgres:
            postgres.check(plan)
        make_folders(folders, shared=plan.postgres and postgres.user() is not None)
        _clear(folders)
        plan.save()
        client.write(home, client_variables(plan))
        supervisor.write_settings(folders, services(plan))
        for number in _ENDING:
            if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
                signal.signal(number, lambda number, _: signals.append(number))
        process = _spawn(folders, held, attached)
        lock.write(held, process.pid)
    finally:
        os.close(held)  # the supervisor has it too
    return Started(plan, process, signals)


def _spawn(folders: Folders, held: int, attached: bool) -> subprocess.Popen[bytes]:
    with (folders.logs / "supervisor.err").open("wb") as log:
        return subprocess.Popen(
            processes.command(leftovers.SUPERVISOR, *([supervisor.ATTACHED] if attached else [])),
            env=processes.environment(SM_OPS_HOME=str(folders.home)),
            stdin=subprocess.PIPE if attached else subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            pass_fds=[held],
            start_new_session=True,
        )


def _check_packages() -> None:
    missing = [package for module, package in _NEEDED.items() if find_spec(module) is None]
    if missing:
        hint = f"{', '.join(missing)} is missing; install what servers need with: pip install 'sm-ops[server]'"
        raise InputError("no-server", hint)


def wait_until_ready(started: Started, tell: Callable[[str], None]) -> None:
    """Wait until every service answers, telling of each; raises `InputError` where one does not start."""
    logs = started.plan.folders.logs
    waiting = [each.name for each in services(started.plan)]
    starts: dict[str, set[str | None]] = {name: set() for name in waiting}
    end = time.monotonic() + SECONDS
    while waiting and time.monotonic() < end:
        started.pause()
        if started.process.poll() is not None:
            raise InputError("supervisor", f"The supervisor of the stack has ended; see {logs}/supervisor.err")
        for row in _rows(started.plan.home):
            starts[row.name].add(row.since)
            if row.state == state.GIVEN_UP or len(starts[row.name]) > _STARTS:
                raise InputError("service", f"{row.name} does not start; see: sm-ops serve logs {row.name}")
            if row.state == state.RUNNING and row.name in waiting:
                waiting.remove(row.name)
                tell(f"{row.name} {row.url or ''}".rstrip())
    if waiting:
        hint = f"{', '.join(waiting)} did not answer in {SECONDS} s; see: sm-ops serve logs {waiting[0]}"
        raise InputError("service", hint)


def _rows(home: Path) -> list[state.Service]:
    try:
        return state.services(home)
    except InputError:  # the supervisor itself is about to start
        return []


@contextmanager
def ending(started: Started, detach: bool) -> Iterator[None]:
    """End the stack with the block, in order and leaving nothing; with `detach` only where the block fails.

    Raises `KeyboardInterrupt` where a signal (Ctrl-C, SIGTERM, a closed terminal) came before the stack was ready.
    """
    try:
        yield
    except _Told:
        _end(started)
        raise KeyboardInterrupt from None
    except BaseException:
        _end(started)
        raise
    else:
        if detach:
            return
    _end(started)


def _end(started: Started) -> None:
    if started.process.poll() is None:
        started.process.terminate()
        with suppress(subprocess.TimeoutExpired):
            started.process.wait(_STOP_SECONDS)
        started.process.kill()
    _clear(started.plan.folders)


def _clear(folders: Folders) -> None:
    leftovers.end(folders.stack)
    supervisor.remove_socket(folders)


def deploy(home: Path) -> None:
    """Register pools, flows and schedules, as `sm-ops deploy` does."""
    command = processes.command("flows.deploy", "apply")
    own = processes.environment(**client.read(home) | {"SM_OPS_HOME": str(home)})
    if subprocess.run(command, env=own, stdin=subprocess.DEVNULL, check=False).returncode:
        raise InputError("not-deployed", "The schedules were not registered, as said above; correct it, start again.")


def wait(started: Started) -> None:
    """Until the stack ends, or a signal asks us to end it; raises `InputError` when it ends by itself."""
    with suppress(_Told):
        while started.process.poll() is None:
            started.pause()
    if started.process.poll() and not started.signals:
        hint = f"The supervisor of the stack has died; see {started.plan.folders.logs}/supervisor.err, start again."
        raise InputError("supervisor", hint)


def stop(home: Path) -> bool:
    """End the stack of this home, whoever started it, and wait until nothing of it is left; `False` if none runs."""
    folders = Folders(home)
    pid = lock.holder(folders)
    if pid:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        end = time.monotonic() + _STOP_SECONDS
        while lock.holder(folders) is not None:
            if time.monotonic() > end:
                hint = f"The stack does not end (process {pid}); end that process, then run the same command again."
                raise InputError("stack-running", hint)
            time.sleep(_PAUSE)
    _clear(folders)
    return pid is not None
