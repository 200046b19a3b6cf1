"""Settings are a read-only view over JSON; seeds come from names."""

from __future__ import annotations

import pytest

from sm_ops.core.seeds import derive
from sm_ops.core.settings import Settings

pytestmark = pytest.mark.unit

VALUES = {"train": {"epochs": 3, "lora": {"rank": 4}}, "seeds": [1, 2], "name": None}


def test_attributes_reach_inside():
    settings = Settings(VALUES)
    assert settings.train.lora.rank == 4
    assert settings.seeds == [1, 2]
    assert settings.name is None
    assert settings.at("train.lora.rank") == 4
    assert "train" in settings
    assert "x" not in settings
    assert settings.plain() == VALUES


def test_they_are_read_only_and_copied():
    values = dict(VALUES)
    settings = Settings(values)
    values["name"] = "later"
    assert settings.name is None
    with pytest.raises(AttributeError, match="read-only"):
        settings.name = "x"


def test_a_missing_setting_is_named():
    with pytest.raises(AttributeError, match="no setting 'epochz'"):
        _ = Settings(VALUES).train.epochz
    assert getattr(Settings(VALUES), "absent", 5) == 5


def test_their_repr_shows_names_alone():
    assert repr(Settings(VALUES)) == "Settings(train, seeds, name)"


def test_seeds_are_apart_by_name_and_number():
    drawn = {derive(seed, *names) for seed in range(3) for names in ((), ("a",), ("b",), ("a", "b"), ("ab",))}
    assert len(drawn) == 15
    assert all(0 <= seed < 2**63 for seed in drawn)
