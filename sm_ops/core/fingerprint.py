"""Identity of a step's work: one SHA-256 over what changes its result, and nothing that does not.

Where a result lies and how fast it came (paths, workers, log level) never enters it.
"""

from __future__ import annotations

import ast
import os
import platform
import re
import shutil
from collections.abc import Collection, Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec, resolve_name
from pathlib import Path
from typing import Any

from sm_ops.core import fs, registry
from sm_ops.core.settings import Settings
from sm_ops.core.stage import Stage, Step

_PACKAGE = "sm_ops"
_ROOT = Path(__file__).resolve().parents[2]
_LIBRARIES = ("accelerate", "numpy", "peft", "tokenizers", "torch", "transformers")
_ABSENT = "absent"
_INCIDENTAL = re.compile(
    r"(base|train|tune)\.checkpoint_steps|reference\.(engine|workers)|filter\.workers|endpoints\.[^.]+\.calls"
)
"""Dotted settings that say how a result is come by: a resumed training gives the same weights, and any number of
scoring workers, wherever they are, the same scores; `calls` is how a service is asked, not what. A member's own
settings count, whatever they are called."""


def payload(step: Step, input_hashes: dict[str, str]) -> dict[str, Any]:
    """Everything that identifies the step's work, as JSON that `drift` can explain field by field.

    A setting that names an existing file or folder counts by the content; a name of no place stays a name, beside its
    version where it is an installed package's.
    """
    stage, settings = step.stage, Settings(step.settings)
    places = {dotted: place for dotted in stage.places if (place := _place(settings, dotted))}
    code = code_digests({stage.module} | _member_modules(stage, settings))
    return {
        "stage": stage.name,
        "version": stage.version,
        "function": stage.function,
        "settings": _identifying(step.settings, places.keys()),
        "places": {dotted: _content(place) for dotted, place in places.items()},
        "inputs": input_hashes,
        "outputs": {output.name: output.cls for output in stage.outputs},
        "code": code,
        "environment": environment(stage.numeric) | declared(code) | _named_packages(stage, settings),
    }


def fingerprint(identity: dict[str, Any]) -> str:
    """SHA-256 over the canonical JSON of a payload."""
    return fs.sha256(fs.canonical_json(identity))


def code_digests(modules: set[str]) -> dict[str, str]:
    """Digest of each module and of every module of its package or of ours that it imports, transitively."""
    found: dict[str, str] = {}
    todo = set(modules)
    while todo:
        name = todo.pop()
        path = module_path(name)
        if path is None:
            found[name] = _ABSENT
            continue
        found[name], imports, _ = _parse(path, name, path.stat().st_mtime_ns)
        todo |= imports - found.keys()
    return found


def declared(modules: Iterable[str]) -> dict[str, str]:
    """Versions of what the modules' own `PACKAGES` name: packages that change results, or programs (their content)."""
    paths = {name: path for name in modules if (path := module_path(name))}
    return {
        package: _version(package) if _version(package) != _ABSENT else _program(package)
        for name, path in paths.items()
        for package in _parse(path, name, path.stat().st_mtime_ns)[2]
    }


def _named_packages(stage: Stage, settings: Settings) -> dict[str, str]:
    names = map(settings.at, stage.places)
    found = {name: _version(name) for name in names if isinstance(name, str) and name}
    return {name: known for name, known in found.items() if known != _ABSENT}


def environment(numeric: bool) -> dict[str, str]:
    """Python's version and, for numeric stages, the versions of the libraries and the class of device."""
    result = {"python": platform.python_version()}
    if numeric:
        result |= {library: _version(library) for library in _LIBRARIES}
        result["device"] = device_class()
    return result


