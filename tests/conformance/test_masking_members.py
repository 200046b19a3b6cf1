"""Every rule, kind of window and baseline through the same cases, also those of other packages."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from sm_ops.core.records import Message, Record
from sm_ops.core.registry import load, members
from sm_ops.core.tokens import Tokens

pytestmark = pytest.mark.unit

UNUSUAL = "e\u0301 \u200f\u05d0\u05d1 \U0001f600\U0001f3fd"
TEXTS = ["", " ", "\n\r\n", "a", ",;:.…", "One. Two!\r\n\r\nThree?", "가나다. 라마。바", UNUSUAL]


@pytest.mark.parametrize("name", members("rule"))
def test_a_rule_selects_exactly_what_reaches_its_level(name):
    rule = load("rule", name)
    rng = np.random.default_rng(0)
    for _ in range(50):
        bounds = np.array([0, 5, 5, 12, 20])
        scores = rng.integers(0, 6, 20) / 2
        scores[rng.random(20) < 0.2] = np.nan
        settings = {"bounds": bounds, "radius": int(rng.integers(1, 9))}

        def call(function, scores=scores, settings=settings, **more):
            needed = list(inspect.signature(function).parameters)[1:]
            return function(scores, **{key: value for key, value in {**settings, **more}.items() if key in needed})

        levels = call(rule.levels)
        assert np.isnan(levels[np.isnan(scores)]).all()
        for level in [*np.unique(levels[~np.isnan(levels)]), np.inf, -np.inf]:
            chosen = call(rule.select, **rule.at(float(level)))
            if np.isfinite(level):
                assert (chosen == (levels >= level)).all()
            assert not chosen[np.isnan(levels)].any()
        each = rule.at(np.array([1.0, 2.0]))
        assert all(len(value) == 2 for value in each.values())


@pytest.mark.parametrize("name", members("window"))
def test_intervals_lie_within_the_record(name):
    intervals = load("window", name).intervals
    chats = [Record("c", messages=(Message("user", text), Message("assistant", text))) for text in TEXTS]
    for record in [Record("t", text=text) for text in TEXTS] + chats:
        found = intervals(record)
        assert all(0 <= start <= end <= len(record.content) for start, end in found)
        assert found == intervals(record)
        assert found == sorted(found)


@pytest.mark.parametrize("name", members("baseline"))
def test_a_baseline_masks_eligible_tokens_alone_whatever_the_order(name):
    function = load("baseline", name).mask
    rng = np.random.default_rng(1)
    records, tokens = [], []
    for number in range(7):
        text = "".join(rng.choice(list("abcdef "), 30))
        places = np.arange(30)
        special, supervised = rng.random(30) < 0.1, rng.random(30) < 0.8
        records.append(Record(f"r{number}", text=text))
        tokens.append(Tokens(rng.integers(0, 9, 30), places, places + 1, special, supervised))
    values = {"seed": 3, "budget": 40, "k": 3}
    parameters = inspect.signature(function).parameters.values()
    needed = {p.name: values[p.name] for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty}
    masks = function(records, tokens, **needed)
    assert [mask.shape for mask in masks] == [(30,)] * 7
    assert all(mask.dtype == bool for mask in masks)
    assert not any((mask & ~own.eligible).any() for mask, own in zip(masks, tokens, strict=True))
    backwards = function(records[::-1], tokens[::-1], **needed)[::-1]
    assert all((one == other).all() for one, other in zip(masks, backwards, strict=True))
