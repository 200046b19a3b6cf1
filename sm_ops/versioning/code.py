"""Which commit the code of a run comes from."""

from __future__ import annotations

import subprocess
from pathlib import Path

from sm_ops.versioning.git import git

PACKAGE = Path(__file__).resolve().parents[1]


def code_commit() -> str | None:
    """The commit of the checkout that our code lies in, else of the one around the present folder, or None.

    `-dirty` stands behind it where a tracked file was changed.
    """
    ours = _asked(PACKAGE, "ls-files", "--", "__init__.py")
    return _asked(PACKAGE if ours else Path.cwd(), "describe", "--always", "--abbrev=40", "--dirty", "--exclude=*")


def _asked(folder: Path, *arguments: str) -> str | None:
    try:
        return git(folder, *arguments, around=True) or None
    except (OSError, subprocess.CalledProcessError):
        return None
