"""Deliberate faults: one is a text of a module and what stands there instead; checks are cases and tests.

A fault replaces its module's code while it lasts, everywhere the module's names were imported to. It is
noticed when a check fails or raises.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from sm_ops.core.compiled import Kernel

TESTS = Path(__file__).resolve().parents[1]


class Fault(NamedTuple):
    """In the module `sm_ops.MODULE`, `right` (wherever it stands) is replaced by `wrong`.

    With `kernels`, these run their own source, which numba compiles for large inputs, and not their NumPy form.
    """

    name: str
    module: str
    right: str
    wrong: str
    kernels: bool = False


Check = tuple[str, Callable[[], None]]


@contextmanager
def installed(fault: Fault) -> Iterator[None]:
    """Replace the code of the fault's module, in place and wherever its names were imported to."""
    module = importlib.import_module(f"sm_ops.{fault.module}")
    source = inspect.getsource(module)
    assert fault.right in source, f"{fault.name}: {fault.module} has no {fault.right!r}; bring the fault up to date"
    if fault.kernels:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Kernel, "__call__", lambda kernel, *arguments: kernel.source(*arguments))
            with installed(fault._replace(kernels=False)):
                yield
        return
    code = compile(source.replace(fault.right, fault.wrong), str(module.__file__), "exec")
    before = dict(vars(module))
    replaced: list[tuple[ModuleType, str, Any]] = []
    try:
        exec(code, vars(module))
        new = {name: value for name, value in vars(module).items() if name in before and value is not before[name]}
        for other in [each for each in sys.modules.values() if each is not module and _ours(each)]:
            for name in new.keys() & vars(other).keys():
                if vars(other)[name] is before[name]:
                    replaced.append((other, name, before[name]))
                    setattr(other, name, new[name])
        yield
    finally:
        for other, name, value in replaced:
            setattr(other, name, value)
        vars(module).clear()
        vars(module).update(before)


def _ours(module: ModuleType | None) -> bool:
    file = getattr(module, "__file__", None) or ""
    return file.startswith((str(TESTS), str(TESTS.parent / "sm_ops")))


def noticed_by(checks: list[Check], module: str = "") -> str | None:
    """The first check that does not pass, or `None`; those that speak of the module are asked first."""
    words = [word for word in module.split(".") if word not in ("masking", "core", "")]
    for name, check in sorted(checks, key=lambda check: not any(word in check[0] for word in words)):
        try:
            check()
        except (Exception, pytest.fail.Exception):
            return name
    return None


def cases_of(folder: Path, prefix: str) -> list[Check]:
    """The published cases of the kinds with a prefix, through the adapter that stands beside their tests."""
    sys.path.append(str(TESTS / "cases"))
    adapter, compare = importlib.import_module("masking_adapter"), _load("check_cases", folder / "check_cases.py")

    def answer(case: dict[str, Any]) -> None:
        got = adapter.run(case["kind"], case["input"])
        assert compare.same(case["expect"], got, case.get("tol", 1e-9)) is None

    with open(folder / "cases.jsonl", encoding="utf-8") as lines:
        cases = [json.loads(line) for line in lines]
    kinds = [kind for kind in adapter.KINDS if kind.startswith(prefix)]
    return [(case["id"], partial(answer, case)) for case in cases if case["kind"] in kinds]


def checks_in(path: str, without: tuple[str, ...]) -> list[Check]:
    """The test functions of a file below `tests/`, each as often as its parameters say."""
    module = _load(f"faulty_{Path(path).stem}", TESTS / path)
    functions = {name: each for name, each in vars(module).items() if name.startswith("test_") and name not in without}
    return [
        (f"{path}:{name}{list(values.values()) or ''}", partial(_call, module, name, values))
        for name, function in functions.items()
        for values in _parameters(function)
        if inspect.signature(function).parameters.keys() <= {*values, "monkeypatch"}  # none that needs another fixture
    ]


def _load(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _call(module: ModuleType, name: str, values: dict[str, Any]) -> None:
    function = getattr(module, name)
    with pytest.MonkeyPatch.context() as patch:
        fixtures = {"monkeypatch": patch} if "monkeypatch" in inspect.signature(function).parameters else {}
        function(**values, **fixtures)


def _parameters(function: Callable[..., None]) -> list[dict[str, Any]]:
    marks = [mark for mark in getattr(function, "pytestmark", []) if mark.name == "parametrize"]
    choices = []
    for mark in marks:
        names = [mark.args[0]] if isinstance(mark.args[0], str) else mark.args[0]
        rows = [(each,) if isinstance(mark.args[0], str) else each for each in mark.args[1]]
        choices.append([dict(zip(names, row, strict=True)) for row in rows])
    return [{name: value for each in chosen for name, value in each.items()} for chosen in product(*choices)]
