"""Programs as text behind what they are to do: tidied, and the places where a line can stand before a statement."""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

from sm_ops.data.hosts import first_line, parse

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Program(NamedTuple):
    """A text whose first `context` characters, whole lines, say what the code behind them is to do."""

    text: str
    context: int

    @classmethod
    def of(cls, context: str, code: str) -> Program:
        """Both parts as one text, tidied."""
        text = tidied(context + code)
        before = text.split("\n")[: _with_line_ends(context).count("\n")]
        return cls(text, sum(len(line) + 1 for line in before))


class Place(NamedTuple):
    """A code point where a line can begin, and its indentation."""

    at: int
    indent: str


def tidied(program: str) -> str:
    """A program with `\\n` as line end, four blanks for a tab of an indentation, and no blanks at the ends of lines.

    Choice P-1. Where that would change what the program says (such blanks within its strings), only line ends change.
    """
    plain = _with_line_ends(program)
    lines = (re.sub(r"^[ \t]+", lambda indent: indent[0].expandtabs(4), line) for line in plain.split("\n"))
    tidy = "\n".join(line.rstrip(" \t") for line in lines)
    return tidy if _meaning(tidy) == _meaning(plain) else plain


def places(program: Program) -> list[Place]:
    """Before each statement of the code that stands directly in a function, on its own line and behind a docstring.

    No place where the program does not compile.
    """
    text, context = program
    tree = parse(text)
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    found = set()
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, _FUNCTIONS):
            for statement in node.body[ast.get_docstring(node, clean=False) is not None :]:
                start = starts[first_line(statement) - 1]
                indent = text[start:][: statement.col_offset]
                if start >= context and not indent.strip(" "):
                    found.add(Place(start, indent))
    return sorted(found)


def indentation(program: str) -> str:
    """One step of it: the blanks of the first line that has some; four where none has."""
    found = re.search(r"^ +(?=\S)", program, re.MULTILINE)
    return found[0] if found else "    "


def binds(program: str, names: frozenset[str]) -> bool:
    """Whether a program gives one of these names a meaning of its own."""
    tree = parse(program)
    bound: set[str | None] = set()
    for node in ast.walk(tree) if tree else ():
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name) | ast.alias(asname=str(name)):
                bound.add(name)
            case ast.alias(name=name) | ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                bound.add(name)
            case ast.AsyncFunctionDef(name=name) | ast.ExceptHandler(name=name) | ast.MatchAs(name=name):
                bound.add(name)
    return "*" in bound or not bound.isdisjoint(names)


def _with_line_ends(text: str) -> str:
    return re.sub(r"\r\n?", "\n", text)


def _meaning(program: str) -> str | None:
    tree = parse(program)
    return None if tree is None else ast.dump(tree)
