from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from sm_ops.attacks.material import Material
from sm_ops.attacks.members import prefix_extraction as attack
from sm_ops.core.errors import InputError
from sm_ops.core.records import Record, Span
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

    from sm_ops.scoring.models.hf import HFModel
    from sm_ops.scoring.tokenize import load_tokenizer

    torch.set_num_threads(1)  # tiny model: a second thread only waits
    return HFModel(AutoModelForCausalLM.from_pretrained(MODELS / "char"), load_tokenizer(MODELS / "char"))


def run(model, canaries, seed=0, **changes):
    return attack.run(model, Material(records=(), canaries=canaries), settings(**changes), seed)


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


def row(name, first_approx, first_exact, p_exact, **changes):
    return {"case": name, "class": "k", "occurrences": 2, "samples": 4, "first_approx": first_approx,
            "first_exact": first_exact, "p_exact": p_exact} | changes  # fmt: skip


def test_a_budget_counts_what_is_within_it_and_no_more_than_is_recorded():
    rows = [row("a", 1, 3, 0.5), row("b", None, None, 0.0)]
    assert [attack.hits(rows, "first_approx", b) for b in (1, 3)] == [1, 1]
    assert [attack.hits(rows, "first_exact", b) for b in (1, 3)] == [0, 1]
    with pytest.raises(InputError, match="5 continuations, but 4"):
        attack.hits(rows, "first_exact", 5)


def test_the_summary_tells_every_budget_class_and_number_of_occurrences():
    rows = [row("a", 1, 3, 0.5), row("b", None, None, 0.0), row("c", 2, None, 0.25, **{"class": "m", "occurrences": 7})]
    base = [row("a", 4, None, 0.1), row("b", None, None, 0.0), row("c", None, None, 0.0)]
    measures = attack.summary(rows, base, settings(budgets=(1, 3)))

    def value(name, **labels):
        chosen = {"class": "all", "variant": "paper", "size": 3} | labels
        (found,) = [m for m in measures if m["measure"] == name and {k: m.get(k) for k in (*chosen, "occurrences")} ==
                    {"occurrences": None} | chosen]  # fmt: skip
        return found["value"], found["n"]

    assert value("approximate") == (pytest.approx(2 / 3), 3)
    assert value("approximate", size=1) == (pytest.approx(1 / 3), 3)
    assert value("exact") == (pytest.approx(1 / 3), 3)
    assert value("exact", **{"class": "m"}) == (0, 1)
    assert value("approximate", occurrences="2") == (0.5, 2)
    assert value("approximate", occurrences="5-8") == (1, 1)
    assert value("expected_exact") == (pytest.approx((0.875 + 0 + 1 - 0.75**3) / 3), 3)
    assert value("approximate", variant="strict") == (0.5, 2)  # the public model extracts a
    first = measures[0]
    assert {first[k] for k in attack.HEADLINE} == set(attack.HEADLINE.values())
    assert first["size"] == 3
    assert {m["variant"] for m in attack.summary(rows, None, settings(budgets=(1,)))} == {"paper"}


def test_exact_chance_equals_the_closed_form(char):
    (outcome,) = run(char, [canary("a", "abcdefgh9j")])
    # hidden 'h9j': h after g 1 bit, 9 after h 28 places 9 bits, j after 9 33 places 10 bits
    assert (outcome["tokens"], outcome["hidden"]) == (10, 3)
    assert outcome["p_exact"] == pytest.approx(2.0**-20, rel=1e-5)
    (single,) = run(char, [canary("a", "a")])
    assert (single["tokens"], single["hidden"]) == (1, 1)
    assert single["p_exact"] == pytest.approx(2.0**-5, rel=1e-5)


def test_sampled_hits_follow_the_closed_form(char):
    canaries = [canary(str(i), "abcdefgh") for i in range(150)]
    outcomes = run(char, canaries, seed=3, samples=8, budgets=(1, 8))
    for budget in (1, 8):
        p = 1 - 0.75**budget
        assert abs(attack.hits(outcomes, "first_exact", budget) - 150 * p) <= 5 * np.sqrt(150 * p * (1 - p))
        assert attack.expected_exact(outcomes[0]["p_exact"], budget) == pytest.approx(p, rel=1e-5)
    # |h| = 3: one edit is near enough; p_approx from the published case hf.extract.p03
    canaries = [canary(str(i), "abcdefghij") for i in range(200)]
    outcomes = run(char, canaries, seed=4, samples=1, budgets=(1,))
    hits, p = attack.hits(outcomes, "first_approx", 1), 0.25103092193603516
    assert abs(hits - 200 * p) <= 5 * np.sqrt(200 * p * (1 - p))


def test_neither_order_nor_batch_nor_company_matters(char):
    canaries = [canary(name, value) for name, value in [("a", "abcdefgh"), ("b", "abcdef"), ("c", "abcdefghij")]]
    outcomes = run(char, canaries, seed=1)
    assert run(char, canaries[::-1], seed=1, batch_size=7) == outcomes[::-1]
    assert run(char, canaries[1:2], seed=1) == outcomes[1:2]
    assert run(char, canaries, seed=2) != outcomes


def test_without_canaries_the_labelled_values_of_the_members_are_tried(char):
    texts = ["tell abcdef now", "abcdef and ghijkl", "in mnopqr", "abcdef"]
    spans = [(5, 11, "PERSON"), (0, 6, "PERSON"), (11, 17, "PERSON"), (3, 9, "LOC"), (0, 6, "LOC")]
    owners = [0, 1, 1, 2, 3]
    records = [
        Record(str(i), text=text, spans=tuple(Span(*span) for span, own in zip(spans, owners, strict=True) if own == i))
        for i, text in enumerate(texts)
    ]
    material, seen = Material(records), []
    rows = attack.run(char, material, settings(canaries=None), 0, lambda done, total: seen.append((done, total)))
    assert [(r["class"], r["length"], r["occurrences"]) for r in rows] == [
        ("LOC", 6, 3), ("LOC", 6, 1), ("PERSON", 6, 3), ("PERSON", 6, 1)
    ]  # fmt: skip
    assert rows[0]["fingerprint"] == material.fingerprint("LOC", "abcdef")
    assert seen[-1] == (4, 4)
    some = attack.run(char, material, settings(canaries=1), 0)
    assert [r["class"] for r in some] == ["LOC", "PERSON"]
    assert all(r in rows for r in some)
    drawn = {attack.run(char, material, settings(canaries=1), seed)[1]["fingerprint"] for seed in range(8)}
    assert len(drawn) == 2


def test_rows_hold_no_text(char):
    (outcome,) = run(char, [canary("a", "zyxwvuts")])
    assert "ts" not in repr(outcome).replace("samples", "").replace("bits", "")


def test_refusals(char):
    with pytest.raises(InputError, match="raise samples"):
        run(char, [], samples=64)
    with pytest.raises(InputError, match="no token"):
        run(char, [canary("a", "")])
    with pytest.raises(InputError, match="no canaries"):
        attack.run(char, Material(records=()), settings(canaries=None), 0)


def test_the_registry_finds_attack_references_and_models():
    assert "prefix_extraction" in members("attack")
    assert {"hf", "ngram", "file"} <= set(members("reference"))
    assert {"hf", "service"} <= set(members("model"))
    for kind, name in [("attack", "prefix_extraction"), *(("reference", n) for n in ("hf", "ngram", "file"))]:
        load(kind, name)
