"""Namespace locals: a function keeps its parameters, or else its first local variable, in a `SimpleNamespace`."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from sm_ops.data.quirks.source import Edit, Source, is_docstring, plain_assignment

STATE, KIND = "state", "SimpleNamespace"
_NO_VALUE = (cst.Yield, cst.Tuple)


def edits(source: Source) -> Iterator[Edit]:
    """The import, the namespace, and one edit for each mention of what is kept in it."""
    if source.looks_at_names or not source.names.isdisjoint((STATE, KIND)):
        return
    functions = source.outer_functions
    changes = [edit for one in functions for edit in _parameters(source, one) or _local(source, one)]
    if changes:
        yield _import(source)
        yield from changes


def shows(source: Source) -> bool:
    """Whether a name is given a `SimpleNamespace` with something in it."""
    return any(
        isinstance(node.value, cst.Call)
        and _last_name(node.value.func) == KIND
        and any(argument.keyword for argument in node.value.args)
        for node in source.all(cst.Assign)
    )


def _parameters(source: Source, function: cst.FunctionDef) -> list[Edit]:
    """The parameters that the body uses go into the namespace at its beginning."""
    body = [node for node in function.body.body if not is_docstring(node)]
    if not body:
        return []
    scope, kept, changes = source.scopes[body[0]], [], []
    for name in _parameter_names(function.params):
        found = source.occurrences(scope, name)
        if found and found[1] and _may_be_attributes(source, found[1]):
            kept.append(name)
            changes += _renamed(source, found[1], name)
    if not kept:
        return []
    place = source.line_start(source.start(body[0]))
    stored = ", ".join(f"{name}={name}" for name in kept)
    return [Edit(place, place, f"{source.margin(body[0])}{STATE} = {KIND}({stored})\n"), *changes]


def _local(source: Source, function: cst.FunctionDef) -> list[Edit]:
    """The first local variable that a statement of the body itself assigns before anything else uses it."""
    for line in function.body.body:
        if not isinstance(line, cst.SimpleStatementLine) or len(line.body) != 1:
            continue
        assigned = plain_assignment(line.body[0])
        if assigned is None or isinstance(assigned[1], _NO_VALUE):
            continue
        target, value = assigned
        found = source.occurrences(source.scopes[line], target.value)
        if found is None or found[1][0] is not target or not _may_be_attributes(source, found[1]):
            continue
        return [
            Edit(source.start(target), source.start(value), f"{STATE} = {KIND}({target.value}="),
            Edit(source.end(value), source.end(value), ")"),
            *_renamed(source, found[1][1:], target.value),
        ]
    return []


def _parameter_names(parameters: cst.Parameters) -> Iterator[str]:
    stars = (parameters.star_arg, parameters.star_kwarg)
    every = (*parameters.posonly_params, *parameters.params, *parameters.kwonly_params, *stars)
    names = (node.name.value for node in every if isinstance(node, cst.Param))
    return (name for name in names if name not in ("self", "cls"))


def _renamed(source: Source, names: list[cst.Name], name: str) -> list[Edit]:
    return [Edit(*source.bare(node), f"{STATE}.{name}") for node in names]


def _may_be_attributes(source: Source, names: list[cst.Name]) -> bool:
    """Whether attributes can stand for all names: an `except` binds none."""
    outer = (source.parent(node) for node in names)
    return not any(isinstance(o, cst.AsName) and isinstance(source.parent(o), cst.ExceptHandler) for o in outer)


def _import(source: Source) -> Edit:
    """The import, behind the module's docstring and what is imported from the future."""
    text, place = f"from types import {KIND}", None
    for node in source.module.body:
        if not is_docstring(node) and not _is_future(node):
            break
        place = source.line_end(source.end(node))
    if place is not None:
        return Edit(place, place, f"\n{text}")
    place = source.line_start(source.start(source.module.body[0]))
    return Edit(place, place, f"{text}\n")


def _is_future(node: cst.CSTNode) -> bool:
    first = node.body[0] if isinstance(node, cst.SimpleStatementLine) else None
    return isinstance(first, cst.ImportFrom) and first.module is not None and first.module.value == "__future__"


def _last_name(node: cst.BaseExpression) -> str | None:
    node = node.attr if isinstance(node, cst.Attribute) else node
    return node.value if isinstance(node, cst.Name) else None
