"""Identity of a step's work: one SHA-256 over what changes its result, and nothing that does not.

Where a result lies and how fast it came (paths, workers, log level) never enters it.
"""

from __future__ import annotations

import ast
import os
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from sm_ops.core import registry
from sm_ops.core.fs import canonical_json, content_hash, sha256
from sm_ops.core.stage import Step

_ROOT = Path(__file__).resolve().parents[2]
_LIBRARIES = ("numpy", "peft", "tokenizers", "torch", "transformers")


def payload(step: Step, input_hashes: dict[str, str]) -> dict[str, Any]:
    """Everything that identifies the step's work, as JSON that `drift` can explain field by field."""
    stage = step.stage
    settings = _with_contents(step.settings, stage.places)
    modules = {stage.module} | {
        registry.members(kind)[_at(step.settings, dotted)]
        for dotted, kind in stage.members
        if _at(step.settings, dotted) in registry.members(kind)
    }
    return {
        "stage": stage.name,
        "version": stage.version,
        "settings": settings,
        "inputs": input_hashes,
        "code": code_digests(modules),
        "environment": environment(stage.numeric),
    }


def fingerprint(identity: dict[str, Any]) -> str:
    """SHA-256 over the canonical JSON of a payload."""
    return sha256(canonical_json(identity))


def code_digests(modules: set[str]) -> dict[str, str]:
    """Digest of each module and of every first-party module that they import, transitively."""
    found: dict[str, str] = {}
    todo = set(modules)
    while todo:
        name = todo.pop()
        path = module_path(name)
        if path is None:
            found[name] = _outside_digest(name)
            continue
        digest, imports = _read_module(path, name)
        found[name] = digest
        todo |= imports - found.keys()
    return found


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
    """The source file of a first-party module, or None for another one."""
    parts = name.split(".")
    if parts[0] not in ("sm_ops", "flows"):
        return None
    base = _ROOT.joinpath(*parts)
    return next((p for p in (base.with_suffix(".py"), base / "__init__.py") if p.is_file()), None)


def _read_module(path: Path, name: str) -> tuple[str, frozenset[str]]:
    return _parse(path, name, path.stat().st_mtime_ns)


@cache
def _parse(path: Path, name: str, mtime_ns: int) -> tuple[str, frozenset[str]]:
    """Digest of a module's code (comments and docstrings left out) and the first-party modules it imports."""
    tree = _Stripped().visit(ast.parse(path.read_bytes()))
    imports: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imports |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            imports |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return sha256(ast.dump(tree).encode()), frozenset(i for i in imports if module_path(i) and i != name)


class _Stripped(ast.NodeTransformer):
    """Removes what cannot change a result: docstrings and imports for type checkers."""

    def visit_If(self, node: ast.If) -> ast.AST | None:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return None
        return self.generic_visit(node)

    def _without_docstring(self, node: Any) -> ast.AST:
        if ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
        return self.generic_visit(node)

    visit_Module = visit_ClassDef = visit_FunctionDef = visit_AsyncFunctionDef = _without_docstring


def _outside_digest(name: str) -> str:
    """A member from another package counts by its distribution's version."""
    return _version(name.partition(".")[0])


@cache
def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "absent"


def _at(settings: dict[str, Any], dotted: str) -> Any:
    value: Any = settings
    for part in dotted.split("."):
        value = value[part]
    return value


def _with_contents(settings: dict[str, Any], places: tuple[str, ...]) -> dict[str, Any]:
    """The settings with every named place replaced by what lies there; a name of no place stays a name."""
    result = settings
    for dotted in places:
        place = _at(result, dotted)
        if isinstance(place, str) and Path(place).exists():
            result = _replaced(result, dotted.split("."), {"content": content_hash(Path(place))})
    return result


def _replaced(settings: dict[str, Any], path: list[str], value: Any) -> dict[str, Any]:
    head, *rest = path
    return {**settings, head: _replaced(settings[head], rest, value) if rest else value}
