"""Whether a text displays a quirk: one of the paper's, or one of an outside package."""

from __future__ import annotations

from sm_ops.core import registry
from sm_ops.data.quirks.applying import shown_by


def shows(quirk: str, text: str) -> bool:
    """As `applying.shows`, for every member of the kind `quirk`; raises `InputError` for a name that is none."""
    return shown_by(registry.load("quirk", quirk), text)
