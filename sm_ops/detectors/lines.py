"""Lines of a text as scanners of files count them, and where each begins."""

from __future__ import annotations

import re
from typing import NamedTuple

_END = re.compile("\r\n|\r|\n")


class Lines(NamedTuple):
    """The lines of a text without their ends, and the code point at which each begins."""

    texts: list[str]
    starts: list[int]

    @classmethod
    def of(cls, text: str) -> Lines:
        """Cut at CRLF, CR and LF, as Python's text files do; an empty text is one empty line."""
        starts = [0, *(match.end() for match in _END.finditer(text))]
        ends = [*(match.start() for match in _END.finditer(text)), len(text)]
        return cls([text[start:end] for start, end in zip(starts, ends, strict=True)], starts)
