"""One line of what `sm-ops doctor` says."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """What was looked at, whether it is well, and what was found; of what is not well also what to do."""

    what: str
    ok: bool
    found: str
