"""Labelled units, their levels and rates, against one unit after the other."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from labelled import auroc, by_lot, characters, counts, profile, record, side, units

from sm_ops.core.tokens import Tokens
from sm_ops.sanitizing import measures
from sm_ops.sanitizing.profiles import joined, union_of
from sm_ops.sanitizing.units import Units, tokens

pytestmark = pytest.mark.unit


def spread(found: Units, name: str) -> list[tuple]:
    """Every unit of the entries: record, cluster, categories, level."""
    members = {category: set(own.tolist()) for category, own in found.members.items()}
    return [
        (
            int(found.record[number]),
            frozenset(category for category, own in members.items() if number in own),
            float(found.levels[name][number]),
        )
        for number in range(len(found))
        for _ in range(int(found.weight[number]))
    ]


def test_characters_and_lines_are_what_one_after_the_other_gives():
    rng = np.random.default_rng(1)
    for _ in range(10):
        records, levels = by_lot(rng)
        own = side(records, **levels)
        expected = units(records, levels["surprise"], characters)
        found = own.of_kind("characters")
        assert spread(found, "surprise") == [(each.record, each.categories, each.level) for each in expected]
        assert found.gold.tolist() == [bool(categories) for _, categories, _ in spread_once(found)]
        groups = [each.group for each in expected]
        same = np.repeat(found.cluster, found.weight)
        assert (same[:, None] == same[None, :]).tolist() == [[one == other for other in groups] for one in groups]

        expected = units(records, levels["surprise"], not_blank)
        assert spread(own.of_kind("lines"), "surprise") == [
            (each.record, each.categories, each.level) for each in expected
        ]


def spread_once(found: Units) -> list[tuple]:
    return [
        (number, [name for name, own in found.members.items() if number in own], None) for number in range(len(found))
    ]


def not_blank(text: str) -> list[tuple[int, int]]:
    found, start = [], 0
    for line in text.split("\n"):
        if line.strip():
            found.append((start, start + len(line)))
        start += len(line) + 1
    return found


def test_a_token_has_the_largest_level_within_it_and_special_ones_do_not_count():
    text = "user=alice;"
    one = record(0, text, [(5, 10, "name")])
    starts, ends = np.array([0, 0, 4, 5, 8, 10]), np.array([0, 4, 5, 8, 10, 11])
    special = np.array([True, False, False, False, False, False])
    tokenized = Tokens(np.arange(6), starts, ends, special, ~special)
    found = tokens([one], {"f": [profile(11, [(3, 6, 2.0), (9, 11, 1.0)])]}, [tokenized])
    assert found.levels["f"].tolist() == [2.0, 2.0, 2.0, 1.0, 1.0]
    assert found.gold.tolist() == [False, False, True, True, False]
    assert found.weight.tolist() == [1] * 5


def test_rates_are_those_of_single_units():
    rng = np.random.default_rng(2)
    undefined = set()
    for _ in range(10):
        records, levels = by_lot(rng)
        expected = units(records, levels["surprise"], characters)
        found = side(records, **levels).of_kind("characters")
        tau = [None, 0.0, 2.0, 3.5][int(rng.integers(4))]
        rates = measures.rates(found, "surprise", tau)
        gold = [each.level for each in expected if each.categories]
        others = [each.level for each in expected if not each.categories]
        assert rates["auroc"]["value"] == pytest.approx(auroc(gold, others))
        cells = counts(expected, lambda each: bool(each.categories), tau)
        assert rates["counts"] == cells
        tp, fp, fn, tn = cells.values()
        for name, part, whole in (
            ("tpr", tp, tp + fn),
            ("fpr", fp, fp + tn),
            ("precision", tp, tp + fp),
            ("f1", 2 * tp, 2 * tp + fp + fn),
            ("preservation", tn, fp + tn),
        ):
            assert rates[name]["value"] == (part / whole if whole else None)
            undefined |= {name} if not whole else set()
        assert rates["clusters"] == len({each.group for each in expected})
    assert "precision" in undefined


def test_a_category_leaves_out_units_of_others_and_a_family_also_other_documents():
    rng = np.random.default_rng(3)
    families = {"key": "secrets", "name": "people", "mail": "people"}
    for _ in range(6):
        records, levels = by_lot(rng)
        expected = units(records, levels["surprise"], characters)
        found = side(records, **levels).of_kind("characters")
        rows = measures.by_category(found, "surprise", 2.0)
        assert [row["category"] for row in rows] == sorted(
            {label for one in records for *_, label in one.content_spans}
        )
        for row in rows:
            name = row["category"]
            seen = [each for each in expected if name in each.categories or not each.categories]
            check(row, seen, lambda each, name=name: name in each.categories)
        for row in measures.by_family(found, "surprise", 2.0, families):
            own = {name for name, family in families.items() if family == row["category"]}
            documents = {each.record for each in expected if each.categories & own}
            seen = [
                each for each in expected if each.record in documents and (each.categories & own or not each.categories)
            ]
            check(row, seen, lambda each, own=own: bool(each.categories & own))
            assert row["documents"] == len(documents)


def check(row, seen, gold) -> None:
    assert row["counts"] == counts(seen, gold, 2.0)
    assert row["target_units"] == sum(map(gold, seen))
    positives = [each.level for each in seen if gold(each)]
    negatives = [each.level for each in seen if not gold(each)]
    assert row["auroc"]["value"] == pytest.approx(auroc(positives, negatives))


def test_the_curve_goes_from_no_mask_to_the_largest_and_holds_the_rates_at_its_thresholds():
    rng = np.random.default_rng(4)
    records, levels = by_lot(rng, documents=12)
    found = side(records, **levels).of_kind("characters")
    curve = measures.roc(found, "surprise")
    assert curve["tau"] == [None, 3.0, 2.0, 1.0, 0.0]
    for number, tau in enumerate(curve["tau"]):
        rates = measures.at(found, "surprise", tau)
        for name in ("tpr", "fpr", "precision"):
            assert curve[name][number] == pytest.approx(rates[name]["value"])


def test_a_long_curve_is_thinned_where_it_is_steep_too():
    text, levels = "x" * 10_000, np.random.default_rng(5).permutation(10_000).astype(float)
    levels[:20] += 10_000  # few targets, far above
    own = side([record(0, text, [(0, 20, "key")])], f=[[(n, n + 1, level) for n, level in enumerate(levels)]])
    curve = measures.roc(own.of_kind("characters"), "f", points=50)
    assert len(curve["tau"]) <= 50
    assert sum(rate == 0 for rate in curve["fpr"]) >= 20  # the rise to full coverage is drawn
    assert (curve["tpr"][-1], curve["fpr"][-1]) == (1.0, 1.0)


def test_profiles_by_characters():
    rng = np.random.default_rng(6)
    for _ in range(12):
        length = int(rng.integers(1, 25))
        own = [
            [
                (int(start), int(min(length, start + rng.integers(0, 7))), float(rng.integers(0, 3)))
                for start in rng.integers(0, length, int(rng.integers(0, 6)))
            ]
            for _ in range(2)
        ]
        places = range(length)
        level = [[max((lv for a, b, lv in each if a <= n < b), default=-np.inf) for n in places] for each in own]
        profiles = [profile(length, each) for each in own]
        assert inside(profiles[0].masked(1.0)) == {n for n in range(length) if level[0][n] >= 1}
        both = union_of(profiles, [1.0, 2.0])
        assert inside(both) == {n for n in range(length) if level[0][n] >= 1 or level[1][n] >= 2}
        assert all(end < start for (_, end), (start, _) in pairwise(both))
        whole = joined(profiles)
        starts = np.arange(2 * length)
        assert whole.largest(starts, starts + 1).tolist() == level[0] + level[1]
        assert whole.at(np.arange(2 * length + 1)).tolist() == level[0] + level[1]


def inside(intervals) -> set[int]:
    return {place for start, end in intervals for place in range(start, end)}
