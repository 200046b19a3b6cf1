"""Word lists, written as running text."""

from __future__ import annotations


def listed(text: str) -> list[str]:
    """The words of a text that blanks part."""
    return text.split()
