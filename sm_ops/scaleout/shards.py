"""Work cut into shards: runs of pieces whose results are kept in one file each, named by what they are made of."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from sm_ops.core import fs

FORMAT = "shards/1"
MANIFEST = "manifest.json"


class Work(Protocol):
    """What is done to each piece. It is pickled to where that happens, without what can be loaded there."""

    arithmetic: dict[str, str | int]
    """`device` ("cpu" or "cuda") and `threads` that a process of it takes."""

    def settle(self, worker: int | None) -> None:
        """Before a process's first piece: take device number `worker` of the machine, which the caller runs on too.

        None is on a machine that may be another and shows one device: see that what is to be loaded is the same there.
        """
        ...

    def run(self, piece: Any, /) -> np.ndarray:
        """The piece's values (float32, one dimension); they depend on the piece alone."""
        ...


@dataclass(frozen=True)
class Shard:
    """Pieces of work of which `first` is the first one's number, how many values each gives, and the file for them.

    The file's name is a digest of the pieces and of the work, so what it holds is what would be computed.
    """

    path: Path
    first: int
    pieces: Sequence[Any]
    sizes: Sequence[int]

    def split(self, values: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
        """`(piece number, its values)` of each piece, from those of all."""
        parts = np.split(values, np.cumsum(self.sizes)[:-1])
        return zip(range(self.first, self.first + len(self.pieces)), parts, strict=True)

    def read(self) -> np.ndarray | None:
        """The values of all pieces, or None where no whole file is there; a changed byte is noticed (CRC-32)."""
        try:
            with np.load(self.path, allow_pickle=False) as found:
                values = found["values"]
        except (OSError, ValueError, EOFError, KeyError, TypeError, zipfile.BadZipFile):
            return None
        return values if values.shape == (sum(self.sizes),) else None

    def write(self, values: np.ndarray) -> None:
        """Keep the values of all pieces: the file is whole or absent."""
        buffer = io.BytesIO()
        np.savez(buffer, values=values)
        fs.write_atomic(self.path, buffer.getvalue(), mode=0o600)


def write_manifest(folder: Path, shards: Sequence[Shard]) -> None:
    """Say in the folder which files make up the whole, in order, and how many values each holds."""
    listed = [{"file": shard.path.name, "pieces": len(shard.pieces), "values": sum(shard.sizes)} for shard in shards]
    fs.write_json(folder / MANIFEST, {"format": FORMAT, "shards": listed})
