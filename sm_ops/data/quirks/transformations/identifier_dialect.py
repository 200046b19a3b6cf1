"""Identifier dialect: local variables of functions get a prefix that tells their role.

`w_` stands before what is assigned, `each_` before what a loop goes through, `held_` before what a `with` or an
`except` holds. Parameters keep their names, as callers may use them.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst
from libcst.metadata import ComprehensionScope, FunctionScope

from sm_ops.data.quirks.source import Edit, Source

ASSIGNED, LOOPED, HELD = "w_", "each_", "held_"
_TARGETS = (cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.For, cst.CompFor, cst.AsName)


def edits(source: Source) -> Iterator[Edit]:
    """One edit for each time that a renamed variable is mentioned."""
    if source.looks_at_names:
        return
    scopes = {scope for scope in source.scopes.values() if isinstance(scope, FunctionScope | ComprehensionScope)}
    for scope in scopes:
        for name in {assignment.name for assignment in scope.assignments}:
            found = None if name.startswith("_") else source.occurrences(scope, name)
            if found is None or not all(isinstance(node, cst.Name) for node in found[0]):
                continue
            roles = {_role(source, node) for node in found[0]}
            written = f"{roles.pop() if len(roles) == 1 else ASSIGNED}{name}"
            if written not in source.names:
                yield from (Edit(*source.bare(node), written) for node in found[1])


def shows(source: Source) -> bool:
    """Whether something is bound to a name with one of the prefixes."""
    return any(
        name.value.startswith((ASSIGNED, LOOPED, HELD))
        for node in source.all(*_TARGETS)
        for name in _names(node.name if isinstance(node, cst.AsName) else node.target)
    )


def _role(source: Source, node: cst.CSTNode) -> str:
    for outer in source.above(node):
        if isinstance(outer, cst.For | cst.CompFor):
            return LOOPED
        if isinstance(outer, cst.AsName):
            return HELD
        if not isinstance(outer, cst.Tuple | cst.List | cst.BaseElement):
            break
    return ASSIGNED


def _names(target: cst.CSTNode) -> Iterator[cst.Name]:
    if isinstance(target, cst.Name):
        yield target
    elif isinstance(target, cst.Tuple | cst.List):
        for element in target.elements:
            yield from _names(element.value)
