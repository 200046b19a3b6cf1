"""Undo the escapes of JSON (also of JSON in JSON), of URLs, of HTML, and of bytes as Python prints them.

A text is searched with its escapes undone, so that a value is found whichever of its characters were escaped, in lower
or upper case, and how many times over. Runs of backslashes become one and escaped white space becomes a space: a value
is compared after the same was done to it.
"""

from __future__ import annotations

import re

_SLASHES = rb"\\\\{0,14}"  # begins with a plain character, which makes the search fast
_HIGH, _LOW = rb"u[dD][89abAB][0-9a-fA-F]{2}", rb"u[dD][c-fC-F][0-9a-fA-F]{2}"
_ESCAPE = re.compile(
    rb"(%s(?:%s%s%s|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|[\"'/bfnrt])|\\\\{1,14}" % (_SLASHES, _HIGH, _SLASHES, _LOW)
    + rb"|%[0-9a-fA-F]{2}|&(?:amp;){0,3}(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|amp|lt|gt|quot|apos|nbsp);)"
)
_UNFINISHED = re.compile(
    rb"(?:%s%s)?%s(?:u[0-9a-fA-F]{0,4}|x[0-9a-fA-F]?)?\Z" % (_SLASHES, _HIGH, _SLASHES)
    + rb"|%[0-9a-fA-F]?\Z|&[#a-zA-Z0-9;]{0,24}\Z"
)
_LONGEST = 48
_NAMED = {b"amp": b"&", b"lt": b"<", b"gt": b">", b"quot": b'"', b"apos": b"'", b"nbsp": b" "}
_REMEMBERED = 1 << 16


def unescape(data: bytes) -> bytes:
    """All escapes undone."""
    return Unescaper().feed(data, last=True)


class Unescaper:
    """The same for a stream, whose chunks may end within an escape."""

    def __init__(self) -> None:
        self.changed = False
        self._held = b""

    def feed(self, data: bytes, last: bool = False) -> bytes:
        """Go on with the next bytes; what may be the beginning of an escape is held back until it is whole."""
        data = self._held + data
        self._held = b""
        if not last and (unfinished := _UNFINISHED.search(data, max(0, len(data) - _LONGEST))):
            self._held = data[unfinished.start() :]
            data = data[: unfinished.start()]
        pieces = _ESCAPE.split(data)
        if len(pieces) == 1:
            return data
        self.changed = True
        if len(_MEANINGS) > _REMEMBERED:
            _MEANINGS.clear()
        pieces[1::2] = map(_MEANINGS.__getitem__, pieces[1::2])
        return b"".join(pieces)


class _Meanings(dict[bytes, bytes]):
    """What an escape stands for, remembered."""

    def __missing__(self, escape: bytes) -> bytes:
        self[escape] = meaning = _meaning(escape)
        return meaning


_MEANINGS = _Meanings()


def _meaning(escape: bytes) -> bytes:
    if escape[:1] == b"%":
        return bytes([int(escape[1:], 16)])
    if escape[:1] == b"&":
        name = escape[:-1].rpartition(b";")[2].removeprefix(b"&")
        if name[:1] != b"#":
            return _NAMED[name]
        code = int(name[2:], 16) if name[1:2] in b"xX" else int(name[1:])
        return chr(code).encode("utf-8", "surrogatepass") if code <= 0x10FFFF else escape
    units = re.findall(rb"u([0-9a-fA-F]{4})", escape)
    if units:
        utf16 = bytes.fromhex(b"".join(units).decode())
        return utf16.decode("utf-16-be", "surrogatepass").encode("utf-8", "surrogatepass")
    letter = escape.lstrip(b"\\")
    if letter[:1] == b"x":
        return bytes([int(letter[1:], 16)])
    return b" " if letter in (b"b", b"f", b"n", b"r", b"t") else letter or b"\\"
