"""The time, in UTC and whole seconds, as releases write it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sm_ops.core.errors import InputError

_FORM = "%Y-%m-%dT%H:%M:%SZ"
SKEW = timedelta(minutes=5)
"""How far the clocks of two machines that share a home may differ."""


def now() -> datetime:
    """The present time, without fractions of a second."""
    return datetime.now(UTC).replace(microsecond=0)


def told(time: datetime) -> str:
    """A time as `2026-01-31T12:00:00Z`."""
    return time.astimezone(UTC).strftime(_FORM)


def read(text: str) -> datetime:
    """A time from the form that `told` writes. Raises ValueError for any other."""
    return datetime.strptime(text, _FORM).replace(tzinfo=UTC)


def after(last: str | None) -> datetime:
    """The time of an entry that follows one of the time `last`: never before it.

    Raises `InputError` when the clock stands so far behind that it must have been set back.
    """
    present = now()
    if last is None or (before := read(last)) <= present:
        return present
    if before - present > SKEW:
        hint = f"The clock says {told(present)}, but the log's last entry is of {last}; set the clock right."
        raise InputError("clock", hint)
    return before
