"""What servers and entry points of containers read: settings, SQL and shell."""

import configparser
import re
from collections.abc import Iterator
from pathlib import Path

from infra.checks import PASSWORD_IN_URL, complaint, tool

FILES = ("infra/**/*.ini", "infra/**/*.sql", "infra/**/*.sh")


def check(path: Path) -> Iterator[str]:
    """Yield what is wrong."""
    yield from {".ini": _ini, ".sql": _sql, ".sh": _shell}[path.suffix](path)


def _ini(path: Path) -> Iterator[str]:
    parser = configparser.ConfigParser()
    try:
        parser.read_string(path.read_text(encoding="utf-8"))
    except configparser.Error as error:
        yield error.message
        return
    for section in parser.sections():
        values = dict(parser[section])
        if values.get("default_permission", "NO_PERMISSIONS") != "NO_PERMISSIONS":
            yield f"[{section}] grants {values['default_permission']} to every user"
        yield from (f"[{section}] holds {name}" for name in values if "password" in name)
        yield from (f"{name} holds a password" for name, value in values.items() if re.search(PASSWORD_IN_URL, value))


def _sql(path: Path) -> Iterator[str]:
    text = path.read_text(encoding="utf-8")
    for number, line in enumerate(text.splitlines(), 1):
        if re.search(r"\bPASSWORD\s+(?!:')", line, re.IGNORECASE):
            yield f"line {number} has a password that is not a variable"
    if not text.rstrip().endswith(";"):
        yield "the last statement has no end"


def _shell(path: Path) -> Iterator[str]:
    first, *_ = path.read_text(encoding="utf-8").splitlines()
    shell = {"#!/bin/sh": "sh", "#!/usr/bin/env bash": "bash"}.get(first)
    if shell is None:
        yield f"begins with {first}"
        return
    if not path.stat().st_mode & 0o100:
        yield "is not executable"
    if refused := complaint(tool(shell), "-n", str(path)):
        yield refused
