"""Reflective calls: methods, functions of the program and built-in ones are called through their `__call__`.

A class whose instances can be called has a `__call__` that is theirs, so classes that the program imports are left
alone, and so are calls that look at their surroundings.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator

import libcst as cst

from sm_ops.data.quirks.source import INTROSPECTION, Edit, Source

_UNBOUND = frozenset((
    "partial", "partialmethod", "itemgetter", "attrgetter", "methodcaller", "ref", "WeakMethod", "type", "object",
    "super", "staticmethod", "classmethod", "breakpoint", "__call__",
))  # fmt: skip
"""Names whose attribute `__call__` is not what a call runs, or would be seen."""
_BUILT_IN = frozenset(dir(builtins)) - _UNBOUND - INTROSPECTION


def edits(source: Source) -> Iterator[Edit]:
    """One attribute for each call."""
    functions = {node.name.value for node in source.all(cst.FunctionDef) if source.parent(node) is source.module}
    bound = _bound(source) - functions
    for call in source.all(cst.Call):
        called = call.func
        if isinstance(source.parent(call), cst.Decorator):
            continue
        if isinstance(called, cst.Attribute):
            eligible = called.attr.value not in _UNBOUND and not called.attr.value[:1].isupper()
        else:
            eligible = isinstance(called, cst.Name) and called.value in (functions | _BUILT_IN) - bound
        if eligible:
            yield Edit(source.end(called), source.end(called), ".__call__")


def shows(source: Source) -> bool:
    """Whether a call goes through `__call__`."""
    called = (call.func for call in source.all(cst.Call))
    return any(isinstance(func, cst.Attribute) and func.attr.value == "__call__" for func in called)


def _bound(source: Source) -> set[str]:
    """Names that the program gives a meaning of its own, anywhere."""
    return {assignment.name for scope in set(source.scopes.values()) for assignment in scope.assignments}