def device_class() -> str:
    """`cuda` where torch has a GPU to use, else `cpu`; found without importing torch."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "unset") not in ("", "-1")
    usable = visible and Path("/dev/nvidiactl").exists() and not _version("torch").endswith("+cpu")
    return "cuda" if usable else "cpu"


def module_path(name: str) -> Path | None:
    """The source file of a module, or None where there is none."""
    top = name.partition(".")[0]
    root = _ROOT if top == _PACKAGE else _outside_root(top)
    if root is None:
        return None
    base = root.joinpath(*name.split("."))
    return next((p for p in (base.with_suffix(".py"), base / "__init__.py") if p.is_file()), None)


@cache
def _outside_root(top: str) -> Path | None:
    """Where the folder or file of another package's top-level module lies; nothing is imported."""
    spec = find_spec(top)
    if spec is None or spec.origin is None:
        return None
    origin = Path(spec.origin)
    return origin.parents[1] if spec.submodule_search_locations else origin.parent


def _member_modules(stage: Stage, settings: Settings) -> set[str]:
    """Modules of the registry members that the settings name; an unknown name is an error of the stage's own."""
    known = [(registry.members(kind), settings.at(dotted)) for dotted, kind in stage.members]
    named = ((modules, name) for modules, value in known for name in (value if isinstance(value, dict) else [value]))
    return {modules[name] for modules, name in named if name in modules}


@cache
def _parse(path: Path, name: str, mtime_ns: int) -> tuple[str, frozenset[str], tuple[str, ...]]:
    """Digest of a module's code without comments and docstrings, the modules it imports that count, its `PACKAGES`.

    Importing a module runs its parent packages too, so they count; ours holds a version and nothing else.
    """
    tree = _Stripped().visit(ast.parse(path.read_bytes()))
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    imports: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imports |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            source = resolve_name("." * node.level + (node.module or ""), package)
            imports |= {source} | {f"{source}.{alias.name}" for alias in node.names}
    imports |= {parent for each in (*imports, name) for parent in _parents(each)} - {name}
    ours = {_PACKAGE, name.partition(".")[0]}
    counted = frozenset(i for i in imports if i.partition(".")[0] in ours and module_path(i))
    return fs.sha256(ast.dump(tree).encode()), counted - {_PACKAGE}, _packages(tree)


def _packages(tree: ast.Module) -> tuple[str, ...]:
    """The words of the constant `PACKAGES`; the module is not imported."""
    own = [each for each in tree.body if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == "PACKAGES"]
    return tuple(str(node.value) for each in own for node in ast.walk(each.value) if isinstance(node, ast.Constant))


def _parents(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:depth]) for depth in range(1, len(parts))]


class _Stripped(ast.NodeTransformer):
    """Removes what cannot change a result: docstrings, other bare strings, and imports for type checkers."""

    def visit_If(self, node: ast.If) -> Any:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return [self.visit(other) for other in node.orelse]
        return self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> Any:
        if isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            return None
        return self.generic_visit(node)


@cache
def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return _ABSENT


def _program(name: str) -> str:
    found = shutil.which(name)
    return _ABSENT if found is None else _file_hash(path := Path(found), *_stamp(path))


def _place(settings: Settings, dotted: str) -> Path | None:
    name = settings.at(dotted)
    return Path(name) if isinstance(name, str) and Path(name).exists() else None


def _content(place: Path) -> str:
    return fs.tree_hash({name: _file_hash(file, *_stamp(file)) for name, file in fs.files_below(place)})


def _stamp(file: Path) -> tuple[int, int]:
    status = file.stat()
    return status.st_size, status.st_mtime_ns


@cache
def _file_hash(file: Path, size: int, mtime_ns: int) -> str:
    """A large model that many steps name is read once a process."""
    return fs.file_hash(file)


def _identifying(settings: dict[str, Any], places: Collection[str], path: str = "") -> dict[str, Any]:
    """The settings without incidental ones and without the names of places that count by their content."""
    result = {}
    for name, value in settings.items():
        dotted = f"{path}.{name}" if path else name
        if not _INCIDENTAL.fullmatch(dotted) and dotted not in places:
            result[name] = _identifying(value, places, dotted) if isinstance(value, dict) else value
    return result
