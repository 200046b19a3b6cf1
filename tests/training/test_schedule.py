"""How many steps a training has, and in how many of them the rate rises."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from sm_ops.core.errors import InputError
from sm_ops.training.schedule import steps_of, warmup_of

pytestmark = pytest.mark.unit


def settings(**changes):
    given = {"epochs": 2, "batch_size": 4, "accumulation": 5, "steps": None, "warmup_steps": 10, "warmup_ratio": None}
    return SimpleNamespace(**given | changes)


def test_a_pass_ends_with_a_short_step():
    assert steps_of(11_250, settings()) == 2 * 563
    assert steps_of(11_250, settings(steps=1_125)) == 1_125
    assert steps_of(41, settings(epochs=1)) == 3  # eleven microbatches: five, five, and one of a single row


def test_more_steps_than_the_passes_have_are_refused():
    with pytest.raises(InputError, match="steps is 1127, but epochs = 2 comes to 1126"):
        steps_of(11_250, settings(steps=1_127))


def test_the_warm_up_is_a_number_or_a_share():
    assert warmup_of(18_750, settings()) == 10
    assert warmup_of(18_750, settings(warmup_ratio=0.01)) == 188  # 187.5
    assert warmup_of(18_750, settings(warmup_ratio=0.0)) == 0
