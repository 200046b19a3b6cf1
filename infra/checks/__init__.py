"""What `python -m infra.check` is made of: one file per kind of file.

A checker has `FILES`, globs from the repository's root, and `check(path)`, which yields what is wrong with a file, each
in words. It works offline. Where a validator is not installed it says all that it found without it, then raises
`Absent`.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path


class Absent(Exception):
    """A validator is not installed; the message says which."""


def tool(name: str) -> str:
    """An executable beside this Python or on PATH."""
    found = shutil.which(name, path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))
    if not found:
        raise Absent(f"{name} is not installed")
    return found


def complaint(*command: str, environment: Mapping[str, str] | None = None, lenient: bool = False) -> str:
    """What a validator says of a file that it refuses, or in any case of a `lenient` one; otherwise nothing."""
    done = subprocess.run(
        command,
        env={"PATH": os.environ.get("PATH", ""), "HOME": os.environ.get("HOME", "/"), **(environment or {})},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    said = " ".join(f"{done.stdout} {done.stderr}".split())
    if done.returncode:
        return said or f"exit code {done.returncode}"
    return said if lenient else ""


SECRET = (
    r"(?i)(password|passwd|secret|token|auth_string|(access|private|vault)_?key|passphrase)(?!.*(_file|_id|_path)$)"
)
"""Found in the names of variables whose values nobody may read."""
PASSWORD_IN_URL = r"://[^/@\s]*:[^/@\s]+@"
