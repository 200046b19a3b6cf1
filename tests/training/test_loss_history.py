from __future__ import annotations

from pathlib import Path

import pytest

from sm_ops.core.history import read_history
from sm_ops.training import trainer

pytestmark = pytest.mark.unit


def test_the_history_has_the_loss_of_each_step_and_not_the_numbers_alone(
    settings, new_model, new_rows, tmp_path: Path
) -> None:
    fit = {"scratch": tmp_path / "scratch", "history_file": tmp_path / "history.json"}
    numbers = trainer.fit(new_model(), new_rows(8), 0, settings(epochs=2, batch_size=4), 0, **fit)
    losses = read_history(tmp_path / "history.json")["loss"]
    assert [step for step, _ in losses] == [1, 2, 3, 4]
    assert numbers["train_loss"] == pytest.approx((losses[2][1] + losses[3][1]) / 2)  # of the last pass
