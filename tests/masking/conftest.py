from __future__ import annotations

import pytest

from sm_ops.core import compiled


@pytest.fixture(params=["plain", "compiled"])
def both_ways(request, monkeypatch):
    """The test runs with every kernel as plain Python, as without numba, and with every kernel compiled."""
    if request.param == "plain":
        monkeypatch.setattr(compiled.Kernel, "__call__", lambda kernel, *arguments: kernel.plain(*arguments))
    else:
        pytest.importorskip("numba")
        monkeypatch.setattr(compiled, "WORTH", 0)
    return request.param
