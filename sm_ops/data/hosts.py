"""Host programs: real functions, methods and small modules, compared by the shape of their syntax tree.

They come from the running interpreter's own standard library (public code), or from a folder or record file
that the user names. A program is used as a host once; its file serves a single split.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
import sysconfig
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from sm_ops.core.errors import InputError
from sm_ops.data.records import read_records

MIN_STATEMENTS = 8
"""Smaller programs share their syntax tree with strangers by chance, so they are not used as hosts."""

_FOREIGN = (".*", "__pycache__", "site-packages", "dist-packages", "node_modules")
_STDLIB_EXCLUDED = (
    *_FOREIGN,
    *("test", "tests", "turtledemo", "idlelib", "lib2to3", "__phello__*"),  # tests, demonstrations, an old grammar
    *("encodings", "pydoc_data", "msilib", "_bundled"),  # generated tables and other software
    *("config-*", "_sysconfigdata*", "lib-dynload"),  # this machine's own build
)
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of host code: its path relative to the host root (or its record's id) and its exact text."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class Unit:
    """A module, or a top-level function or method of it cut out and dedented, with its own syntax tree."""

    name: str
    source: str
    tree: ast.Module
    is_module: bool

    @property
    def statements(self) -> int:
        """Number of statements, nested ones included; neither docstrings nor a function's own `def` count."""
        every = sum(isinstance(node, ast.stmt) for node in ast.walk(self.tree))
        return every - sum(map(_has_docstring, ast.walk(self.tree))) - (not self.is_module)


@dataclass(frozen=True, slots=True)
class Host:
    """A unit fit to receive a planted value, with the file it came from and the shape of its tree."""

    file: str
    name: str
    source: str
    shape: str


# ---- where the code comes from -------------------------------------------------------------------------


def source_files(hosts: str | Path | None) -> Iterator[SourceFile]:
    """Yield the files of the host root in the order of their paths; those that are not UTF-8 are left out.

    `hosts` is None for the running interpreter's standard library, else a folder of `.py` files or a record
    file, each of whose records counts as a file. Raises `InputError` for a missing path or labelled records.
    """
    if hosts is None:
        yield from _folder(Path(sysconfig.get_paths()["stdlib"]), _STDLIB_EXCLUDED)
    elif Path(hosts).is_dir():
        yield from _folder(Path(hosts), _FOREIGN)
    elif not Path(hosts).exists():
        raise InputError(
            "hosts-missing",
            f"{hosts} (data.hosts) does not exist; name a folder of .py files or a .jsonl or .parquet of records.",
        )
    else:
        for record in read_records(hosts):
            if record.spans:
                raise InputError(
                    "hosts-labelled",
                    f"{hosts} holds records with spans, but host programs must be clean: private values are "
                    "planted into them; name code without spans, or use the dataset 'own' for labelled data.",
                )
            yield SourceFile(record.id, record.content)


def _folder(root: Path, excluded: tuple[str, ...]) -> Iterator[SourceFile]:
    def kept(names: list[str]) -> list[str]:
        return [name for name in names if not any(fnmatchcase(name, pattern) for pattern in excluded)]

    found: list[str] = []
    for folder, subfolders, names in os.walk(root):
        subfolders[:] = kept(subfolders)
        paths = [Path(folder, name) for name in kept(names) if name.endswith(".py")]
        found.extend(path.relative_to(root).as_posix() for path in paths)
    for relative in sorted(found):
        try:
            yield SourceFile(relative, (root / relative).read_bytes().decode("utf-8"))
        except UnicodeDecodeError:
            continue


# ---- programs within a file ----------------------------------------------------------------------------


def parse(source: str) -> ast.Module | None:
    """Parse and compile `source` (nothing is run); None where either fails."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # old escapes in the literals of hosts
            tree = ast.parse(source)
            compile(tree, "<host>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return tree


def lines(source: str) -> list[str]:
    """Split as Python's tokenizer does (form feeds do not end a line), line ends kept."""
    return _LINE.findall(source)


def first_line(node: ast.stmt) -> int:
    """The line (from 1) where a statement begins, its decorators included."""
    return min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", []))])


