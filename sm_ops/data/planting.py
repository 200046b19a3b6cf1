"""Planting: put one literal into a program, in a place where code keeps such things.

Each place is a function that proposes one contiguous insertion, so cutting it out gives the host back to the
character; the audit relies on that. Whatever is proposed counts only if the whole program still compiles.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random

from sm_ops.core.records import Span
from sm_ops.data.hosts import first_line, lines, only_function, parse

_HOLDERS = ("settings", "options", "session", "defaults", "params", "profile", "context", "request")
_CONFIG_NAMES = ("CONFIG", "DEFAULT_CONFIG", "SETTINGS", "CONFIG_TEXT", "EXAMPLE_CONFIG")
_CLASSES = ("Settings", "Config", "Profile", "Session", "Defaults", "Account")
_SECTIONS = ("account", "profile", "session", "client", "service", "export")
_NEIGHBOURS = (("timeout", 30), ("retries", 3), ("port", 8080), ("limit", 100), ("workers", 4), ("version", 2))


@dataclass(frozen=True, slots=True)
class Planted:
    """A program with a literal in it: the value's interval, and that of everything inserted around it."""

    text: str
    start: int
    end: int
    inserted: tuple[int, int]
    place: str

    def moved(self, span: Span) -> Span:
        """Where a span of the program before this planting is now."""
        start, end = self.inserted
        shift = end - start if span.start >= start else 0
        return replace(span, start=span.start + shift, end=span.end + shift)


@dataclass(frozen=True, slots=True)
class _Insertion:
    at: int
    before: str
    after: str


class _Site:
    """A host opened for planting: its tree, its lines, and the choices of one random stream."""

    def __init__(self, source: str, slot_names: Sequence[str], random: Random) -> None:
        tree = parse(source)
        if tree is None:
            raise ValueError("a host compiles")
        self.source = source
        self.random = random
        self.newline = "\r\n" if "\r\n" in source else "\n"
        self.quote = random.choice(('"', '"', "'"))
        self.name = self.free_name(slot_names)
        self.lines = lines(source)
        self.function = only_function(tree)
        self.body = self.function.body if self.function else tree.body

    def free_name(self, names: Sequence[str]) -> str:
        """One of `names` that the host does not use; the last resort is a name made for us."""
        free = [name for name in names if not re.search(rf"\b{name}\b", self.source)]
        return self.random.choice(free or [f"{names[0]}_value"])

    def neighbour(self) -> tuple[str, int]:
        """An ordinary setting that stands beside the value."""
        return self.random.choice(_NEIGHBOURS)

    def offset(self, line: int, column: int) -> int:
        """Code points before a line (from 1) and a column in UTF-8 bytes, as `ast` counts them."""
        inside = self.lines[line - 1].encode()[:column].decode()
        return sum(map(len, self.lines[: line - 1])) + len(inside)

    def end(self, node: ast.expr | ast.arg) -> int:
        """The offset behind an expression or a parameter."""
        return self.offset(node.end_lineno or 0, node.end_col_offset or 0)  # parsed nodes always have both

    def statement(self, before: str, after: str = "", outside: bool = False) -> _Insertion:
        """Insert lines around the value before the host, at a boundary within it, or behind it.

        `outside` keeps out of a function's body. Behind is also where lines go that find no boundary of their own.
        """
        spot = self.random.choice(("before", "behind") if outside else ("before", "within", "within", "behind"))
        if spot == "before" and self.function:
            return self._whole_lines(0, "", before, after, tail=self.newline)
        boundaries = self._boundaries() if spot != "behind" else []
        if boundaries:
            at, margin = self.random.choice(boundaries) if spot == "within" else boundaries[0]
            indented = (before.replace("\n", f"\n{margin}"), after.replace("\n", f"\n{margin}"))
            return self._whole_lines(at, margin, *indented)
        gap = "" if self.source.endswith("\n") else self.newline
        return self._whole_lines(len(self.source), f"{gap}{self.newline}", before, after.rstrip("\n"))

    def _boundaries(self) -> list[tuple[int, str]]:
        """Offset and indentation of each line of the body where a statement begins, docstring and imports passed."""
        first = next((i for i, node in enumerate(self.body) if not _is_header(node)), len(self.body))
        starts = [(self.offset(first_line(node), 0), node) for node in self.body[first:]]
        margins = [(at, self.source[at : self.offset(first_line(node), node.col_offset)]) for at, node in starts]
        return [(at, margin) for at, margin in margins if not margin.strip()]

    def _whole_lines(self, at: int, head: str, before: str, after: str, tail: str = "") -> _Insertion:
        before, after = (part.replace("\n", self.newline) for part in (before, after))
        return _Insertion(at, head + before, after + self.newline + tail)


def _is_header(node: ast.stmt) -> bool:
    """Whether a statement is a docstring or an import, behind which code begins."""
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return is_text or isinstance(node, ast.Import | ast.ImportFrom)


# ---- places --------------------------------------------------------------------------------------------


def _assignment(site: _Site) -> _Insertion:
    return site.statement(f"{site.name} = {site.quote}", site.quote)


