"""Offsets in bytes or UTF-16 units become offsets in code points (OP-01)."""

from __future__ import annotations

import numpy as np

from sm_ops.core.errors import InputError


def from_bytes(text: str, starts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The smallest code-point intervals that hold every character of which a UTF-8 byte lies in `[start, end)`.

    `starts`, `ends` are int arrays of equal length n, in bytes of `text`; the answer is two int64 arrays of
    length n. An empty interval stays empty. Raises `InputError` for an interval outside the text.
    """
    points = _code_points(text)
    widths = 1 + (points >= 0x80) + (points >= 0x800) + (points >= 0x10000)
    return _to_characters(np.cumsum([0, *widths.tolist()]), starts, ends, "bytes")


def from_utf16(text: str, starts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same for offsets in UTF-16 units, as Java, JavaScript and C# count them."""
    widths = 1 + (_code_points(text) >= 0x10000)
    return _to_characters(np.cumsum([0, *widths.tolist()]), starts, ends, "UTF-16 units")


def _code_points(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")


def _to_characters(
    bounds: np.ndarray, starts: np.ndarray, ends: np.ndarray, unit: str
) -> tuple[np.ndarray, np.ndarray]:
    """`bounds[c]` is where character c starts, the last entry where the text ends."""
    starts, ends = np.asarray(starts, np.int64), np.asarray(ends, np.int64)
    wrong = np.flatnonzero((starts < 0) | (ends < starts) | (ends > bounds[-1]))
    if len(wrong):
        raise InputError(
            "bad-offsets",
            f"Interval {wrong[0]} is [{starts[wrong[0]]}, {ends[wrong[0]]}), but the text has {bounds[-1]} {unit}; "
            "check which unit the offsets count and which text they belong to.",
        )
    first = np.searchsorted(bounds, starts, side="right") - 1
    behind = np.searchsorted(bounds, ends, side="left")
    return first, np.where(ends > starts, behind, first)
