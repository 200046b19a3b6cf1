"""A program as text and as a concrete syntax tree whose nodes know their exact places."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property
from itertools import accumulate
from typing import NamedTuple, TypeVar

import libcst as cst
from libcst.metadata import ByteSpanPositionProvider, ClassScope, GlobalScope, MetadataWrapper, Scope, ScopeProvider

PACKAGES = ("libcst",)
Node = TypeVar("Node", bound=cst.CSTNode)
INTROSPECTION = frozenset(("locals", "vars", "dir", "eval", "exec", "globals"))
"""Functions that can see the names of variables."""
_LAYOUT = ("whitespace", "leading_lines", "lines_after", "trailing_whitespace", "header", "footer", "lpar", "rpar")
"""Fields whose names begin so hold layout and punctuation."""
_INNER = (cst.FunctionDef, cst.Lambda, cst.ClassDef)


class Edit(NamedTuple):
    """A half-open interval of code points of a program, and the text that takes its place."""

    start: int
    end: int
    text: str


class Source:
    """A parsed program. Offsets count code points; those of an expression take its own parentheses in."""

    def __init__(self, text: str) -> None:
        """Raises `libcst.ParserSyntaxError` where the text is no program."""
        self.text = text
        self.module = cst.parse_module(text)

    # ---- nodes -----------------------------------------------------------------------------------------

    @cached_property
    def _parents(self) -> dict[cst.CSTNode, cst.CSTNode]:
        """Every node but layout and punctuation with its parent, parents first."""
        found: dict[cst.CSTNode, cst.CSTNode] = {}
        open_nodes: list[cst.CSTNode] = [self.module]
        while open_nodes:
            node = open_nodes.pop()
            for child in _children(node):
                found[child] = node
                open_nodes.append(child)
        return found

    def all(self, *kinds: type[Node]) -> Iterator[Node]:
        """The nodes of some kinds."""
        return (node for node in self._parents if isinstance(node, kinds))

    def parent(self, node: cst.CSTNode) -> cst.CSTNode:
        """The node that holds another."""
        return self._parents[node]

    def above(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """What holds a node, from the inside out."""
        while node in self._parents:
            node = self._parents[node]
            yield node

    @cached_property
    def names(self) -> frozenset[str]:
        """Every name of the program, attributes and keywords included."""
        return frozenset(node.value for node in self.all(cst.Name))

    @cached_property
    def outer_functions(self) -> list[cst.FunctionDef]:
        """Functions with a block of their own that are in no other function."""
        return [
            node
            for node in self.all(cst.FunctionDef)
            if isinstance(node.body, cst.IndentedBlock)
            and not any(isinstance(outer, cst.FunctionDef) for outer in self.above(node))
        ]

    def lone_statements(self) -> Iterator[tuple[cst.BaseSmallStatement, cst.CSTNode]]:
        """Simple statements that have their lines alone, each with the function, class or module that it runs in."""
        for line in self.all(cst.SimpleStatementLine):
            if len(line.body) == 1:
                inside = (node for node in self.above(line) if isinstance(node, (*_INNER, cst.Module)))
                yield line.body[0], next(inside)

    # ---- places ----------------------------------------------------------------------------------------

    @cached_property
    def _metadata(self) -> MetadataWrapper:
        return MetadataWrapper(self.module, unsafe_skip_copy=True)

    @cached_property
    def _spans(self) -> Callable[[cst.CSTNode], tuple[int, int]]:
        spans = self._metadata.resolve(ByteSpanPositionProvider)
        if self.text.isascii():
            return lambda node: (spans[node].start, spans[node].start + spans[node].length)
        starts = accumulate((len(character.encode()) for character in self.text), initial=0)
        points = {byte: point for point, byte in enumerate(starts)}
        return lambda node: (points[spans[node].start], points[spans[node].start + spans[node].length])

    def start(self, node: cst.CSTNode) -> int:
        """Where a node begins, its parentheses and decorators included."""
        outer = node.decorators if isinstance(node, cst.FunctionDef | cst.ClassDef) else _around(node, "lpar")
        return self._spans(outer[0] if outer else node)[0]

    def end(self, node: cst.CSTNode) -> int:
        """Where a node ends, its parentheses included."""
        outer = _around(node, "rpar")
        return self._spans(outer[-1] if outer else node)[1]

    def bare(self, node: cst.CSTNode) -> tuple[int, int]:
        """Where a node begins and ends without its parentheses."""
        return self._spans(node)

    def line_start(self, place: int) -> int:
        """Where the line of a place begins."""
        return self.text.rfind("\n", 0, place) + 1

    def line_end(self, place: int) -> int:
        """Where the line of a place ends, before its line feed."""
        found = self.text.find("\n", place)
        return len(self.text) if found < 0 else found

    def margin(self, node: cst.CSTNode) -> str:
        """The indentation of a statement that begins its line."""
        return self.text[self.line_start(self.start(node)) : self.start(node)]

    # ---- names -----------------------------------------------------------------------------------------

    @cached_property
    def scopes(self) -> dict[cst.CSTNode, Scope]:
        """The scope that each node is in."""
        found = self._metadata.resolve(ScopeProvider)
        return {node: scope for node, scope in found.items() if isinstance(scope, Scope)}

    def occurrences(self, scope: Scope, name: str) -> tuple[list[cst.CSTNode], list[cst.Name]] | None:
        """What binds a name of a scope (a name or a parameter) and all names that mean it; None where that is unsure.

        Unsure are names that are imported, global or of an outer function, bound by a pattern or within an
        expression, or printed by an f-string.
        """
        if name in self._unsure:
            return None
        binding = [getattr(assignment, "node", None) for assignment in scope.assignments[name]]
        if not all(isinstance(node, cst.Name | cst.Param) for node in binding):
            return None
        names = [node for node in self._variables[name] if self._home(node) is scope]
        return None if any(map(self._printed, names)) else (binding, sorted(names, key=self.start))  # type: ignore[return-value]

    @cached_property
    def _variables(self) -> dict[str, list[cst.Name]]:
        """Names that mean variables, by what they say; those of parameters where they are declared are left out."""
        found: dict[str, list[cst.Name]] = defaultdict(list)
        for node in self.all(cst.Name):
            outer = self.parent(node)
            if node in self.scopes and not (isinstance(outer, cst.Param) and outer.name is node):
                found[node.value].append(node)
        return found

    def _home(self, node: cst.Name) -> Scope:
        """The scope whose variable a name means, wherever in it the variable is bound."""
        scope = nearest = self.scopes[node]
        while not isinstance(scope, GlobalScope):
            seen = scope is nearest or not isinstance(scope, ClassScope)
            if seen and scope.assignments[node.value]:
                return scope
            scope = scope.parent
        return scope

    @cached_property
    def _unsure(self) -> frozenset[str]:
        declared = [item.name.value for node in self.all(cst.Global, cst.Nonlocal) for item in node.names]
        within = [node.target.value for node in self.all(cst.NamedExpr) if isinstance(node.target, cst.Name)]
        patterns = self.names if any(True for _ in self.all(cst.Match)) else ()
        return frozenset((*declared, *within, *patterns))

    def _printed(self, node: cst.Name) -> bool:
        """Whether an f-string prints a name itself, as `{name=}` does."""
        return any(isinstance(outer, cst.FormattedStringExpression) and outer.equal for outer in self.above(node))

    @property
    def looks_at_names(self) -> bool:
        """Whether the program can see the names of its variables."""
        return not INTROSPECTION.isdisjoint(self.names)


def within(function: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The nodes of a function, or another statement, without those of functions and classes inside."""
    for child in _children(function):
        yield child
        if not isinstance(child, _INNER):
            yield from within(child)


