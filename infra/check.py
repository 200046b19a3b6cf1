"""`python -m infra.check [ROOT]`: every file below infra/, and every workflow, by the checkers in infra/checks/.

One line per file: `ok`, `skip` where a validator is not installed, or `FAIL` with what is wrong. A file of which no
checker knows fails too. Offline; exit code 1 where something failed.
"""

import pkgutil
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from types import ModuleType

from infra import checks

CHECKERS: list[ModuleType] = [import_module(f"infra.checks.{m.name}") for m in pkgutil.iter_modules(checks.__path__)]
ELSEWHERE = {".py", ".md"}
"""Ruff and the tests of the pages read these."""


def main(root: Path) -> int:
    """Check all files and print the lines; how many failed."""
    with ThreadPoolExecutor() as pool:
        lines = list(pool.map(lambda path: verdict(root, path), sorted(files(root))))
    for line in lines:
        print(line)
    failed = sum(line.startswith("FAIL") for line in lines)
    skipped = sum(line.startswith("skip") for line in lines)
    print(f"{len(lines)} files: {len(lines) - failed - skipped} ok, {skipped} skipped, {failed} failed")
    return failed


def files(root: Path) -> Iterator[Path]:
    """All files that a checker asks for, and all others below infra/ that git would keep."""
    asked = {path for checker in CHECKERS for glob in checker.FILES for path in root.glob(glob)}
    beside = {path for path in (root / "infra").rglob("*") if path.suffix not in ELSEWHERE}
    for path in asked | beside:
        left = path.name.startswith(".terraform") or {".terraform", "__pycache__"} & set(path.parts)
        if path.is_file() and not left and (path in asked or path.parent.name != "wheels"):
            yield path


def verdict(root: Path, path: Path) -> str:
    """The line of one file."""
    name = path.relative_to(root)
    mine = [checker for checker in CHECKERS if any(path in root.glob(glob) for glob in checker.FILES)]
    if not mine:
        return f"FAIL {name}: no checker in infra/checks/ knows this kind of file"
    problems, absent = [], []
    for checker in mine:
        try:
            problems += checker.check(path)
        except checks.Absent as reason:
            absent.append(str(reason))
    if problems:
        return f"FAIL {name}: {'; '.join(problems)}"
    return f"skip {name}: {'; '.join(absent)}" if absent else f"ok   {name}"


if __name__ == "__main__":
    sys.exit(min(main(Path(*sys.argv[1:]).absolute()), 1))
