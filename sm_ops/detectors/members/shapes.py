"""Shapes alone: one published form a type, with no word beside it and no check digit. The usual first baseline.

What it cannot tell apart is the point: any date is a DOB, and any row of digit groups an ACCOUNT. `regex` looks at the
words beside a match.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sm_ops.detectors.detector import Detection, check_texts, in_order, with_threshold

DEFAULTS = {"threshold": 0.0}

_MONTH_NAME = r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_PATTERNS = {
    "RRN": "[0-9]{6}[- ]?[1-8][0-9]{6}",
    "CARD": "[0-9]{4}[- ]?[0-9]{4}[- ]?[0-9]{4}[- ]?[0-9]{4}|[0-9]{4}[- ]?[0-9]{6}[- ]?[0-9]{5}",
    "EMAIL": r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]++@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}",
    "PHONE": r"(?:\+82[ -]?|0)[0-9]{1,2}[-. )]?[0-9]{3,4}[-. ]?[0-9]{4}"
    r"|(?:\+1[ -]?)?\(?[0-9]{3}\)?[-. ][0-9]{3}[-. ][0-9]{4}|\+44[ -]?[0-9]{2,4}[ -]?[0-9]{3,4}[ -]?[0-9]{3,4}",
    "DOB": r"(?:19|20)[0-9]{2}[-./] ?[0-9]{1,2}[-./] ?[0-9]{1,2}|(?:[0-9]{2})?[0-9]{2}년 ?[0-9]{1,2}월 ?[0-9]{1,2}일"
    r"|[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}"
    rf"|{_MONTH_NAME} [0-9]{{1,2}}, [0-9]{{4}}|[0-9]{{1,2}} {_MONTH_NAME} [0-9]{{4}}",
    "ACCOUNT": "[0-9]{3,6}-[0-9]{2,6}-[0-9]{3,6}(?:-[0-9]{2,3})?|[0-9]{10,14}",
}
"""By type, in the order of R17: a match that touches an earlier one is dropped."""
_SCORE = 0.5
"""A shape says nothing of how sure it is."""


def load(settings: Mapping[str, Any]) -> ShapesDetector:
    """The detector; reads `threshold` (0: every match, and above 0.5 none)."""
    return ShapesDetector(check(settings)["threshold"])


def check(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings as `load` takes them."""
    return with_threshold("shapes", settings, DEFAULTS)


class ShapesDetector:
    """One pattern a type; a number never begins or ends within a longer one."""

    def __init__(self, threshold: float = 0.0) -> None:
        self._threshold = threshold
        self._patterns = [(type_, re.compile(rf"(?<!\d)(?:{shape})(?!\d)")) for type_, shape in _PATTERNS.items()]

    def detect(self, texts: Sequence[str]) -> list[list[Detection]]:
        """The spans of each text; see `Detector.detect`. The labels are the types."""
        check_texts(texts)
        return [self._detect(text) for text in texts]

    def _detect(self, text: str) -> list[Detection]:
        taken = bytearray(len(text))
        found = []
        for type_, pattern in self._patterns:
            for match in pattern.finditer(text):
                start, end = match.span()
                if self._threshold <= _SCORE and not any(taken[start:end]):
                    taken[start:end] = b"\1" * (end - start)
                    found.append(Detection(start, end, type_, _SCORE))
        return in_order(found)
