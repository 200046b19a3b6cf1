"""The text that all offsets count in, and what trimming removes (R1 to R3).

A source is NFC-normalised once and never changed otherwise: read files with `newline=""`. Offsets are
code points of that NFC text, so they differ from those of an NFD file, of UTF-16 and of bytes.
"""

from __future__ import annotations

import re
import unicodedata

from sm_ops.pii.errors import RuleError

_RANGES = ((0x09, 0x0D), (0x1C, 0x20), (0x85, 0x85), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A),
           (0x2028, 0x2029), (0x202F, 0x202F), (0x205F, 0x205F), (0x3000, 0x3000))  # fmt: skip
WHITESPACE = "".join(chr(point) for first, last in _RANGES for point in range(first, last + 1))
"""W of R2: the 29 characters that are blank in every version of Python, whatever its Unicode tables say."""
_TRIMMED = WHITESPACE + "\u200b\u2060\ufeff"
SURROGATE = re.compile("[\ud800-\udfff]")


def normalise_source(text: object, place: str = "source") -> str:
    """The NFC text of a document (R1); refuses what is no string and lone surrogates, naming the place."""
    if not isinstance(text, str):
        raise RuleError("E_SOURCE_TYPE", place)
    if SURROGATE.search(text):
        raise RuleError("E_SOURCE_SURROGATE", place)
    return unicodedata.normalize("NFC", text)


def trim(text: str) -> str:
    """Without whitespace, zero width space, word joiner and byte order mark at both ends (R2)."""
    return text.strip(_TRIMMED)


def normalise_value(value: str) -> str:
    """A value as it is compared: NFC, then trimmed; inner characters stay (R2)."""
    return trim(unicodedata.normalize("NFC", value))


def normalise_type(name: str) -> str:
    """A type as it is compared: trimmed, and upper-cased if it is all ASCII, for `ſ` is no S (R3)."""
    trimmed = trim(name)
    return trimmed.upper() if trimmed.isascii() else trimmed
