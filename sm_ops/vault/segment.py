"""Segment files: an authenticated stream of frames in which no byte can be flipped, cut, moved or added unnoticed.

STREAM construction over AES-256-GCM. Each segment has a random key of its own that encrypts nothing else, so the nonce
can be the frame's number and a flag that marks the last frame; the associated data name vault, dataset, role, segment
and frame. Every frame but the last holds `FRAME` bytes, so any position is found without reading what stands before.

    head    8 bytes that name format and version, 16 bytes segment id
    frame   length of the rest (4 bytes, little endian), ciphertext and tag
"""

from __future__ import annotations

import os
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from sm_ops.core.errors import InputError

MAGIC = b"SMVAULT\x01"
FRAME = 1 << 16
KEY_BYTES = 32
_ID_BYTES = 16
_LENGTH = 4
_TAG = 16
_CACHED = 8
_HEAD = len(MAGIC) + _ID_BYTES
_STEP = _LENGTH + FRAME + _TAG


@dataclass(frozen=True)
class Owner:
    """What a segment is bound to: it cannot be read as a part of anything else."""

    vault: str
    dataset: str

    def damaged(self, what: str) -> InputError:
        """The refusal of what is not as it was written."""
        hint = f"Dataset {self.dataset!r} of the vault is damaged: {what}; put back a sound copy of the vault's folder."
        return InputError("vault-damaged", hint)


@dataclass(frozen=True)
class Segment:
    """What the manifest must know of a segment to read it: `size` counts bytes before encryption."""

    id: str
    size: int
    key: bytes = field(repr=False)

    @property
    def file(self) -> str:
        """The segment's file name."""
        return f"{self.id}.segment"

    @property
    def frames(self) -> int:
        """How many frames the file has; an empty segment has one."""
        return max(1, -(-self.size // FRAME))

    @property
    def file_size(self) -> int:
        """Size of the file in bytes."""
        return _HEAD + self.size + self.frames * (_LENGTH + _TAG)


class SegmentWriter:
    """Writes one segment below a folder, a frame at a time."""

    def __init__(self, folder: Path, owner: Owner, role: str) -> None:
        self.segment = Segment(os.urandom(_ID_BYTES).hex(), 0, os.urandom(KEY_BYTES))
        self._cipher = AESGCM(self.segment.key)
        self._label = _label(owner, role, self.segment.id)
        self._buffer = bytearray()
        self._frames = 0
        self.size = 0
        descriptor = os.open(folder / self.segment.file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        self._stream = os.fdopen(descriptor, "wb")
        self._stream.write(MAGIC + bytes.fromhex(self.segment.id))

    def write(self, data: bytes) -> None:
        """Append bytes."""
        self._buffer += data
        self.size += len(data)
        while len(self._buffer) > FRAME:
            self._emit(bytes(self._buffer[:FRAME]), last=False)
            del self._buffer[:FRAME]

    def finish(self) -> Segment:
        """Write the last frame and flush all to disk."""
        self._emit(bytes(self._buffer), last=True)
        self._buffer.clear()
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self._stream.close()
        return Segment(self.segment.id, self.size, self.segment.key)

    def close(self) -> None:
        """Let go of the file, finished or not."""
        self._stream.close()

    def _emit(self, plain: bytes, last: bool) -> None:
        sealed = self._cipher.encrypt(_nonce(self._frames, last), plain, self._label + _number(self._frames))
        self._stream.write(len(sealed).to_bytes(_LENGTH, "little") + sealed)
        self._frames += 1


class SegmentReader:
    """Reads any part of a segment; holds a few decrypted frames."""

    def __init__(self, path: Path, segment: Segment, owner: Owner, role: str) -> None:
        self.segment = segment
        self._owner, self._role = owner, role
        self._cipher = AESGCM(segment.key)
        self._label = _label(owner, role, segment.id)
        self._frames: OrderedDict[int, bytes] = OrderedDict()
        self._stream = path.open("rb", buffering=0)
        try:
            self._check_outside()
        except InputError:
            self._stream.close()
            raise

    def _check_outside(self) -> None:
        size = os.fstat(self._stream.fileno()).st_size
        if size != self.segment.file_size:
            what = "is cut off" if size < self.segment.file_size else "has bytes after its end"
            raise self._owner.damaged(f"the file of its {self._role} {what}")
        head = self._pread(0, _HEAD)
        if head[:-1].startswith(MAGIC[:-1]) and head[len(MAGIC) - 1] != MAGIC[-1]:
            raise self._owner.damaged(f"the file of its {self._role} has another format version")
        if head != MAGIC + bytes.fromhex(self.segment.id):
            raise self._owner.damaged(f"the file of its {self._role} is another one")

    def read(self, offset: int, count: int) -> bytes:
        """`count` bytes from a position of the plain stream on."""
        if offset < 0 or count < 0 or offset + count > self.segment.size:
            raise self._owner.damaged(f"its {self._role} speak of a place that is not there")
        first, start = divmod(offset, FRAME)
        if start + count <= FRAME:
            return self.frame(first)[start : start + count] if count else b""
        last = (offset + count - 1) // FRAME
        whole = b"".join(self.frame(number) for number in range(first, last + 1))
        return whole[start : start + count]

    def whole(self) -> bytearray:
        """All bytes of the plain stream."""
        plain = bytearray(self.segment.size)
        for number in range(self.segment.frames):
            plain[number * FRAME : (number + 1) * FRAME] = self.frame(number)
        return plain

    def frame(self, number: int) -> bytes:
        """One decrypted frame, authenticated."""
        if number in self._frames:
            self._frames.move_to_end(number)
            return self._frames[number]
        last = number == self.segment.frames - 1
        length = (self.segment.size - number * FRAME if last else FRAME) + _TAG
        sealed = self._pread(_HEAD + number * _STEP, _LENGTH + length)
        try:
            if int.from_bytes(sealed[:_LENGTH], "little") != length:
                raise InvalidTag
            plain = self._cipher.decrypt(_nonce(number, last), sealed[_LENGTH:], self._label + _number(number))
        except InvalidTag:
            what = f"frame {number + 1} of {self.segment.frames} of its {self._role} is not what was written"
            raise self._owner.damaged(what) from None
        self._frames[number] = plain
        if len(self._frames) > _CACHED:
            self._frames.popitem(last=False)
        return plain

    def close(self) -> None:
        """Let go of the file and forget what was read."""
        self._stream.close()
        self._frames.clear()

    def _pread(self, offset: int, count: int) -> bytes:
        parts = bytearray()
        while len(parts) < count:
            part = os.pread(self._stream.fileno(), count - len(parts), offset + len(parts))
            if not part:
                raise self._owner.damaged(f"the file of its {self._role} is cut off")
            parts += part
        return bytes(parts)


def _label(owner: Owner, role: str, segment: str) -> bytes:
    return f"{owner.vault}/{owner.dataset}/{role}/{segment}/".encode()


def _number(frame: int) -> bytes:
    return frame.to_bytes(8, "little")


def _nonce(frame: int, last: bool) -> bytes:
    return frame.to_bytes(11, "big") + bytes([last])
