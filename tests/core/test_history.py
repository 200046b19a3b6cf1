from __future__ import annotations

from pathlib import Path

import pytest

from sm_ops.core.errors import InputError
from sm_ops.core.history import read_history, thinned, write_history

pytestmark = pytest.mark.unit

LOG = [
    {"step": 1, "loss": 4.0, "grad_norm": 9.0},
    {"step": 2, "loss": 2.0},
    {"step": 2, "validation_loss": 3.0},
    {"train_runtime": 7.0, "step": 2},
]


def test_losses_by_step_and_nothing_else(tmp_path: Path) -> None:
    write_history(LOG, tmp_path / "history.json")
    assert read_history(tmp_path / "history.json") == {
        "loss": [(1, 4.0), (2, 2.0)],
        "validation_loss": [(2, 3.0)],
    }


def test_another_version_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "history.json").write_text('{"format": "history/2"}')
    with pytest.raises(InputError, match="history/1"):
        read_history(tmp_path / "history.json")


def test_a_long_curve_is_told_by_means_of_neighbours() -> None:
    assert thinned([(1, 4.0), (2, 2.0), (3, 1.0)], 2) == [(2, 3.0), (3, 1.0)]
    assert thinned([(1, 4.0), (2, 2.0)], 2) == [(1, 4.0), (2, 2.0)]
    assert thinned([], 2) == []
    assert len(thinned([(step, 1.0) for step in range(1, 1000)], 50)) == 50
