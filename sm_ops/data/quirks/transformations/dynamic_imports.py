"""Dynamic imports: ordinary imports that have their lines alone become calls of `__import__`.

Left alone are relative imports, those of everything or of the future, and those in a `try`, whose errors may matter.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst
from libcst.helpers import get_full_name_for_node

from sm_ops.data.quirks.source import Edit, Source


def edits(source: Source) -> Iterator[Edit]:
    """One edit for each import."""
    for statement, _ in source.lone_statements():
        if any(isinstance(outer, cst.Try | cst.TryStar) for outer in source.above(statement)):
            continue
        if isinstance(statement, cst.Import):
            written = [_imported(alias) for alias in statement.names]
        elif isinstance(statement, cst.ImportFrom):
            written = _taken(statement)
        else:
            continue
        if written:
            text = f"\n{source.margin(statement)}".join(written)
            yield Edit(source.start(statement), source.end(statement), text)


def shows(source: Source) -> bool:
    """Whether `__import__` is called."""
    called = (call.func for call in source.all(cst.Call))
    return any(isinstance(func, cst.Name) and func.value == "__import__" for func in called)


def _imported(alias: cst.ImportAlias) -> str:
    module = get_full_name_for_node(alias.name) or ""
    first, *others = module.split(".")
    if alias.evaluated_alias is None:
        return f"{first} = {_called(module)}"
    return f"{alias.evaluated_alias} = {'.'.join([_called(module), *others])}"


def _called(module: str) -> str:
    return f"__import__('{module}')"


def _taken(statement: cst.ImportFrom) -> list[str]:
    module = get_full_name_for_node(statement.module) if statement.module else None
    if module in (None, "__future__") or statement.relative or isinstance(statement.names, cst.ImportStar):
        return []
    return [
        f"{alias.evaluated_alias or alias.evaluated_name} = "
        f"__import__('{module}', fromlist=['{alias.evaluated_name}']).{alias.evaluated_name}"
        for alias in statement.names
    ]
