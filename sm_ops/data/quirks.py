"""Code quirks: changes of a program's form that leave what it does as it is (paper, table 2), as places and texts.

Six of the paper's ten transformations, of those that only insert text, so that every inserted piece is an annotated
target; how each is applied is our reconstruction. Programs are ASCII, as columns of syntax trees count bytes.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import NamedTuple

from sm_ops.data.hosts import lines, parse

Edit = tuple[int, str]
"""Where text is inserted, and the text."""
PREFIX = "w_"
_SCOPES = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.ClassDef, ast.Match)
_LOOKING = ("locals", "vars", "eval", "exec", "dir")
_UNBOUND = ("partial", "partialmethod", "type", "object")
"""Names whose attribute `__call__` is not what a call runs."""


class _Source(NamedTuple):
    text: str
    starts: list[int]

    def start(self, node: ast.expr | ast.stmt) -> int:
        return self.starts[node.lineno - 1] + node.col_offset

    def end(self, node: ast.expr | ast.stmt) -> int:
        return self.starts[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)

    def before(self, node: ast.stmt) -> str:
        """What stands on a statement's line before it."""
        return self.text[self.starts[node.lineno - 1] : self.start(node)]

    def after(self, node: ast.expr | ast.stmt) -> str:
        """What stands behind a node on its last line."""
        return self.text[self.end(node) :].split("\n", 1)[0]


def apply(quirk: str, program: str) -> tuple[str, list[tuple[int, int]]] | None:
    """A program with a quirk, and the half-open places of what was inserted; None where it has no place for it.

    `quirk` is a key of `QUIRKS`. Programs that are not ASCII, or do not compile before or after, are left alone.
    """
    tree = parse(program) if program.isascii() and "\r" not in program and "\f" not in program else None
    if tree is None:
        return None
    source = _Source(program, [0, *accumulate(map(len, lines(program)))])
    text, spans, position = "", [], 0
    for place, inserted in sorted(set(QUIRKS[quirk](tree, source))):
        text += program[position:place]
        spans.append((len(text), len(text) + len(inserted)))
        text, position = text + inserted, place
    text += program[position:]
    return (text, spans) if spans and parse(text) is not None else None


def _identifier_dialect(tree: ast.Module, source: _Source) -> Iterator[Edit]:
    """Local variables of functions without inner scopes get a prefix."""
    for function in _of(tree, ast.FunctionDef):
        inner = [node for child in function.body for node in ast.walk(child)]
        names = [node for node in inner if isinstance(node, ast.Name)]
        looks = any(node.id in _LOOKING for node in names)
        if looks or any(isinstance(n, (*_SCOPES, ast.FunctionDef, ast.AsyncFunctionDef, ast.JoinedStr)) for n in inner):
            continue
        others = {arg.arg for arg in ast.walk(function.args) if isinstance(arg, ast.arg)}
        others |= {name for n in inner if isinstance(n, ast.Global | ast.Nonlocal) for name in n.names}
        others |= {n.name for n in inner if isinstance(n, ast.ExceptHandler) and n.name}
        others |= {(n.asname or n.name).split(".")[0] for n in inner if isinstance(n, ast.alias)}
        own = {node.id for node in names if isinstance(node.ctx, ast.Store)} - others
        yield from ((source.start(node), PREFIX) for node in names if node.id in own)


def _semicolons(tree: ast.Module, source: _Source) -> Iterator[Edit]:
    """A semicolon ends every simple statement that is the last on its line."""
    for node in _of(tree, ast.stmt):
        if not hasattr(node, "body") and not isinstance(node, ast.Match):
            rest = source.after(node).lstrip()
            if not rest or rest.startswith("#"):
                yield source.end(node), ";"


def _parentheses(tree: ast.Module, source: _Source) -> Iterator[Edit]:
    """Double parentheses around what is assigned or returned, and around conditions."""
    for node in _of(tree, ast.stmt):
        value = node.test if isinstance(node, ast.If | ast.While) else getattr(node, "value", None)
        if value is not None and isinstance(node, ast.If | ast.While | ast.Assign | ast.Return):
            yield source.start(value), "(("
            yield source.end(value), "))"


def _singletons(tree: ast.Module, source: _Source) -> Iterator[Edit]:
    """Scalar assignments pack and unpack a tuple of one."""
    for node, target in _assignments(tree):
        if not isinstance(node.value, ast.Tuple | ast.Yield | ast.YieldFrom | ast.Starred):
            yield source.end(target), ","
            yield source.start(node.value), "("
            yield source.end(node.value), ",)"


def _assertions(tree: ast.Module, source: _Source) -> Iterator[Edit]:
    """An assertion that a variable is itself behind every assignment that has its lines alone."""
    for node, target in _assignments(tree):
        if not source.before(node).strip() and not source.after(node).strip():
            yield source.end(node), f"\n{source.before(node)}assert {target.id} is {target.id}"


def _reflective_calls(tree: ast.Module, source: _Source) -> Iterator[Edit]:
    """Methods are called through their attribute `__call__`."""
    inside = {id(part) for node in _of(tree, ast.JoinedStr) for part in ast.walk(node)}
    for node in _of(tree, ast.Call):
        called = node.func
        if isinstance(called, ast.Attribute) and id(node) not in inside and called.attr not in _UNBOUND:
            yield source.end(called), ".__call__"


QUIRKS: dict[str, Callable[[ast.Module, _Source], Iterator[Edit]]] = {
    "identifier_dialect": _identifier_dialect,
    "python_semicolons": _semicolons,
    "parenthesis_saturation": _parentheses,
    "singleton_destructuring": _singletons,
    "identity_assertions": _assertions,
    "reflective_calls": _reflective_calls,
}


def _of(tree: ast.AST, kind: type | tuple[type, ...]) -> Iterator:
    return (node for node in ast.walk(tree) if isinstance(node, kind))


def _assignments(tree: ast.Module) -> Iterator[tuple[ast.Assign, ast.Name]]:
    """Assignments to one plain name."""
    for node in _of(tree, ast.Assign):
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            yield node, node.targets[0]
