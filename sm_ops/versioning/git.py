"""The program git, without the user's settings, hooks and variables."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

_OPTIONS = ("safe.directory=*", "core.hooksPath=/dev/null", "maintenance.auto=false", "core.quotePath=false")
_VARIABLES = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_LITERAL_PATHSPECS": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_AUTHOR_NAME": "sm-ops",
    "GIT_AUTHOR_EMAIL": "sm-ops@localhost",
    "GIT_COMMITTER_NAME": "sm-ops",
    "GIT_COMMITTER_EMAIL": "sm-ops@localhost",
    "LC_ALL": "C",
}


def git(folder: Path, *arguments: str, given: str = "", around: bool = False) -> str:
    """One command's output, stripped, about the repository in a folder, or the one `around` it.

    Raises `FileNotFoundError` where there is no git, `subprocess.CalledProcessError` where it fails.
    """
    ceiling = {} if around else {"GIT_CEILING_DIRECTORIES": str(folder.parent.resolve())}
    others = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    options = [word for option in _OPTIONS for word in ("-c", option)]
    done = subprocess.run(
        ["git", "-C", str(folder), *options, *arguments],
        env=others | _VARIABLES | ceiling,
        input=given,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=True,
    )
    return done.stdout.strip()
