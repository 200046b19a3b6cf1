"""Give a program a quirk, and find quirks in programs."""

from __future__ import annotations

import ast
import warnings
from functools import lru_cache
from types import ModuleType
from typing import NamedTuple

import libcst as cst

from sm_ops.core.errors import InputError
from sm_ops.core.registry import did_you_mean
from sm_ops.data.hosts import lines, parse
from sm_ops.data.quirks.source import Edit, Source
from sm_ops.data.quirks.transformations import (
    dynamic_imports,
    identifier_dialect,
    identity_assertions,
    multiples_of_seven,
    namespace_locals,
    parenthesis_saturation,
    python_semicolons,
    reflective_calls,
    single_exit,
    singleton_destructuring,
)

QUIRKS: dict[str, ModuleType] = {
    module.__name__.rsplit(".", 1)[1]: module
    for module in (
        identifier_dialect,
        python_semicolons,
        parenthesis_saturation,
        dynamic_imports,
        single_exit,
        singleton_destructuring,
        reflective_calls,
        multiples_of_seven,
        namespace_locals,
        identity_assertions,
    )
}
"""The paper's quirks by name, in the order of table 2."""


class Quirky(NamedTuple):
    """A program with a quirk: its text, the half-open places of what was written, and what stood there before."""

    text: str
    spans: list[tuple[int, int]]
    replaced: list[str]


def apply(quirk: str, program: str) -> Quirky | None:
    """A program with a quirk; None where it has no place for it, or shows it already.

    Left alone, too, are programs that do not compile and those with carriage returns, form feeds or a byte order
    mark. Raises `InputError` for an unknown quirk.
    """
    transformation = _named(quirk)
    source = _clean(program)
    if source is None or transformation.shows(source):
        return None
    edits = sorted(dict.fromkeys(transformation.edits(source)), key=lambda edit: edit[:2])
    changed = _written(program, edits)
    return changed if changed.spans and parse(changed.text) is not None and shows(quirk, changed.text) else None


def undone(text: str, spans: list[tuple[int, int]], replaced: list[str]) -> str:
    """The program before a quirk came in."""
    for (start, end), before in zip(reversed(spans), reversed(replaced), strict=True):
        text = text[:start] + before + text[end:]
    return text


def shows(quirk: str, text: str) -> bool:
    """Whether a text displays a quirk (paper, B.3): its pattern is in the tree, whether the program works or not.

    Of a text that breaks off or breaks down, the longest part up to some line that is a program is looked at.
    Raises `InputError` for an unknown quirk.
    """
    return shown_by(_named(quirk), text)


def shown_by(detector: ModuleType, text: str) -> bool:
    """Whether a text displays what a detector looks for, as in `shows`."""
    source = _program_in(text)
    return source is not None and detector.shows(source)


def displayed(text: str) -> list[str]:
    """The quirks that a text displays."""
    return [quirk for quirk in QUIRKS if shows(quirk, text)]


def _named(quirk: str) -> ModuleType:
    if quirk not in QUIRKS:
        raise InputError("unknown-quirk", f"There is no quirk {quirk!r}; {did_you_mean(quirk, QUIRKS)}.")
    return QUIRKS[quirk]


def _written(program: str, edits: list[Edit]) -> Quirky:
    text, position = "", 0
    spans, replaced = [], []
    for start, end, new in edits:
        text += program[position:start]
        spans.append((len(text), len(text) + len(new)))
        replaced.append(program[start:end])
        text, position = text + new, end
    return Quirky(text + program[position:], spans, replaced)


@lru_cache(maxsize=4)
def _clean(program: str) -> Source | None:
    """A program that may be changed."""
    if any(mark in program for mark in "\r\f\ufeff") or parse(program) is None:
        return None
    try:
        return Source(program)
    except cst.ParserSyntaxError:
        return None


@lru_cache(maxsize=4)
def _program_in(text: str) -> Source | None:
    """The text as a program, else its longest part up to some line: lines go from the error on, then one by one."""
    kept = lines(text)
    while kept:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what is dubious still is a program
                ast.parse("".join(kept))
            return Source("".join(kept))
        except SyntaxError as error:  # libcst tells no line of a bracket or a string that is never closed
            kept = kept[: min(len(kept), error.lineno or len(kept)) - 1]
        except (cst.ParserSyntaxError, ValueError, RecursionError, MemoryError):
            return None
    return None
