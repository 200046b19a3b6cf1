"""Whether a text displays a quirk: one of the paper's, or one of an outside package."""

from __future__ import annotations

from sm_ops.core import registry
from sm_ops.core.errors import InputError, SmOpsError
from sm_ops.data.quirks.applying import shown_by


def shows(quirk: str, text: str) -> bool:
    """As `applying.shows`, for every member of the kind `quirk`.

    Raises `InputError` for a name that is none, and where the detector itself fails on a program.
    """
    detector = registry.load("quirk", quirk)
    try:
        return shown_by(detector, text)
    except SmOpsError:
        raise
    except (Exception, SystemExit) as error:
        raise InputError(
            "quirk-failed",
            f"The detector of the quirk {quirk!r} ({detector.__name__}) stopped with {type(error).__name__}; correct "
            "it: it is asked about programs of any kind, and answers yes or no.",
        ) from None
