from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from sm_ops.attacks.members import prefix_extraction as attack
from sm_ops.core.errors import InputError
from sm_ops.core.registry import load, members
from sm_ops.core.sensitive import Sensitive

pytestmark = pytest.mark.unit
MODELS = Path(__file__).resolve().parents[2].parent / "shared" / "cases" / "masking" / "models"


def settings(**changes):
    values = {"samples": 128, "budgets": (1, 8, 16, 32, 64, 128), "reveal": "floor", "batch_size": 128}
    return SimpleNamespace(**(values | changes))


def canary(name, value):
    return SimpleNamespace(id=name, kind="k", value=Sensitive(value))


@cache
def loaded():
    from transformers import AutoModelForCausalLM

    from sm_ops.scoring.tokenize import load_tokenizer

    torch.set_num_threads(1)  # tiny model: a second thread only waits
    return AutoModelForCausalLM.from_pretrained(MODELS / "char"), load_tokenizer(MODELS / "char")


@pytest.fixture
def char():
    if not MODELS.exists():
        pytest.skip("../shared/cases/masking is not here")
    return loaded()


def test_edit_distance_by_recursion():
    @cache
    def slow(a, b):
        if not a or not b:
            return len(a) + len(b)
        return min(slow(a[1:], b) + 1, slow(a, b[1:]) + 1, slow(a[1:], b[1:]) + (a[0] != b[0]))

    rng = random.Random(0)
    for _ in range(500):
        a, b = (tuple(rng.choices(range(3), k=rng.randint(0, 7))) for _ in range(2))
        assert attack.edit_distance(a, b) == slow(a, b)


def test_the_limit_is_compared_in_integers():
    hidden = list(range(180))
    assert attack.approximate_hit([-1] * 63 + hidden[63:], hidden)  # 0.35 * 180 is below 63 in floats
    assert not attack.approximate_hit([-1] * 64 + hidden[64:], hidden)


def test_first_hits_equal_the_definition():
    rng = random.Random(1)
    for _ in range(300):
        hidden = rng.choices(range(2), k=rng.randint(1, 4))
        guesses = [rng.choices(range(2), k=rng.randint(0, 6)) for _ in range(rng.randint(0, 12))]
        near = [i for i, g in enumerate(guesses, 1) if attack.approximate_hit(g[: len(hidden)], hidden)]
        same = [i for i, g in enumerate(guesses, 1) if g[: len(hidden)] == hidden]
        assert attack.first_hits(guesses, hidden) == (min(near, default=None), min(same, default=None))


def test_chance_within_a_budget():
    assert attack.expected_exact(0.5, 3) == pytest.approx(0.875)
    assert attack.expected_exact(1e-18, 128) == pytest.approx(1.28e-16)
    assert attack.expected_exact(1.0, 1) == 1.0
    assert attack.expected_exact(0.0, 128) == 0.0


def test_curve_counts_and_refuses_unrecorded_budgets():
    outcomes = [
        attack.CanaryOutcome("a", "k", 12, 3, 4, 1, 3, 0.5),
        attack.CanaryOutcome("b", "k", 12, 3, 4, None, None, 0.0),
    ]
    points = attack.curve(outcomes, [1, 3])
    assert [(p.n, p.approx, p.exact) for p in points] == [(2, 1, 0), (2, 1, 1)]
    assert points[1].expected_exact == pytest.approx((0.875 + 0) / 2)
    with pytest.raises(InputError, match="5 continuations, but 4"):
        attack.curve(outcomes, [5])


def test_exact_chance_equals_the_closed_form(char):
    model, tokenizer = char
    outcome = attack.run(model, tokenizer, [canary("a", "abcdefgh9j")], settings(), seed=0)[0]
    # hidden 'h9j': h after g 1 bit, 9 after h 28 places 9 bits, j after 9 33 places 10 bits
    assert (outcome.length, outcome.hidden) == (10, 3)
    assert outcome.p_exact == pytest.approx(2.0**-20, rel=1e-5)
    single = attack.run(model, tokenizer, [canary("a", "a")], settings(), seed=0)[0]
    assert (single.length, single.hidden) == (1, 1)
    assert single.p_exact == pytest.approx(2.0**-5, rel=1e-5)


