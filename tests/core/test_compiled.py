"""What is compiled when, and that nothing but time depends on it."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from sm_ops.core import compiled
from sm_ops.core.compiled import WORTH

pytestmark = pytest.mark.unit


def make():
    @compiled.compiled(writes=("total",))
    def kernel(values, factor, total):
        running = 0
        for position in range(len(values)):
            running += values[position] * factor
            total[position] = running
        return running

    return kernel


def run(kernel, length: int, dtype=np.int64) -> bool:
    """Whether numba's code ran; the result is checked."""
    values, total = np.arange(length, dtype=dtype), np.zeros(length, dtype)
    ran: list[int] = []
    plain = kernel.plain
    kernel.plain = lambda *arguments: ran.append(1) or plain(*arguments)
    try:
        assert kernel(values, 2, total) == length * (length - 1)
    finally:
        kernel.plain = plain
    np.testing.assert_array_equal(total, np.cumsum(2 * values))
    np.testing.assert_array_equal(values, np.arange(length))
    return not ran


def test_large_work_is_compiled_and_small_work_of_the_same_types_then_uses_it():
    pytest.importorskip("numba")
    kernel = make()
    assert not run(kernel, 1000)
    assert run(kernel, WORTH)
    code = dict(kernel._code)
    assert run(kernel, 1000)
    assert run(kernel, WORTH)
    assert kernel._code == code, "compiled once"
    assert not run(kernel, 1000, np.int32)


def test_columns_and_read_only_arrays_wait_for_code_of_their_own():
    pytest.importorskip("numba")
    kernel = make()
    assert run(kernel, WORTH)
    columns = np.zeros((5, 2), np.int64)
    for values, total in ((columns[:, 0], columns[:, 1]), (np.frombuffer(bytes(40), np.int64), np.ones(5, np.int64))):
        ran: list[int] = []
        kernel.plain = lambda *arguments, ran=ran: ran.append(1)
        kernel(values, 2, total)
        assert ran


def test_without_numba_all_runs_as_plain_python(monkeypatch):
    monkeypatch.setattr(compiled, "_numba", lambda: None)
    assert not run(make(), WORTH)


def test_a_plain_function_may_stand_for_the_source():
    kernel = compiled.compiled(plain=lambda values: "numpy")(lambda values: "source")
    assert kernel(np.zeros(3)) == "numpy"


@pytest.mark.parametrize("numba", ["present", "absent"])
def test_small_work_does_not_import_numba_and_large_work_does_without(numba):
    """In an interpreter of its own: masking a small corpus, then a large one where numba cannot be imported."""
    code = f"""
import sys
if {numba!r} == "absent":
    sys.modules["numba"] = None
import numpy as np
from sm_ops.calibration import critical
from sm_ops.core import compiled
from sm_ops.masking import consensus, duplicates, kernels, local_rank, projection
from sm_ops.masking.corpus import Corpus
def corpus(size):
    ones = np.ones(size, np.int64)
    return Corpus(np.arange(size) % 9, ones * 1.0, ones > 0, ones * 0, ones, np.array([0, size]), np.array([0]))
small = corpus(1000)
duplicates.propagate(small.ids > 4, small, "corpus", 4)
kernels.mean_scores(small.surprise, small.eligible, small.bounds, 4)
assert not sys.modules.get("numba")
compiled.WORTH = 100_000
if {numba!r} == "absent":
    large = corpus(100_000)
    mask = np.arange(len(large)) < 10
    assert duplicates.propagate(mask, large, "corpus", 4).all()
    assert (kernels.mean_scores(large.surprise, large.eligible, large.bounds, 4)[:-3] == 1).all()
"""
    subprocess.run([sys.executable, "-c", code], check=True)
