"""The byte strings that give a value away, and how far a value can be searched at all.

Short values occur by chance or as ordinary words, so a search for them says nothing. What counts is the size of a
value's letters and digits in UTF-8, where a Hangul syllable has 3 bytes:

    anywhere    8 bytes or more, and 10 digits or more where there is nothing but digits: even in a gigabyte of random
                bytes, hex digits or base64, an occurrence by chance is unlikely (below 1 in 50), in every form
    words       4 to 7 bytes, or fewer than 10 digits: only as spelt (plain or escaped; from 8 digits on also with other
                separators), and only where no letter or digit touches it; forms without edges, such as base64, would be
                found by chance
    not at all  less than 4 bytes: `Kim`, `Al` or one syllable stand in any text

Of a value longer than `HEAD` code points, as many from its first letter or digit on are searched: the automaton over
all forms grows with every character.
"""

from __future__ import annotations

import base64
import re
import unicodedata
from typing import Literal

from sm_ops.leaks.escapes import unescape

Reach = Literal["anywhere", "words", "none"]
SEPARATOR_FREE = "separator-free"
UTF16 = "utf-16"
ESCAPED = "escaped"
HEAD = 200
_WORD_BYTES, _FREE_BYTES, _FREE_DIGITS = 4, 8, 10
_REGROUPED_DIGITS = 8
_SEPARATORS = ("", " ", "-", ".", "/", "_", ":")
_DIGIT_GROUPS = re.compile(r"\d+")
_ALNUM = re.compile(r"[^\W_]")
_WIDE = re.compile("[\uff01-\uff5e]")
_NARROW = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_BARE = re.compile(r"[\W_]+")
_ASCII_BARE = bytes(code for code in range(128) if not chr(code).isalnum())
_ASCII_LOWER = bytes(range(256)).lower()
_URL_SAFE = bytes.maketrans(b"+/", b"-_")


def bare(text: str) -> str:
    """Letters and digits alone, in lower case and half width: equal for all ways to join the parts of a value."""
    if _WIDE.search(text):
        text = text.translate(_NARROW)
    return _BARE.sub("", text).lower()


def bare_bytes(data: bytes) -> bytes:
    """The same for bytes, read as UTF-8."""
    kept = data.translate(_ASCII_LOWER, _ASCII_BARE)
    return kept if kept.isascii() else bare(kept.decode(errors="ignore")).encode()


def head(value: str) -> str:
    """What is searched of a value: all of it unless it is long."""
    if len(value) <= HEAD:
        return value
    first = _ALNUM.search(value)
    start = first.start() if first else 0
    return value[start : start + HEAD]


def reach(value: str) -> Reach:
    """How far a value can be searched."""
    kept = bare(value)
    size = len(kept.encode(errors="replace"))
    if size < _WORD_BYTES:
        return "none"
    digits_alone = kept.isdecimal() and len(kept) < _FREE_DIGITS
    return "words" if size < _FREE_BYTES or digits_alone else "anywhere"


def spelt(value: str) -> dict[str, set[bytes]]:
    """Forms in which a value's edges can be seen; escapes are undone in the text, so a value needs none."""
    raw = _encode(value)
    return {
        "raw": {raw, _encode(unicodedata.normalize("NFD", value))},
        UTF16: {value.encode("utf-16-le", "surrogatepass")},
        ESCAPED: {raw.replace(b" ", b"+"), unescape(raw)},
        SEPARATOR_FREE: _regrouped(value),
    }


def everywhere(value: str) -> dict[str, set[bytes]]:
    """All forms but the separator-free one, which is looked for in text made bare."""
    raw = _encode(value)
    utf16 = value.encode("utf-16-le", "surrogatepass")
    found = spelt(value)
    found["raw"] |= {_encode(value.lower()), _encode(value.upper())}
    return found | {
        "cp949": _cp949(value),
        "base64": _base64(raw) | (_base64(utf16) if len(utf16) >= _FREE_BYTES else set()),
        "hex": {raw.hex().encode(), raw.hex().upper().encode(), raw.hex(" ").encode()},
        "reversed": {_encode(value[::-1]), raw[::-1]},
    }


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _regrouped(value: str) -> set[bytes]:
    """A number such as a date with other separators between its groups: too short to be looked for without edges."""
    kept, groups = bare(value), _DIGIT_GROUPS.findall(value)
    if not (kept.isdecimal() and kept.isascii() and _REGROUPED_DIGITS <= len(kept) < _FREE_DIGITS and len(groups) > 1):
        return set()
    return {separator.join(groups).encode() for separator in _SEPARATORS}


def _cp949(value: str) -> set[bytes]:
    try:
        return {value.encode("cp949")}
    except UnicodeEncodeError:
        return set()


def _base64(raw: bytes) -> set[bytes]:
    """What is common to all base64 texts that hold the bytes, for each of the three phases and both alphabets."""
    found = set()
    for phase in range(3):
        padded = b"\0" * phase + raw
        whole = len(padded) - len(padded) % 3
        skipped = (0, 2, 3)[phase]  # characters that mix with what stands before
        encoded = base64.b64encode(padded[:whole])[skipped:]
        found |= {encoded, encoded.translate(_URL_SAFE)}
    return found
