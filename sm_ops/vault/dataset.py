"""A dataset's folder: its manifest, its key file, its segments."""

from __future__ import annotations

import json
import re
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sm_ops.vault.files import erase
from sm_ops.vault.sealed import MANIFEST, KeyFile, Manifest
from sm_ops.vault.segment import Owner, Segment, SegmentReader

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,99}")


@dataclass(frozen=True)
class Dataset:
    """A dataset as its manifest names it, opened."""

    owner: Owner
    folder: Path
    manifest: Manifest
    key_file: KeyFile
    data_key: bytes
    segments: dict[str, Segment]

    def reader(self, role: str) -> SegmentReader:
        """Open one segment."""
        segment = self.segments[role]
        try:
            return SegmentReader(self.folder / segment.file, segment, self.owner, role)
        except FileNotFoundError:
            raise self.owner.damaged(f"the file of its {role} is missing") from None

    def check_files(self) -> None:
        """Refuse a segment file that is missing, another one, or of another size."""
        for role in self.segments:
            self.reader(role).close()


def is_name(text: str) -> bool:
    """Whether a dataset may be called so."""
    return _NAME.fullmatch(text) is not None


def clear_of(folder: Path) -> dict[str, Any]:
    """The clear part of a manifest, as far as it can be read."""
    with suppress(OSError, ValueError):
        clear = json.loads((folder / MANIFEST).read_bytes())
        if isinstance(clear, dict):
            return clear
    return {}


def key_files(folder: Path) -> list[Path]:
    """Files that may hold a wrapped data key, those among them that a killed writer left."""
    return [path for path in folder.iterdir() if path.name != MANIFEST and not is_segment(path)]


def has_key(folder: Path) -> bool:
    """Whether a wrapped data key is there that was not overwritten, or cannot be looked at."""
    try:
        return any(b'"sealed"' in path.read_bytes() for path in key_files(folder))
    except FileNotFoundError:
        return False
    except OSError:
        return True


def discard(folder: Path) -> None:
    """Remove a folder that was not published, as far as that goes; its keys are overwritten before."""
    with suppress(OSError):
        for path in key_files(folder):
            erase(path)
    shutil.rmtree(folder, ignore_errors=True)


def key_name(key: KeyFile) -> str:
    """The file name of a wrapped data key."""
    return f"key-{key.clear['id']}.json"


def is_segment(path: Path) -> bool:
    """Whether a file holds frames, which are worth nothing without their key."""
    return path.suffix == ".segment"
