"""Single exit: a function's results go into `final_answer`, and one `return` at its end gives it back.

What stands behind a branch or a loop that returns moves into an `else` of it, and a loop is left by `break`. Functions
are left alone where that would not do: generators, `match`, loops that already have a `break` or an `else`, branches of
which some return and some go on, and texts of several lines where lines would have to be indented.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import libcst as cst

from sm_ops.data.quirks.source import Edit, Source, is_docstring, within

ANSWER = "final_answer"
_LOOPS = (cst.For, cst.While)
_TEXTS = (cst.SimpleString, cst.FormattedString)
_Block = Sequence[cst.BaseStatement | cst.BaseSmallStatement]


class _Unfit(Exception):
    """A function that cannot be given a single exit by these means."""


def edits(source: Source) -> Iterator[Edit]:
    """The answers, the `else` and `break` that lead past the rest, its indentation, and the only `return`."""
    if source.looks_at_names or ANSWER in source.names:
        return
    for function in source.outer_functions:
        try:
            yield from _Rewriting(source, function).edits()
        except _Unfit:
            continue


def shows(source: Source) -> bool:
    """Whether a function has one `return`, of `final_answer`."""
    for function in source.all(cst.FunctionDef):
        exits = [node for node in within(function.body) if isinstance(node, cst.Return)]
        if len(exits) == 1 and isinstance(exits[0].value, cst.Name) and exits[0].value.value == ANSWER:
            return True
    return False


class _Rewriting:
    """The edits of one function: lines that move right are counted, as several `else` may take them in."""

    def __init__(self, source: Source, function: cst.FunctionDef) -> None:
        self._source, self._function = source, function
        self._inner = list(within(function.body))
        self._depth: Counter[int] = Counter()
        self._changes: list[Edit] = []

    def edits(self) -> Iterator[Edit]:
        """All changes; raises `_Unfit` before the first one."""
        source, body = self._source, list(self._function.body.body)
        exits = [node for node in self._inner if isinstance(node, cst.Return)]
        if not any(node.value for node in exits):
            return
        if any(isinstance(node, cst.Yield | cst.Match) for node in self._inner):
            raise _Unfit
        answered = self._block(body)
        margin = source.margin(body[0])
        if not answered:
            first = next((node for node in body if not is_docstring(node)), body[0])
            place = source.line_start(source.start(first))
            yield Edit(place, place, f"{margin}{ANSWER} = None\n")
        for line, depth in self._depth.items():
            yield Edit(line, line, self._step * depth)
        yield from self._changes
        place = self._last_line(body[-1])
        yield Edit(place, place, f"\n{margin}return {ANSWER}")

    @property
    def _step(self) -> str:
        return self._source.module.default_indent

    # ---- blocks at whose end the function ends ---------------------------------------------------------

    def _block(self, block: _Block) -> bool:
        """Route the results of a block; whether it has one whenever its end is reached."""
        for number, statement in enumerate(block):
            if not _returns(statement):
                continue
            rest = block[number + 1 :]
            match statement:
                case cst.SimpleStatementLine():
                    return self._block(statement.body)
                case cst.Return():
                    self._answer(statement)
                    return True
                case cst.If() if not rest:
                    return self._branches(statement)
                case cst.If():
                    if _has_else(statement) or not all(map(_ends, _bodies(statement))):
                        raise _Unfit
                    self._branches(statement)
                    return self._otherwise(statement, rest)
                case cst.For() | cst.While():
                    self._loop(statement)
                    return self._otherwise(statement, rest) if rest else False
                case cst.With() if not rest:
                    self._block(list(statement.body.body))
                    return False
                case cst.Try() if not rest and not statement.orelse:
                    if statement.finalbody and _returns(statement.finalbody):
                        raise _Unfit
                    bodies = [statement.body, *(handler.body for handler in statement.handlers)]
                    answered = [self._block(list(body.body)) for body in bodies]
                    return all(answered)
                case _:
                    raise _Unfit
        return False

    def _branches(self, statement: cst.If) -> bool:
        answered = [self._block(list(body.body)) for body in _bodies(statement)]
        return all(answered) and _has_else(statement)

    def _otherwise(self, statement: cst.CSTNode, rest: _Block) -> bool:
        """Move what follows a statement into its `else`."""
        source = self._source
        first, place = source.start(rest[0]), self._last_line(statement)
        lines, line = [], source.line_start(first)
        while line < self._last_line(rest[-1]):
            end = source.line_end(line)
            lines += [line] if source.text[line:end].strip() else []
            line = end + 1
        texts = [source.bare(node) for node in self._inner if isinstance(node, _TEXTS)]
        if any(start < line <= end for start, end in texts for line in lines):
            raise _Unfit
        self._changes.append(Edit(place, place, f"\n{self._margin(statement)}else:"))
        self._depth.update(lines)
        return self._block(rest)

    # ---- loops -----------------------------------------------------------------------------------------

    def _loop(self, loop: cst.For | cst.While) -> None:
        """Every `return` of a loop becomes an answer and a `break`."""
        if loop.orelse:
            raise _Unfit
        self._leaving(list(loop.body.body))

    def _leaving(self, block: _Block) -> None:
        for statement in block:
            match statement:
                case cst.SimpleStatementLine():
                    self._leaving(statement.body)
                case cst.Return():
                    self._answer(statement, leave=True)
                case cst.Break():
                    raise _Unfit
                case cst.If():
                    for body in _bodies(statement):
                        self._leaving(list(body.body))
                case cst.With():
                    self._leaving(list(statement.body.body))
                case _ if _returns(statement) or _breaks(statement):
                    raise _Unfit

    def _answer(self, exit_: cst.Return, leave: bool = False) -> None:
        source = self._source
        start, end = source.start(exit_), source.end(exit_)
        value = source.start(exit_.value) if exit_.value else end
        self._changes.append(Edit(start, value, f"{ANSWER} = " if exit_.value else f"{ANSWER} = None"))
        if leave:
            margin = self._margin(exit_)
            self._changes.append(Edit(end, end, "; break" if margin.strip() else f"\n{margin}break"))

    def _margin(self, node: cst.CSTNode) -> str:
        """What will stand before a statement on its line."""
        line = self._source.line_start(self._source.start(node))
        return self._step * self._depth[line] + self._source.margin(node)

    def _last_line(self, node: cst.CSTNode) -> int:
        """Where the last line of a statement ends."""
        simple = (cst.SimpleStatementLine, cst.SimpleStatementSuite)
        lines = [node] if isinstance(node, simple) else [n for n in _everything(node) if isinstance(n, simple)]
        return self._source.line_end(max(self._source.end(line.body[-1]) for line in lines))


def _everything(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    for child in node.children:
        yield child
        yield from _everything(child)


def _returns(node: cst.CSTNode) -> bool:
    """Whether a statement returns from its function."""
    if isinstance(node, cst.FunctionDef | cst.ClassDef):
        return False
    return isinstance(node, cst.Return) or any(isinstance(inner, cst.Return) for inner in within(node))


def _breaks(node: cst.CSTNode) -> bool:
    """Whether a statement, which is no loop itself, leaves the loop around it (loops inside count: they are few)."""
    if isinstance(node, (*_LOOPS, cst.FunctionDef, cst.ClassDef)):
        return False
    return any(isinstance(inner, cst.Break) for inner in within(node))


def _bodies(statement: cst.If) -> list[cst.BaseSuite]:
    """The blocks of an `if`, its `elif` and its `else`."""
    found, node = [], statement
    while isinstance(node, cst.If):
        found.append(node.body)
        node = node.orelse
    return [*found, node.body] if isinstance(node, cst.Else) else found


def _has_else(statement: cst.If) -> bool:
    node = statement
    while isinstance(node, cst.If):
        node = node.orelse
    return node is not None


def _ends(body: cst.BaseSuite) -> bool:
    """Whether a block always returns: its last statement does."""
    last = body.body[-1]
    if isinstance(last, cst.SimpleStatementLine):
        last = last.body[-1]
    if isinstance(last, cst.If):
        return _has_else(last) and all(map(_ends, _bodies(last)))
    return isinstance(last, cst.Return)