def test_sampled_hits_follow_the_closed_form(char):
    model, tokenizer = char
    canaries = [canary(str(i), "abcdefgh") for i in range(150)]
    outcomes = attack.run(model, tokenizer, canaries, settings(samples=8, budgets=(1, 8)), seed=3)
    for point in attack.curve(outcomes, (1, 8)):
        p = 1 - 0.75**point.budget
        assert abs(point.exact - 150 * p) <= 5 * np.sqrt(150 * p * (1 - p))
        assert point.expected_exact == pytest.approx(p, rel=1e-5)
    # |h| = 3: one edit is near enough; p_approx from the published case hf.extract.p03
    canaries = [canary(str(i), "abcdefghij") for i in range(400)]
    outcomes = attack.run(model, tokenizer, canaries, settings(samples=1, budgets=(1,)), seed=4)
    hits, p = attack.curve(outcomes, (1,))[0].approx, 0.25103092193603516
    assert abs(hits - 400 * p) <= 5 * np.sqrt(400 * p * (1 - p))


def test_samples_have_the_model_s_whole_distribution(char):
    model, _ = char
    n, prefix = 40_000, [0, 4]
    with torch.inference_mode():
        drawn = attack._sample(model, prefix, np.random.default_rng(0).random((n, 1)), None, n)
        expected = model(torch.tensor([prefix])).logits[0, -1].double().softmax(-1).numpy()
    counts = np.bincount([row[0] for row in drawn], minlength=64)
    assert (abs(counts - n * expected) <= 5 * np.sqrt(n * expected * (1 - expected)) + 1).all()


def test_an_end_token_ends_a_continuation_and_is_dropped(char):
    model, _ = char
    with torch.inference_mode():
        rows = attack._sample(model, [0], np.random.default_rng(0).random((500, 6)), 5, 500)
        same = attack._sample(model, [0], np.random.default_rng(0).random((500, 6)), None, 500)
    assert all(5 not in row for row in rows)
    assert min(map(len, rows)) < 6
    assert rows == [row[: row.index(5)] if 5 in row else row for row in same]


def test_neither_order_nor_batch_nor_company_matters(char):
    model, tokenizer = char
    canaries = [canary(name, value) for name, value in [("a", "abcdefgh"), ("b", "abcdef"), ("c", "abcdefghij")]]
    run = attack.run
    outcomes = run(model, tokenizer, canaries, settings(), seed=1)
    assert run(model, tokenizer, canaries[::-1], settings(batch_size=7), seed=1) == outcomes[::-1]
    assert run(model, tokenizer, canaries[1:2], settings(), seed=1) == outcomes[1:2]
    assert run(model, tokenizer, canaries, settings(), seed=2) != outcomes


def test_the_model_is_left_in_its_mode_and_outcomes_hold_no_text(char):
    model, tokenizer = char
    model.train()
    outcome = attack.run(model, tokenizer, [canary("a", "zyxwvuts")], settings(), seed=0)[0]
    assert model.training
    model.eval()
    assert "ts" not in repr(outcome).replace("CanaryOutcome", "")


def test_refusals(char):
    model, tokenizer = char
    with pytest.raises(InputError, match="raise samples"):
        attack.run(model, tokenizer, [], settings(samples=64), seed=0)
    with pytest.raises(InputError, match="no token"):
        attack.run(model, tokenizer, [canary("a", "")], settings(), seed=0)


def test_the_registry_finds_attack_and_references():
    assert "prefix_extraction" in members("attack")
    assert {"hf", "ngram", "file"} <= set(members("reference"))
    for kind, name in [("attack", "prefix_extraction"), *(("reference", n) for n in ("hf", "ngram", "file"))]:
        load(kind, name)
