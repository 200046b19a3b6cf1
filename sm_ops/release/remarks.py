"""What people write for a release: one line that is signed or logged, and shown on other people's terminals."""

from __future__ import annotations

from contextlib import suppress

from sm_ops.core.errors import InputError
from sm_ops.release.folder import Release


def one_line(text: str, what: str) -> str:
    """The text without blanks around it. Raises `InputError` where it is empty, or holds control characters."""
    text = text.strip()
    if not text or not text.isprintable():
        raise InputError(what, f"Give a {what} of one line: it is kept, and everybody reads it.")
    return text


def refuse_values(release: Release, text: str, what: str) -> None:
    """Raise `InputError` where a known value stands in a text for a release.

    Values that cannot be read here are not looked for: whoever decides need not be able to open the vault.
    """
    from sm_ops.release.checks.known_values import stands_in

    found = False
    with suppress(InputError):
        found = stands_in(release, text)
    if found:
        hint = f"The {what} holds a known value, and it would be read by everybody; say it without the value."
        raise InputError(f"value-in-{what}", hint)


def shown(text: str) -> str:
    """Any text, fit for a terminal's line."""
    return "".join(each if each.isprintable() else " " for each in text)
