"""Identity assertions: behind every assignment to a name that has its lines alone, an assertion that it is itself."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from sm_ops.data.quirks.source import Edit, Source


def edits(source: Source) -> Iterator[Edit]:
    """One line behind each assignment."""
    for statement, _ in source.lone_statements():
        if target := _assigned(statement):
            place = source.line_end(source.end(statement))
            yield Edit(place, place, f"\n{source.margin(statement)}assert {target} is {target}")


def shows(source: Source) -> bool:
    """Whether a name is asserted to be itself."""
    return any(_is_redundant(node.test) for node in source.all(cst.Assert))


def _assigned(node: cst.CSTNode) -> str | None:
    if isinstance(node, cst.Assign) and len(node.targets) == 1:
        target = node.targets[0].target
    elif isinstance(node, cst.AnnAssign) and node.value is not None:
        target = node.target
    else:
        return None
    return target.value if isinstance(target, cst.Name) else None


def _is_redundant(test: cst.BaseExpression) -> bool:
    if not isinstance(test, cst.Comparison) or len(test.comparisons) != 1 or not isinstance(test.left, cst.Name):
        return False
    operator, right = test.comparisons[0].operator, test.comparisons[0].comparator
    return isinstance(operator, cst.Is) and isinstance(right, cst.Name) and right.value == test.left.value
