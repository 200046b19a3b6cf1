"""What somebody could do to a file of a release, so that a test can try all of it."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

Change = tuple[str, bytes]


def flips(data: bytes, step: int = 1, bits: int = 1) -> Iterator[Change]:
    """Single flipped bits: of every `step`-th byte one bit or more, another one for each."""
    for place in range(0, len(data), step):
        for turn in range(bits):
            bit = (place + turn) % 8
            yield f"byte {place}, bit {bit}", data[:place] + bytes([data[place] ^ 1 << bit]) + data[place + 1 :]


def rewrites(data: bytes) -> Iterator[Change]:
    """Other files that say the same to a careless reader, and cut or lengthened ones; never the file itself."""
    for what, changed in _rewrites(data):
        if changed != data:
            yield what, changed


def _rewrites(data: bytes) -> Iterator[Change]:
    yield "empty", b""
    yield "cut", data[:-1]
    yield "half", data[: len(data) // 2]
    yield "one more line's end", data + b"\n"
    yield "a NUL at the end", data + b"\0"
    yield "a byte order mark", b"\xef\xbb\xbf" + data
    yield "CRLF", data.replace(b"\n", b"\r\n")
    yield "twice", data + data
    if data.startswith(b"{"):
        yield "a blank inside", b"{ " + data[1:]
        yield "an escape", b'{"\\u%04x' % data[2] + data[3:]
        yield "one more field", b'{"aaa":1,' + data[1:]
        yield "a field twice", data[: data.index(b",") + 1] + data[1:]
    if data.startswith(b'{"payload":'):
        yield from _envelopes(json.loads(data))


def _envelopes(value: dict) -> Iterator[Change]:
    """Other envelopes with the same meaning, or with other signatures."""
    yield "pretty", json.dumps(value, indent=1).encode() + b"\n"
    yield "spaces", json.dumps(value, sort_keys=True).encode() + b"\n"
    first, *others = value["signatures"]
    last = value["signatures"][-1]
    for field, text in (("payload", value["payload"]), ("sig", last["sig"])):
        for what, other in _base64(text):
            signed = [*value["signatures"][:-1], last | {"sig": other}]
            changed = {"payload": other} if field == "payload" else {"signatures": signed}
            yield f"{field}, {what}", _written(value, **changed)
    yield "other type", _written(value, payloadType="application/json")
    yield "a field more", _written(value, note="")
    yield "a field more in a signature", _written(value, signatures=[first | {"note": ""}, *others])
    yield "no signature", _written(value, signatures=[])
    yield "a signature less", _written(value, signatures=others)
    yield "a signature twice", _written(value, signatures=[first, *value["signatures"]])
    yield "signatures in another order", _written(value, signatures=value["signatures"][::-1])
    yield "another key's name", _written(value, signatures=[first | {"keyid": "0" * 64}, *others])
    yield "a key's name in capitals", _written(value, signatures=[first | {"keyid": first["keyid"].upper()}, *others])


def _base64(text: str) -> Iterator[tuple[str, str]]:
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    bare = text.rstrip("=")
    if len(bare) < len(text):
        spare = bare[:-1] + letters[letters.index(bare[-1]) ^ 1]
        assert base64.b64decode(spare + text[len(bare) :]) == base64.b64decode(text), "spare bits mean nothing"
        yield "spare bits", spare + text[len(bare) :]
        yield "no padding", bare
    yield "more padding", text + "===="
    yield "for URLs", text.replace("+", "-").replace("/", "_")
    yield "in lines", text[:8] + "\n" + text[8:]
    yield "a blank", text + " "


def _written(value: dict, **fields: object) -> bytes:
    return json.dumps(value | fields, sort_keys=True, separators=(",", ":")).encode() + b"\n"


def _link(path: Path) -> None:
    target = Path(os.environ["SM_OPS_HOME"]).parent / "elsewhere"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(path.read_bytes())
    path.unlink()
    path.symlink_to(target)


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


REPLACEMENTS: dict[str, Callable[[Path], None]] = {
    "removed": Path.unlink,
    "a link to the same": _link,
    "a pipe": _pipe,
    "a folder": _folder,
}
