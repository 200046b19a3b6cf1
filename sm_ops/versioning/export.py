"""Results where DVC looks for them: hard links in `out/STEP`, and of restricted outputs in `out/restricted/STEP`.

Beside them `metrics.json` holds the step's numbers, `record.json` what was exported, and `OUTPUT.sha256` stands for a
restricted output: DVC sees that alone (`dvc commit` was seen to copy outputs into its cache that are `cache: false`).
An export replaces another of the same step and nothing else.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from sm_ops.core import fs
from sm_ops.core.errors import InputError
from sm_ops.core.stage import Output
from sm_ops.core.store import Record, Store
from sm_ops.versioning.pipeline import DIGEST, METRICS

_RECORD = "record.json"
_KNOWN = {METRICS, _RECORD, ".gitignore"}
"""What an export holds beside outputs, and the file in which DVC tells git of them."""


def check(step: str, outputs: Sequence[Output], out: Path) -> None:
    """Refuse a place that takes no export of a step with these outputs, or where one would take what is not ours.

    Raises `InputError` where `out` takes no files, where a folder of the step's name holds something else, and where
    restricted outputs would lie in a folder that others may enter.
    """
    if not fs.takes_files(out.absolute()):
        raise InputError("output-place", f"Nothing can be written below {out}; choose another place with --out.")
    names = [*(output.name for output in outputs), *_exported(out / step)]
    known = _KNOWN.union(names, (f"{name}{DIGEST}" for name in names))
    restricted = out / "restricted"
    for folder in (out / step, restricted / step):
        if os.path.lexists(folder) and not _holds_only(folder, known):
            hint = f"{folder} is there and holds other things than that step; choose another place with --out."
            raise InputError("output-exists", hint)
    if any(output.cls == "restricted" for output in outputs) and restricted.exists() and _is_open(restricted):
        hint = f"{restricted} is there and others may enter it; choose another place with --out, or chmod it to 700."
        raise InputError("output-open", hint)


def export(store: Store, step: str, record: Record, out: Path) -> None:
    """Make or replace the export of a step's result, at a place that was checked."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out, prefix=f".{step}.") as unfinished:
        internal, restricted = Path(unfinished) / "internal", Path(unfinished) / "restricted"
        for name, stored in record.outputs.items():
            is_restricted = stored.cls == "restricted"
            for relative, file in fs.files_below(store.output_path(record, name)):
                _link(file, (restricted if is_restricted else internal) / name / relative)
            if is_restricted:
                fs.write_atomic(internal / f"{name}{DIGEST}", f"{stored.sha256}\n".encode())
        fs.write_json(internal / METRICS, record.numbers)
        fs.write_json(internal / _RECORD, record.to_json())
        _replace(restricted, out / "restricted" / step)
        _replace(internal, out / step)


def _exported(folder: Path) -> list[str]:
    """The outputs of the export in a folder; none where it holds none."""
    try:
        return [*Record.from_json(fs.read_json(folder / _RECORD)).outputs]
    except (OSError, ValueError, TypeError, KeyError, AttributeError, InputError):
        return []


def _holds_only(folder: Path, names: set[str]) -> bool:
    return folder.is_dir() and not folder.is_symlink() and all(each.name in names for each in folder.iterdir())


def _is_open(folder: Path) -> bool:
    return not folder.is_dir() or folder.stat().st_mode & 0o077 != 0


def _replace(made: Path, target: Path) -> None:
    """Put what was made, if anything, where a former export of it lies."""
    if target.exists():
        shutil.rmtree(target)
    if made.exists():
        target.parent.mkdir(mode=0o700, exist_ok=True)
        os.replace(made, target)


def _link(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)
