"""The search that the leak tests of pipelines use: written apart from the product's, so that each tests the other."""

from __future__ import annotations

import importlib.util
from types import ModuleType

from driving import ROOT


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("independent_search", ROOT / "tests" / "leak" / "search.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_search = _load()
forms, search = _search.forms, _search.search
