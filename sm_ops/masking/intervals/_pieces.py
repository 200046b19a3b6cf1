"""Trim a piece of a text."""

from __future__ import annotations


def trimmed(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """The interval without whitespace at its ends, alone in a list; nothing where only whitespace is left."""
    piece = text[start:end]
    left, right = start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())
    return [(left, right)] if left < right else []
