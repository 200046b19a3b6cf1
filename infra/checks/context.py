"""What may get into an image: `.dockerignore` is a list of what is allowed."""

from collections.abc import Iterator
from pathlib import Path

FILES = (".dockerignore", "infra/wheels/.gitignore")


def check(path: Path) -> Iterator[str]:
    """Yield what is wrong."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    if not lines or lines[0] not in {"*", "**"}:
        yield "does not begin with *: whatever lies beside the code (a home folder, keys) could get in"
    for line in lines:
        if line.startswith("!") and any(mark in line for mark in ("*", ".sm-ops", "data", "keys", ".git/")):
            yield f"lets in {line[1:]}"
