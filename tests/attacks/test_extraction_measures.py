"""Measures: intervals and their undefined cases, groups by class and by occurrences."""

from __future__ import annotations

import pytest

from sm_ops.attacks.measures import groups, occurrence_bucket, rate, ratio

pytestmark = pytest.mark.unit


def test_a_rate_has_wilsons_interval_or_is_undefined():
    found = rate("accuracy", 1, 4, **{"class": "LOC"}, variant="paper")
    # z = 1.959964: centre (1/4 + z^2/8) / (1 + z^2/4), reach z sqrt(3/64 + z^2/64) / (1 + z^2/4)
    assert (found["low"], found["high"]) == (pytest.approx(0.045587, abs=1e-6), pytest.approx(0.699358, abs=1e-6))
    assert {key: found[key] for key in ("measure", "class", "variant", "value", "interval", "n", "hits")} == {
        "measure": "accuracy", "class": "LOC", "variant": "paper", "value": 0.25, "interval": "wilson", "n": 4,
        "hits": 1,
    }  # fmt: skip
    none = rate("accuracy", 0, 0)
    assert (none["class"], none["value"], none["low"], none["high"]) == ("all", None, None, None)


def test_a_ratio_is_of_sums_and_undefined_without_a_whole():
    found = ratio("lazy", [1, 0, 3], [2, 0, 6])
    assert (found["value"], found["n"]) == (0.5, 3)
    assert ratio("lazy", [1, 0, 2], [1, 1, 1])["low"] < 1 < ratio("lazy", [1, 0, 2], [1, 1, 1])["high"]
    assert ratio("lazy", [], [])["value"] is ratio("lazy", [0, 0], [0, 0])["value"] is None


def test_buckets_of_occurrences():
    buckets = [occurrence_bucket(count) for count in (1, 2, 3, 4, 5, 8, 9, 1000)]
    assert buckets == ["1", "2", "3-4", "3-4", "5-8", "5-8", "9+", "9+"]


def test_groups_are_all_each_class_and_each_bucket_of_what_the_members_mention():
    rows = [{"class": name, "occurrences": count} for name, count in (("B", 1), ("A", 3), ("B", 4), ("B", 0))]
    assert [(labels, len(own)) for labels, own in groups(rows)] == [
        ({"class": "all"}, 4),
        ({"class": "A"}, 1),
        ({"class": "B"}, 3),
        ({"class": "all", "occurrences": "1"}, 1),
        ({"class": "all", "occurrences": "3-4"}, 2),
    ]
