"""PostgreSQL on loopback: a role and a password for each client, none for the superuser, no Unix socket.

Roles, databases and passwords are set in single-user mode before the server starts, so nobody needs a password
to set passwords, and what `secrets/` says holds from then on.
"""

from __future__ import annotations

import os
import pwd
import re
import shutil
import signal
import subprocess
from pathlib import Path

from sm_ops.core.errors import InputError
from sm_ops.stack.plan import DATABASES, HOST, Plan
from sm_ops.stack.secrets import secret
from sm_ops.stack.service import Service, shared_environment

SUPERUSER = "sm_ops"
_UNPRIVILEGED = "postgres"
_PLACES = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql@*/bin")


def program(name: str) -> str:
    """A program of PostgreSQL: of the PATH, or of the newest version where distributions put it."""
    if found := shutil.which(name):
        return found
    places = [place for pattern in _PLACES for place in Path("/").glob(pattern[1:]) if (place / name).is_file()]
    if not places:
        hint = f"PostgreSQL's {name} is not here; install PostgreSQL 14 or newer (Debian: apt-get install postgresql)."
        raise InputError("no-postgres", hint)
    return str(max(places, key=lambda place: [int(number) for number in re.findall(r"\d+", str(place))]) / name)


def user() -> str | None:
    """Whom the server runs as: us, but never root, which it refuses."""
    return _UNPRIVILEGED if os.geteuid() == 0 else None


def check(plan: Plan) -> None:
    """Refuse, before anything starts, where programs or a user are missing, or that user cannot reach the data."""
    for name in ("initdb", "postgres", "pg_dump", "pg_restore"):
        program(name)
    if user() is None:
        return
    try:
        pwd.getpwnam(_UNPRIVILEGED)
    except KeyError:
        hint = (
            f"PostgreSQL does not run as root, and there is no user {_UNPRIVILEGED}; start the stack as another user."
        )
        raise InputError("postgres-user", hint) from None
    closed = [folder for folder in plan.home.absolute().parents if not folder.stat().st_mode & 0o001]
    if not plan.home.stat().st_mode & 0o001:
        closed.insert(0, plan.home)
    if closed:
        hint = (
            f"PostgreSQL does not run as root but as {_UNPRIVILEGED}, who may not enter {closed[0]}; start the stack "
            "as another user, or in a home folder elsewhere (SM_OPS_HOME)."
        )
        raise InputError("postgres-user", hint)


def service(plan: Plan) -> Service:
    """The server."""
    options = {
        "listen_addresses": HOST,
        "port": plan.ports["postgres"],
        "unix_socket_directories": "",
        "password_encryption": "scram-sha-256",
        "max_connections": 60,
    }
    words = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
    return Service(
        name="postgres",
        command=[program("postgres"), "-D", str(_folder(plan)), *words],
        environment=shared_environment(),
        folder=plan.folders.data,
        answers=lambda: _answers(plan),
        prepare=lambda: _prepare(plan),
        user=user(),
        ends_by=signal.SIGINT,  # ends sessions, and not only when the last client has gone
        patience=30,
    )


def password(plan: Plan, role: str) -> str:
    """A role's password."""
    return secret(plan.folders, f"postgres-{role}").reveal()


def url(plan: Plan, database: str, scheme: str = "postgresql+psycopg2") -> str:
    """What SQLAlchemy connects by; it holds the password."""
    role = DATABASES[database]
    return f"{scheme}://{role}:{password(plan, role)}@{HOST}:{plan.ports['postgres']}/{database}"


def _answers(plan: Plan) -> bool:
    import psycopg2

    try:
        psycopg2.connect(
            host=HOST,
            port=plan.ports["postgres"],
            dbname="prefect",
            user="prefect",
            password=password(plan, "prefect"),
            connect_timeout=5,
        ).close()
    except psycopg2.OperationalError:
        return False
    return True


def _folder(plan: Plan) -> Path:
    return plan.folders.data / "postgres"


def _prepare(plan: Plan) -> None:
    """Make the cluster where there is none, and set passwords; its folder appears complete or not at all."""
    folder = _folder(plan)
    made = folder.with_name("postgres.new")
    roles = sorted(set(DATABASES.values()))
    if not folder.is_dir():
        shutil.rmtree(made, ignore_errors=True)
        made.mkdir(mode=0o700)
        if (name := user()) is not None:
            shutil.chown(made, name, pwd.getpwnam(name).pw_gid)
        words = ["--auth-local=reject", "--auth-host=scram-sha-256", "--encoding=UTF8", "--locale=C"]
        _run([program("initdb"), "-D", str(made), "-U", SUPERUSER, *words])
        statements = [f"CREATE ROLE {role} LOGIN;" for role in roles]
        for database, owner in DATABASES.items():
            statements += [
                f"CREATE DATABASE {database} OWNER {owner};",
                f"REVOKE ALL ON DATABASE {database} FROM PUBLIC;",
            ]
        _sql(made, statements)
        made.rename(folder)
    _sql(folder, [f"ALTER ROLE {role} PASSWORD '{password(plan, role)}';" for role in roles])


def _sql(folder: Path, statements: list[str]) -> None:
    """Execute statements without a server; what fails is logged without its text, which may hold a password."""
    quiet = [
        "-c",
        "log_min_error_statement=panic",
        "-c",
        "log_statement=none",
        "-c",
        "password_encryption=scram-sha-256",
    ]
    _run([program("postgres"), "--single", "-D", str(folder), *quiet, "template1"], "\n".join(statements) + "\n")


def _run(command: list[str], text: str | None = None) -> None:
    own = {"user": user(), "env": shared_environment(), "cwd": "/"}
    done = subprocess.run(command, input=text, text=True, check=False, stdout=subprocess.DEVNULL, **own)
    if done.returncode:
        hint = f"PostgreSQL could not be prepared: {Path(command[0]).name} ended with {done.returncode}."
        raise InputError("postgres-prepare", hint)
