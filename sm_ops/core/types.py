"""Types that many modules share."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int], None]
"""Told `(done, total)` as a work goes on, never data."""


def unheard(done: int, total: int) -> None:
    """The progress of a work that nobody watches."""
