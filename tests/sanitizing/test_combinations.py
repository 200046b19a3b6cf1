"""Two filters together: masks against one unit after the other, and when the pair beats its better half."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from labelled import Unit, by_lot, characters, record, side, units

from sm_ops.sanitizing.combinations import Pair, combined

pytestmark = pytest.mark.unit
PAIR = Pair("surprise", "regex", (2.0, 1.0))


def told(found: list[tuple[Unit, Unit]], masked) -> dict[str, int]:
    """Counts of a mask that says of the levels of both filters whether a unit is masked."""
    cells = [(bool(one.categories), bool(masked(one.level, two.level))) for one, two in found]
    return {
        "tp": cells.count((True, True)),
        "fp": cells.count((False, True)),
        "fn": cells.count((True, False)),
        "tn": cells.count((False, False)),
    }


def f1(cells: dict[str, int]) -> float:
    wrong = cells["fp"] + cells["fn"]
    return 2 * cells["tp"] / (2 * cells["tp"] + wrong) if cells["tp"] + wrong else 0.0


def test_masks_and_thresholds_are_those_of_a_search_over_all_of_them():
    rng = np.random.default_rng(11)
    for _ in range(4):
        records, levels = by_lot(rng, filters=("surprise", "regex"))
        expected = list(zip(*(units(records, levels[name], characters) for name in PAIR[:2]), strict=True))
        if not any(one.categories for one, _ in expected):
            continue
        found = combined({"validation": side(records, **levels).of_kind("characters")}, PAIR)
        assert found["union"]["validation"]["counts"] == told(expected, lambda one, two: one >= 2 or two >= 1)
        assert found["intersection"]["validation"]["counts"] == told(expected, lambda one, two: one >= 2 and two >= 1)
        assert found["union"]["application"] is None

        masks = [(one.level >= 2, two.level >= 1) for one, two in expected]
        either = sum(one or two for one, two in masks)
        both = sum(one and two for one, two in masks)
        assert found["jaccard"] == {"validation": both / either if either else None, "application": None}

        left = [(one, two) for one, two in expected if two.level < 1]
        best = max((f1(told(left, lambda one, _, tau=tau: one >= tau)), tau) for tau in (0.0, 1.0, 2.0, 3.0, np.inf))
        tau = np.inf if best[0] == 0 else best[1]
        assert found["residual"]["tau"] == [None if tau == np.inf else tau, 1.0]
        residual = told(expected, lambda one, two, tau=tau: one >= tau or two >= 1)
        assert found["residual"]["validation"]["counts"] == residual

        for name, how in (("joint", any), ("joint_intersection", all)):
            best = max(
                f1(told(expected, lambda one, two, taus=taus, how=how: how([one >= taus[0], two >= taus[1]])))
                for taus in itertools.product((0.0, 1.0, 2.0, 3.0, np.inf), repeat=2)
            )
            assert found[name]["validation_f1"] == pytest.approx(best)
            assert found[name]["application_f1"] is None


def corpus(seed: int, catches: tuple[float, float], noise: float = 0.0):
    """Thirty documents with four keys among filler; each filter finds keys of its own half with some probability."""
    rng = np.random.default_rng(seed)
    records, levels = [], {"surprise": [], "regex": []}
    for number in range(30):
        keys = [(start, start + 5, "key") for start in (0, 10, 20, 30)]
        records.append(record(number, "x" * 60, keys))
        for half, (own, share) in enumerate(zip(levels.values(), catches, strict=True)):
            found = [(a, b, 1.0) for a, b, _ in keys[2 * half : 2 * half + 2] if rng.random() < share]
            own.append(found + [(n, n + 1, 1.0) for n in range(40, 60) if rng.random() < noise])
    return side(records, **levels).of_kind("characters")


BOTH = Pair("surprise", "regex", (1.0, 1.0))


def test_filters_that_find_different_things_are_better_together():
    found = combined({"validation": corpus(1, (0.9, 0.9)), "application": corpus(2, (0.9, 0.9))}, BOTH)
    assert found["better"]
    assert found["measured_on"] == "application"
    assert 0 < found["difference"]["low"] < found["difference"]["value"] < found["difference"]["high"]
    assert "against that of" in found["reason"]
    [row] = found["categories"]
    assert row["combined"]["value"] > max(row["surprise"]["value"], row["other"]["value"])
    assert row["category"] == "key"
    gain = row["combined"]["value"] - row["surprise" if found["half"] == "surprise" else "other"]["value"]
    assert found["difference"]["value"] == pytest.approx(gain)


def test_the_application_side_decides_what_validation_only_promised():
    promised = corpus(1, (0.9, 0.5))
    found = combined({"validation": promised, "application": corpus(2, (0.9, 0.0), noise=0.3)}, BOTH)
    assert found["half"] == "surprise"
    assert not found["better"]
    assert found["reason"].startswith("No combination is better than its better half: ")
    assert combined({"validation": promised}, BOTH)["better"]


def test_a_filter_that_adds_nothing_makes_nothing_better():
    found = combined({"validation": corpus(1, (0.9, 0.0)), "application": corpus(2, (0.9, 0.0))}, BOTH)
    assert found["difference"] == {"value": 0.0, "low": None, "high": None}
    assert not found["better"]


def test_a_gain_in_one_document_is_no_gain():
    records = [record(number, "x" * 20, [(0, 10, "key")]) for number in range(10)]
    levels = {"surprise": [[(0, 5, 1.0)]] * 10, "regex": [[(5, 10, 1.0)]] + [[]] * 9}
    found = combined({"validation": side(records, **levels).of_kind("characters")}, BOTH)
    assert found["difference"]["value"] == pytest.approx(2 * 55 / 155 - 2 * 50 / 150)
    assert found["difference"]["low"] == 0.0
    assert not found["better"]


def test_the_grid_has_at_most_576_pairs_and_its_frontier_rises():
    rng = np.random.default_rng(12)
    text, levels = "x" * 400, rng.random((2, 400))
    levels[:, :100] += 0.3
    own = side(
        [record(0, text, [(0, 100, "key")])],
        **{
            name: [[(n, n + 1, level) for n, level in enumerate(each)]]
            for name, each in zip(PAIR[:2], levels.tolist(), strict=True)
        },
    ).of_kind("characters")
    found = combined({"validation": own, "application": own}, Pair("surprise", "regex", (0.8, 0.8)))
    assert found["joint"]["pairs"] == 576
    front = found["joint"]["frontier"]["validation"]
    assert front == found["joint"]["frontier"]["application"]
    for name in ("fpr", "tpr"):
        assert front[name] == sorted(front[name])
    assert len(set(front["tpr"])) == len(front["tpr"]) > 10
    others = [found[how]["validation"]["f1"]["value"] for how in ("union", "residual")]
    assert found["joint"]["validation_f1"] >= max(others)
    curve = found["curve"]["validation"]
    masked = levels[1] >= 0.8
    assert curve["tpr"][1] == masked[:100].mean()
    assert curve["fpr"][1] == masked[100:].mean()
    assert (curve["tpr"][-1], curve["fpr"][-1]) == (1.0, 1.0)
