"""Multiples-of-seven staging: what a function computes goes into a temporary variable first, numbered 7, 14, 21, ..."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from sm_ops.data.quirks.source import Edit, Source, plain_assignment

_NOT_COMPUTED = (cst.Name, cst.BaseNumber, cst.SimpleString)
_STAGE = re.compile(r"step_([1-9][0-9]*)")


def edits(source: Source) -> Iterator[Edit]:
    """A name before, and a line behind each computation."""
    if source.looks_at_names or any(_STAGE.fullmatch(name) for name in source.names):
        return
    staged = [
        (statement, found[0])
        for statement, inside in source.lone_statements()
        if (found := plain_assignment(statement))
        and not isinstance(found[1], _NOT_COMPUTED)
        and isinstance(inside, cst.FunctionDef)
    ]
    for number, (statement, target) in enumerate(sorted(staged, key=lambda pair: source.start(pair[0])), start=1):
        place = source.line_end(source.end(statement))
        yield Edit(source.start(target), source.end(target), f"step_{7 * number}")
        yield Edit(place, place, f"\n{source.margin(statement)}{target.value} = step_{7 * number}")


def shows(source: Source) -> bool:
    """Whether a variable is given what was staged under a multiple of seven."""
    assignments = [found for node in source.all(cst.Assign) if (found := plain_assignment(node))]
    staged = {target.value for target, _ in assignments if _is_stage(target.value)}
    return any(isinstance(value, cst.Name) and value.value in staged for _, value in assignments)


def _is_stage(name: str) -> bool:
    found = _STAGE.fullmatch(name)
    return found is not None and int(found[1]) % 7 == 0
