"""Drift is told in words, field by field."""

from __future__ import annotations

from copy import deepcopy

import pytest

from sm_ops.core.drift import explain

pytestmark = pytest.mark.unit

OLD = {
    "version": 1,
    "function": "sm_ops.steps.train:run",
    "settings": {"train": {"epochs": 8, "lora": {"rank": 16}}, "seed": 0},
    "places": {"base.name": "a1"},
    "inputs": {"training": "b1", "gone": "b2"},
    "outputs": {"model": "restricted"},
    "code": {"sm_ops.steps.train": "c1", "sm_ops.core.fs": "c2"},
    "environment": {"python": "3.11.7", "torch": "2.9"},
}


def changed(change):
    new = deepcopy(OLD)
    change(new)
    return explain(OLD, new)


def test_nothing_changed():
    assert explain(OLD, deepcopy(OLD)) == []


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda new: new.update(version=2), "the stage's version went from 1 to 2"),
        (lambda new: new.update(function="a:b"), "the stage's function went from 'sm_ops.steps.train:run' to 'a:b'"),
        (lambda new: new["settings"]["train"].update(epochs=4), "setting train.epochs went from 8 to 4"),
        (lambda new: new["settings"]["train"]["lora"].update(rank=8), "setting train.lora.rank went from 16 to 8"),
        (lambda new: new["settings"].update(seed=None), "setting seed went from 0 to None"),
        (lambda new: new["settings"].update(more="x"), "setting more went from unset to 'x'"),
        (lambda new: new["settings"].pop("seed"), "setting seed went from 0 to unset"),
        (lambda new: new["places"].update({"base.name": "a2"}), "the content named by base.name changed"),
        (lambda new: new["inputs"].update(training="z"), "input training changed"),
        (lambda new: new["inputs"].pop("gone"), "input gone is gone"),
        (lambda new: new["outputs"].update(model="internal"), "output model changed"),
        (lambda new: new["code"].update({"sm_ops.core.fs": "z"}), "code sm_ops.core.fs changed"),
        (lambda new: new["code"].update({"sm_ops.new": "z"}), "code sm_ops.new is new"),
        (lambda new: new["environment"].update(torch="2.10"), "environment torch went from '2.9' to '2.10'"),
    ],
)
def test_each_change_is_one_sentence(change, sentence):
    assert changed(change) == [sentence]


def test_many_changes_are_many_sentences():
    assert len(changed(lambda new: (new.update(version=2), new["settings"].update(seed=1)))) == 2