def only_function(tree: ast.Module) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The function that a program consists of, or None for any other module."""
    node = tree.body[0] if len(tree.body) == 1 else None
    return node if isinstance(node, _FUNCTIONS) else None


def units(text: str, min_chars: int = 0, max_chars: int | None = None) -> list[Unit]:
    """The module itself, then its top-level functions and methods, of `min_chars` to `max_chars` characters.

    A file that does not compile has none; a method that cannot be dedented (a string of it reaches further
    left) is left out.
    """
    tree = parse(text)
    if tree is None:
        return []

    def fits(source: str) -> bool:
        return min_chars <= len(source) and (max_chars is None or len(source) <= max_chars)

    found = [Unit("", text, tree, is_module=True)] if fits(text) else []
    file_lines = lines(text)
    for name, node in _functions(tree):
        source = _dedented(file_lines[first_line(node) - 1 : node.end_lineno])
        if source is not None and fits(source):
            inner = parse(source)
            if inner is not None and only_function(inner):
                found.append(Unit(name, source, inner, is_module=False))
    return found


def _functions(tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    for node in tree.body:
        if isinstance(node, _FUNCTIONS):
            yield node.name, node
        elif isinstance(node, ast.ClassDef):
            for child in node.body:
                if isinstance(child, _FUNCTIONS):
                    yield f"{node.name}.{child.name}", child


def _dedented(block: list[str]) -> str | None:
    margin = block[0][: len(block[0]) - len(block[0].lstrip())]
    if any(line.strip() and not line.startswith(margin) for line in block):
        return None
    return "".join(line.removeprefix(margin) for line in block)


# ---- shapes --------------------------------------------------------------------------------------------


def shape(source: str) -> str:
    """SHA-256 of `ast.dump` without docstrings, and with every name, attribute, keyword and constant blanked.

    Two programs of equal shape differ in names, literals, comments and layout alone.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(source)
    for node in ast.walk(tree):
        if _has_docstring(node):
            del node.body[0]  # type: ignore[attr-defined]
        if isinstance(node, ast.Constant):
            node.value = node.kind = None
        for field, value in ast.iter_fields(node):
            if isinstance(value, str):
                setattr(node, field, "_")
            elif isinstance(value, list):  # the names of `global`, `nonlocal` and keyword patterns
                setattr(node, field, ["_" if isinstance(item, str) else item for item in value])
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


def shapes(text: str) -> set[str]:
    """The shapes of a file's module, functions and methods that are large enough to be compared."""
    return {shape(unit.source) for unit in units(text) if unit.statements >= MIN_STATEMENTS}


def _has_docstring(node: ast.AST) -> bool:
    body = getattr(node, "body", None)
    return (
        isinstance(node, ast.Module | ast.ClassDef | _FUNCTIONS)
        and bool(body)
        and isinstance(body[0], ast.Expr)  # type: ignore[index]
        and isinstance(body[0].value, ast.Constant)  # type: ignore[index]
        and isinstance(body[0].value.value, str)  # type: ignore[index]
    )


# ---- hosts ---------------------------------------------------------------------------------------------


def find_hosts(settings: Any) -> tuple[dict[str, list[Host]], dict[str, int]]:
    """All hosts under `settings.hosts` by file, and counts of what was found and left out.

    A host has at least `MIN_STATEMENTS` statements and `settings.min_chars` to `settings.max_chars` characters;
    a module that qualifies is used whole, not its functions. Of hosts with one shape, the first in order stays.
    """
    found: dict[str, list[Host]] = {}
    shapes_seen: set[str] = set()
    counts = Counter({"host_files": 0, "hosts": 0, "hosts_too_short": 0, "shape_collisions": 0})
    for file in source_files(settings.hosts):
        counts["host_files"] += 1
        fitting = units(file.text, settings.min_chars, settings.max_chars)
        large = [unit for unit in fitting if unit.statements >= MIN_STATEMENTS]
        counts["hosts_too_short"] += len(fitting) - len(large)
        for unit in [unit for unit in large if unit.is_module] or large:
            host = Host(file.path, unit.name or Path(file.path).stem, unit.source, shape(unit.source))
            if host.shape in shapes_seen:
                counts["shape_collisions"] += 1
                continue
            shapes_seen.add(host.shape)
            found.setdefault(file.path, []).append(host)
            counts["hosts"] += 1
    return found, dict(counts)
