"""Singleton destructuring: assignments of one value to one name pack and unpack a tuple of one."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from sm_ops.data.quirks.source import Edit, Source, plain_assignment

_NOT_SCALAR = (cst.Tuple, cst.Yield)


def edits(source: Source) -> Iterator[Edit]:
    """A comma before, and a tuple around each value."""
    for found in map(plain_assignment, source.all(cst.Assign)):
        if found and not isinstance(found[1], _NOT_SCALAR):
            target, value = found
            yield Edit(source.end(target), source.end(target), ",")
            yield Edit(source.start(value), source.start(value), "(")
            yield Edit(source.end(value), source.end(value), ",)")


def shows(source: Source) -> bool:
    """Whether a tuple of one is unpacked into a tuple of one."""
    return any(
        _is_singleton(target.target) and _is_singleton(node.value)
        for node in source.all(cst.Assign)
        for target in node.targets
    )


def _is_singleton(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Tuple) and len(node.elements) == 1 and isinstance(node.elements[0], cst.Element)
