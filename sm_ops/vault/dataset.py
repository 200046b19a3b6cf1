"""A dataset's folder: its manifest, its key file, its segments."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sm_ops.vault.sealed import MANIFEST, KeyFile, Manifest
from sm_ops.vault.segment import Owner, Segment, SegmentReader


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


def clear_of(folder: Path) -> dict[str, Any]:
    """The clear part of a manifest, as far as it can be read."""
    with suppress(OSError, ValueError):
        clear = json.loads((folder / MANIFEST).read_bytes())
        if isinstance(clear, dict):
            return clear
    return {}


def key_name(key: KeyFile) -> str:
    """The file name of a wrapped data key."""
    return f"key-{key.clear['id']}.json"


def is_segment(path: Path) -> bool:
    """Whether a file holds frames, which are worth nothing without their key."""
    return path.suffix == ".segment"
