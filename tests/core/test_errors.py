"""What crosses a stage's edge is a sentence: no cause, no context, no value."""

from __future__ import annotations

import errno
import pickle
import traceback
from pathlib import Path

import pytest
from toy_stages import VALUE, step

from sm_ops.core.errors import BugError, InputError, SmOpsError, StageError, sanitise
from sm_ops.core.execute import execute
from sm_ops.core.store import Store

pytestmark = pytest.mark.unit


def everything(error: BaseException) -> str:
    """All that a reporter could print or store of an exception."""
    lines = traceback.TracebackException.from_exception(error, capture_locals=False).format()
    return "".join(lines) + repr(error) + repr(vars(error)) + repr(error.args) + repr(pickle.dumps(error))


def raised(function) -> BaseException:
    try:
        function()
    except BaseException as error:
        return error
    raise AssertionError("nothing was raised")


def nested():
    try:
        {}[VALUE]
    except KeyError as error:
        raise ValueError(VALUE) from error


class Odd(Exception):
    def __str__(self):
        raise RuntimeError(VALUE)


def odd():
    raise Odd


@pytest.mark.parametrize("fail", [nested, lambda: {}[VALUE], lambda: int(VALUE), Path(VALUE * 99).read_text, odd])
def test_no_value_comes_through(fail):
    clean = sanitise(raised(fail))
    assert isinstance(clean, SmOpsError)
    assert clean.__cause__ is None
    assert clean.__context__ is None
    assert VALUE not in everything(clean)


def test_a_failing_stage_gives_its_type_and_our_line_alone(tmp_path):
    heard = []
    error = raised(lambda: execute(step("refuse"), {}, Store(tmp_path), failed=heard.append))
    assert isinstance(error, BugError)
    assert error.hint.startswith("Internal error: ValueError at execute.py:")
    assert error.__cause__ is None
    assert error.__context__ is None
    assert VALUE not in everything(error)
    assert VALUE in str(heard[0]), "the original is for the restricted log alone"


@pytest.mark.parametrize("cls", [InputError, StageError, BugError])
def test_our_own_errors_keep_their_words_and_lose_their_chain(cls):
    def fail():
        try:
            nested()
        except ValueError as error:
            raise cls("some-code", "What to do.") from error

    clean = sanitise(raised(fail))
    assert (type(clean), str(clean)) == (cls, "What to do. [some-code]")
    assert clean.__cause__ is None
    assert clean.__context__ is None


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "No space left on device"),
        (errno.EROFS, "Read-only file system"),
        (errno.EACCES, "Permission denied"),
        (errno.EIO, "Input/output error"),
    ],
)
def test_the_systems_errors_are_sentences(tmp_path, number, words):
    clean = sanitise(OSError(number, VALUE, str(tmp_path)))
    assert isinstance(clean, InputError)
    assert clean.hint.startswith(f"{words} at {tmp_path};")
    assert clean.hint.endswith(".")
    assert VALUE not in str(clean)


def test_a_missing_file_is_named_by_the_folder_that_exists(tmp_path):
    clean = sanitise(raised((tmp_path / "absent" / VALUE).read_text))
    assert clean.hint.startswith(f"No such file or directory below {tmp_path};")


def test_a_full_disk_is_told_through_a_librarys_wrapping(tmp_path):
    def fail():
        try:
            raise OSError(errno.ENOSPC, "full", str(tmp_path))
        except OSError as error:
            raise RuntimeError("writer failed") from error

    assert "No space left on device" in sanitise(raised(fail)).hint


def test_a_full_disk_is_told_where_a_library_gives_no_reason(tmp_path, monkeypatch):
    monkeypatch.setattr("sm_ops.core.fs.is_full", lambda path: True)
    error = raised(lambda: execute(step("refuse"), {}, Store(tmp_path)))
    assert isinstance(error, InputError)
    assert error.hint.startswith(f"No space left on device at {tmp_path};")


def test_too_little_memory_is_not_our_bug():
    assert isinstance(sanitise(MemoryError(VALUE)), InputError)
    assert isinstance(sanitise(type("OutOfMemoryError", (RuntimeError,), {})(VALUE)), InputError)


def test_exit_codes():
    assert [cls.exit_code for cls in (BugError, InputError, StageError)] == [1, 2, 3]
