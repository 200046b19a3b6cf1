"""Whether a text displays a quirk: one of the paper's, or one of an outside package."""

from __future__ import annotations

from sm_ops.core import registry
from sm_ops.core.errors import InputError, SmOpsError
from sm_ops.data.quirks.applying import shown_by


def shows(quirk: str, text: str) -> bool:
    """As `applying.shows`, for every member of the kind `quirk`.

    Raises `InputError` for a name that is none, and where the detector itself fails on a program, or says neither
    True nor False of it.
    """
    detector = registry.load("quirk", quirk)
    try:
        answer = shown_by(detector, text)
    except SmOpsError:
        raise
    except (Exception, SystemExit) as error:
        raise InputError(
            "quirk-failed",
            f"The detector of the quirk {quirk!r} ({detector.__name__}) stopped with {type(error).__name__}; correct "
            "it: it is asked about programs of any kind, and answers yes or no.",
        ) from None
    if not isinstance(answer, bool):
        raise InputError(
            "quirk-answers-otherwise",
            f"The detector of the quirk {quirk!r} ({detector.__name__}) answered with an object of type "
            f"{type(answer).__name__}; its function `shows` has to return True or False.",
        )
    return answer


def check(quirk: str) -> None:
    """Refuse a quirk whose detector cannot be asked: it is, about a program of one line."""
    shows(quirk, "number = 1\n")
