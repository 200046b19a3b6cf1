"""Copies of the stack's databases: `pg_dump` and `pg_restore` for PostgreSQL, SQLite's own backup without it."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path

from sm_ops.core import processes
from sm_ops.core.errors import InputError
from sm_ops.stack import postgres
from sm_ops.stack.plan import DATABASES, HOST, Plan
from sm_ops.stack.services import sqlite_file

_SECONDS = 120
"""That PostgreSQL has to start."""


def save(plan: Plan, folder: Path, *, running: bool) -> None:
    """Copy every database of the plan into a folder, each as of one moment; `running`: they are in use."""
    if not plan.postgres:
        for name in DATABASES:
            if sqlite_file(plan, name).is_file():
                _copy_sqlite(sqlite_file(plan, name), folder / f"{name}.db")
        return
    with nullcontext(plan) if running else _started(plan) as plan:
        for name in DATABASES:
            _run(plan, "pg_dump", name, ["--format=custom", f"--file={folder / name}.dump"])


def load(plan: Plan, folder: Path) -> None:
    """Fill the new databases of a plan from what `save` made."""
    if not plan.postgres:
        for name in DATABASES:
            if (folder / f"{name}.db").is_file():
                _copy_sqlite(folder / f"{name}.db", sqlite_file(plan, name))
        return
    with _started(plan) as plan:
        for name in DATABASES:
            _run(plan, "pg_restore", name, ["--single-transaction", "--exit-on-error", str(folder / f"{name}.dump")])


def _copy_sqlite(source: Path, target: Path) -> None:
    os.close(os.open(target, os.O_CREAT | os.O_EXCL, 0o600))
    try:
        with (
            closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)) as read,
            closing(sqlite3.connect(target)) as written,
        ):
            read.backup(written)
    except sqlite3.Error as error:
        hint = f"{source} could not be copied to {target} ({error.sqlite_errorname}); check the disk, run it again."
        raise InputError("backup-sqlite", hint) from None


def _run(plan: Plan, program: str, database: str, words: list[str]) -> None:
    role = DATABASES[database]
    place = [f"--host={HOST}", f"--port={plan.ports['postgres']}", f"--username={role}", f"--dbname={database}"]
    done = subprocess.run(
        [postgres.program(program), *place, "--no-owner", "--no-password", *words],
        env=os.environ | {"PGPASSWORD": postgres.password(plan, role)},
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,  # it may quote rows
        check=False,
    )
    if done.returncode:
        hint = f"{program} of the database {database} ended with {done.returncode}; see: sm-ops serve logs postgres"
        raise InputError("backup-postgres", hint)


@contextmanager
def _started(plan: Plan) -> Iterator[Plan]:
    """PostgreSQL alone, on a free port, until the block or we end."""
    plan = Plan.make(plan.home, plan.postgres, plan.s3, plan.pools)
    plan.save()
    with (plan.folders.logs / "postgres.log").open("ab") as log:
        holder = subprocess.Popen(
            processes.command("sm_ops.stack.launch", "postgres"),
            env=processes.environment(SM_OPS_HOME=str(plan.home)),
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
        )
    answers = postgres.service(plan).answers
    try:
        end = time.monotonic() + _SECONDS
        while not answers():
            if holder.poll() is not None or time.monotonic() > end:
                hint = f"PostgreSQL does not start; see {plan.folders.logs}/postgres.log"
                raise InputError("backup-postgres", hint)
            time.sleep(0.2)
        yield plan
    finally:
        holder.terminate()
        holder.wait()
