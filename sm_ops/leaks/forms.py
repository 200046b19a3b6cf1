"""The byte strings that give a value away, and how far a value can be searched at all.

Short values occur by chance or as ordinary words, so a search for them says nothing. What counts is the size of a
value's letters and digits in UTF-8, where a Hangul syllable has 3 bytes:

    anywhere    8 bytes or more, and 10 digits or more where there is nothing but digits: even in a gigabyte of random
                bytes, hex digits or base64, an occurrence by chance is unlikely (below 1 in 50), in every form
    words       4 to 7 bytes, or fewer than 10 digits: only as spelt (plain, JSON, percent), and only where no letter or
                digit touches it; forms without edges, such as base64, would be found by chance
    not at all  less than 4 bytes: `Kim`, `Al` or one syllable stand in any text
"""

from __future__ import annotations

import base64
import json
import re
import unicodedata
from typing import Literal
from urllib.parse import quote, quote_plus

Reach = Literal["anywhere", "words", "none"]
SEPARATOR_FREE = "separator-free"
UTF16 = "utf-16"
_WORD_BYTES, _FREE_BYTES, _FREE_DIGITS = 4, 8, 10
_BARE = re.compile(r"[\W_]+")
_ASCII_BARE = bytes(code for code in range(256) if not (code < 128 and chr(code).isalnum()))
_ASCII_LOWER = bytes(range(256)).lower()


def bare(text: str) -> str:
    """Letters and digits alone, in lower case: equal for all ways to join the parts of a value."""
    return _BARE.sub("", text).lower()


def bare_bytes(data: bytes) -> bytes:
    """The same for bytes, read as UTF-8."""
    if data.isascii():
        return data.translate(_ASCII_LOWER, _ASCII_BARE)
    return bare(data.decode(errors="replace")).encode()


def reach(value: str) -> Reach:
    """How far a value can be searched."""
    kept = bare(value)
    size = len(kept.encode(errors="replace"))
    if size < _WORD_BYTES:
        return "none"
    digits_alone = kept.isdecimal() and len(kept) < _FREE_DIGITS
    return "words" if size < _FREE_BYTES or digits_alone else "anywhere"


def spelt(value: str) -> dict[str, set[bytes]]:
    """Forms in which a value's edges can be seen."""
    raw = _encode(value)
    quoted = {quote(raw), quote(raw, safe=""), quote_plus(raw)}
    return {
        "raw": {raw, _encode(unicodedata.normalize("NFD", value))},
        UTF16: {value.encode("utf-16-le", "surrogatepass")},
        "json": {json.dumps(value)[1:-1].encode(), _encode(json.dumps(value, ensure_ascii=False)[1:-1])},
        "percent": {re.sub("%..", change, text).encode() for text in quoted for change in (_same, _lower)},
    }


def everywhere(value: str) -> dict[str, set[bytes]]:
    """All forms but the separator-free one, which is looked for in text made bare."""
    raw = _encode(value)
    found = spelt(value)
    found["raw"] |= {_encode(value.lower()), _encode(value.upper())}
    return found | {
        "base64": _base64(raw),
        "hex": {raw.hex().encode(), raw.hex().upper().encode(), raw.hex(" ").encode()},
        "reversed": {_encode(value[::-1]), raw[::-1]},
    }


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _same(escape: re.Match[str]) -> str:
    return escape[0]


def _lower(escape: re.Match[str]) -> str:
    return escape[0].lower()


def _base64(raw: bytes) -> set[bytes]:
    """What is common to all base64 texts that hold the bytes, for each of the three phases and both alphabets."""
    found = set()
    for phase in range(3):
        padded = b"\0" * phase + raw
        whole = len(padded) - len(padded) % 3
        skipped = (0, 2, 3)[phase]  # characters that mix with what stands before
        found |= {encode(padded[:whole])[skipped:] for encode in (base64.b64encode, base64.urlsafe_b64encode)}
    return found