def is_docstring(node: cst.CSTNode) -> bool:
    """Whether a statement is a text alone."""
    if not isinstance(node, cst.SimpleStatementLine) or not isinstance(node.body[0], cst.Expr):
        return False
    return isinstance(node.body[0].value, cst.SimpleString | cst.ConcatenatedString)


def plain_assignment(node: cst.CSTNode) -> tuple[cst.Name, cst.BaseExpression] | None:
    """Target and value of an assignment to one plain name."""
    if isinstance(node, cst.Assign) and len(node.targets) == 1 and isinstance(node.targets[0].target, cst.Name):
        return node.targets[0].target, node.value
    return None


def _around(node: cst.CSTNode, side: str) -> Sequence[cst.CSTNode]:
    """An expression's own parentheses on one side."""
    return getattr(node, side) if isinstance(node, cst.BaseExpression | cst.BaseAssignTargetExpression) else ()


def _children(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    for field in _fields(type(node)):
        value = getattr(node, field)
        for child in value if isinstance(value, tuple | list) else (value,):
            if isinstance(child, cst.CSTNode):
                yield child


@cache
def _fields(kind: type[cst.CSTNode]) -> list[str]:
    """The fields of a kind of node that hold more."""
    return [field for field in kind.__dataclass_fields__ if not field.startswith(_LAYOUT)]
