"""Parenthesis saturation: double parentheses around what is assigned or returned, and around conditions."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from sm_ops.data.quirks.source import Edit, Source


def edits(source: Source) -> Iterator[Edit]:
    """Two parentheses on either side of each value."""
    for value in _values(source):
        yield Edit(source.start(value), source.start(value), "((")
        yield Edit(source.end(value), source.end(value), "))")


def shows(source: Source) -> bool:
    """Whether what is assigned, returned or a condition stands in double parentheses."""
    return any(len(value.lpar) > 1 for value in _values(source))


def _values(source: Source) -> Iterator[cst.BaseExpression]:
    for node in source.all(cst.Assign, cst.AnnAssign, cst.AugAssign, cst.Return, cst.If, cst.While):
        value = node.test if isinstance(node, cst.If | cst.While) else node.value
        if value is not None:
            yield value