def _default(site: _Site) -> _Insertion | None:
    """A parameter behind the last one that takes a default."""
    if site.function is None:
        return None
    arguments = site.function.args
    positional = arguments.posonlyargs + arguments.args
    if arguments.kwonlyargs:
        last = arguments.kw_defaults[-1] or arguments.kwonlyargs[-1]
    elif arguments.vararg or positional:
        last = arguments.vararg or (arguments.defaults or positional)[-1]
    elif arguments.kwarg is None:
        header = re.compile(r"(?:async\s+)?def\s+\w+\s*\(")
        match = header.match(site.source, site.offset(site.function.lineno, site.function.col_offset))
        return match and _Insertion(match.end(), f"{site.name}={site.quote}", site.quote)
    else:
        return None
    annotated = any(argument.annotation for argument in positional + arguments.kwonlyargs)
    equals = ": str = " if annotated else "="
    return _Insertion(site.end(last), f", {site.name}{equals}{site.quote}", site.quote)


def _dict(site: _Site) -> _Insertion:
    q, holder, (key, number) = site.quote, site.free_name(_HOLDERS), site.neighbour()
    before, after = site.random.choice(
        (
            (f"{holder} = {{{q}{site.name}{q}: {q}", f"{q}, {q}{key}{q}: {number}}}"),
            (f"{holder} = {{{q}{key}{q}: {number}, {q}{site.name}{q}: {q}", f"{q}}}"),
            (f"{holder} = {{\n    {q}{key}{q}: {number},\n    {q}{site.name}{q}: {q}", f"{q},\n}}"),
        )
    )
    return site.statement(before, after)


def _call(site: _Site) -> _Insertion:
    q, holder, (key, number) = site.quote, site.free_name(_HOLDERS), site.neighbour()
    before, after = site.random.choice(
        (
            (f"{holder} = dict({site.name}={q}", f"{q}, {key}={number})"),
            (f"{holder} = dict({key}={number}, {site.name}={q}", f"{q})"),
            (f"{site.name} = str({q}", f"{q})"),
            (f"print({q}{site.name}{q}, {q}", f"{q})"),
        )
    )
    return site.statement(before, after)


def _comment(site: _Site) -> _Insertion:
    before, after = site.random.choice(
        (
            (f"# {site.name}: ", ""),
            (f"# {site.name} = {site.quote}", site.quote),
            (f"# TODO: {site.name} is ", " for now"),
            (f"# tested with {site.name} ", ""),
        )
    )
    return site.statement(before, after)


def _attribute(site: _Site) -> _Insertion:
    name, (key, number) = site.free_name(_CLASSES), site.neighbour()
    return site.statement(
        f"class {name}:\n    {key} = {number}\n    {site.name} = {site.quote}", f"{site.quote}\n", outside=True
    )


def _config(site: _Site, before: str, after: str) -> _Insertion:
    name = site.free_name(_CONFIG_NAMES)
    return site.statement(f'{name} = """\n{before}', f'{after}\n"""\n', outside=True)


def _json(site: _Site) -> _Insertion:
    key, number = site.neighbour()
    return _config(site, f'{{\n  "{key}": {number},\n  "{site.name}": "', '"\n}')


def _ini(site: _Site) -> _Insertion:
    section, (key, number) = site.random.choice(_SECTIONS), site.neighbour()
    return _config(site, f"[{section}]\n{site.name} = ", f"\n{key} = {number}")


def _yaml(site: _Site) -> _Insertion:
    section, (key, number) = site.random.choice(_SECTIONS), site.neighbour()
    return _config(site, f"{section}:\n  {key}: {number}\n  {site.name}: ", "")


def _toml(site: _Site) -> _Insertion:
    section, (key, number) = site.random.choice(_SECTIONS), site.neighbour()
    return _config(site, f'[{section}]\n{key} = {number}\n{site.name} = "', '"')


PLACES: dict[str, Callable[[_Site], _Insertion | None]] = {
    "assignment": _assignment,
    "default": _default,
    "dict": _dict,
    "call": _call,
    "comment": _comment,
    "attribute": _attribute,
    "json": _json,
    "ini": _ini,
    "yaml": _yaml,
    "toml": _toml,
}


def plant(
    source: str, value: str, slot_names: Sequence[str], places: Sequence[str], random: Random
) -> Planted | None:
    """Plant `value` into a host at the first of `places` that it offers; None where it offers none.

    The program compiles, holds the value at `[start, end)`, and is the host again without the `inserted` interval.
    """
    for place in places:
        insertion = PLACES[place](_Site(source, slot_names, random))
        if insertion is None:
            continue
        start = insertion.at + len(insertion.before)
        end = start + len(value)
        text = source[: insertion.at] + insertion.before + value + insertion.after + source[insertion.at :]
        if parse(text) is not None:
            return Planted(text, start, end, (insertion.at, end + len(insertion.after)), place)
    return None


def unplanted(text: str, inserted: Sequence[Sequence[int]]) -> str:
    """The host again: `text` without the inserted intervals, the last planted cut out first."""
    for start, end in reversed(inserted):
        text = text[:start] + text[end:]
    return text
