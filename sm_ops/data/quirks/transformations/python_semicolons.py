"""Python semicolons: a semicolon ends every simple statement that is the last on its line."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from sm_ops.data.quirks.source import Edit, Source


def edits(source: Source) -> Iterator[Edit]:
    """One semicolon for each line that has none at its end."""
    for statement in _last_ones(source):
        if not isinstance(statement.semicolon, cst.Semicolon):
            yield Edit(source.end(statement), source.end(statement), ";")


def shows(source: Source) -> bool:
    """Whether a semicolon ends a line."""
    return any(isinstance(statement.semicolon, cst.Semicolon) for statement in _last_ones(source))


def _last_ones(source: Source) -> Iterator[cst.BaseSmallStatement]:
    return (line.body[-1] for line in source.all(cst.SimpleStatementLine, cst.SimpleStatementSuite))
