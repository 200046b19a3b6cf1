"""What a ranking measures, by hand: AUROC, thresholds from validation, verdicts, what length does alone."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sm_ops.core.records import Record
from sm_ops.core.tokens import Scored, Tokens
from sm_ops.ranking.measuring import Side, measure, verdict

pytestmark = pytest.mark.unit

SCORES = {"s": SimpleNamespace(rule="mean_nll", reference="r")}


def side(*pairs: tuple[float, float], sizes: tuple[int, int] = (3, 3), **meta: Any) -> Side:
    """Pairs as (safe, risky) mean negative log likelihoods, a group each."""
    records, scored = [], []
    for number, pair in enumerate(pairs):
        for kind, value, size in zip((False, True), pair, sizes, strict=True):
            record = Record(f"{number}-{kind}", text="x" * size, group=f"g{number}", meta={"risky": kind, **meta})
            places = np.arange(size)
            tokens = Tokens(places, places, places + 1, np.zeros(size, bool), np.ones(size, bool))
            records.append(record)
            scored.append(Scored(record.id, record.group, tokens, np.full(size, -value)))
    return Side(records, {"r": scored})


def test_the_auroc_is_of_all_pairs_and_thresholds_come_from_validation():
    validation = side((1, 4), (2, 3), (2.5, 2))
    application = side((1, 3), (5, 2))
    found = measure(validation, application, SCORES, acceptable=0.0, coverage=0.5)["scores"]["s"]
    assert found["validation"]["auroc"]["value"] == pytest.approx(7.5 / 9)
    assert found["application"]["auroc"]["value"] == pytest.approx(2 / 4)
    assert found["gap"] == pytest.approx(7.5 / 9 - 0.5)
    # F1 on validation: at 3 it is 4/5, at 2.5 2*2/6, at 2 6/8: so 3
    assert found["tau"] == 3
    assert found["validation"]["counts"] == {"tp": 2, "fp": 0, "fn": 1, "tn": 3}
    assert found["application"]["counts"] == {"tp": 1, "fp": 1, "fn": 1, "tn": 1}
    assert found["validation"]["attainable"]["tau"] == 3
    assert found["validation"]["attainable"]["coverage"]["value"] == pytest.approx(2 / 3)
    assert found["application"]["attainable"]["collateral"]["value"] == 0.5


def test_standardised_scores_keep_the_validation_parameters():
    """Two features a side: prompt change 0, 2 and 1, 5; line feature 1, 3 and 4, 2."""
    rule = {"s": SimpleNamespace(rule="zscore_mean", reference="r")}

    def contrast(side: Side, *changes: float) -> Side:
        pairs = zip(side.scored["r"], changes, strict=True)
        return Side(side.records, {"r": [replace(own, violating=own.logprobs + by) for own, by in pairs]})

    validation = contrast(side((1, 3)), 0, 2)
    found = measure(validation, contrast(side((4, 2)), 1, 5), rule, acceptable=0.5, coverage=0.5)["scores"]["s"]
    assert found["standardisation"]["prompt_change"] == {"mean": 1, "deviation": 1}
    assert found["standardisation"]["line_nll"] == {"mean": 2, "deviation": 1}
    # (0, 2) and (4, 0) deviations from validation: scores 1 and 2; by its own both would be 0
    assert found["application"]["auroc"]["value"] == 1
    assert found["tau"] == 1
    assert found["application"]["counts"] == {"tp": 1, "fp": 1, "fn": 0, "tn": 0}


def test_what_is_affordable_grows_with_the_price():
    validation = side((1, 4), (3.5, 3), (2, 2.5), (1.5, 1))
    found = measure(validation, validation, SCORES, acceptable=0.25, coverage=0.5)["scores"]["s"]["validation"]
    assert found["attainable"]["tau"] == 2.5
    assert found["attainable"]["coverage"]["value"] == 0.75
    assert found["attainable"]["collateral"]["value"] == 0.25


def test_the_direction_is_not_turned():
    turned = side((4, 1), (3, 2), (5, 1), (6, 2))
    found = measure(turned, turned, SCORES, acceptable=0.1, coverage=0.5)
    assert found["direction"] == "a higher score means risky"
    assert found["scores"]["s"]["application"]["auroc"]["value"] == 0
    assert found["scores"]["s"]["verdict"]["decision"] == "inverted"
    assert "not turned" in found["scores"]["s"]["verdict"]["reason"]


def test_an_output_without_a_score_ranks_last_and_is_counted():
    validation = side((float("nan"), 1), (2, 3))
    found = measure(validation, validation, SCORES, acceptable=0.5, coverage=0.5)["scores"]["s"]["validation"]
    assert found["undefined"] == 1
    assert found["auroc"]["value"] == 3 / 4


def test_length_alone_is_measured_in_the_same_direction():
    longer, same = side((1, 2), (1, 2), sizes=(3, 9)), side((1, 2), (1, 2))
    found = measure(longer, same, SCORES, acceptable=0.1, coverage=0.5)["baselines"]
    assert found["length"]["validation"]["value"] == 1
    assert found["length"]["application"]["value"] == 0.5
    assert "year" not in found
    dated = side((1, 2), (1, 2), year=2020)
    assert measure(dated, dated, SCORES, 0.1, 0.5)["baselines"]["year"]["validation"]["value"] == 0.5


def judged(value: float | None, low: float | None, high: float | None, coverage: float = 0.9) -> str:
    area, found = {"value": value, "low": low, "high": high}, {"value": coverage, "low": None, "high": None}
    return verdict({"auroc": area, "attainable": {"coverage": found}}, acceptable=0.1, coverage=0.8)["decision"]


def test_verdicts_go_by_the_interval_and_by_what_is_attainable():
    assert judged(None, None, None) == "undefined"
    assert judged(0.3, 0.2, 0.4) == "inverted"
    assert judged(0.45, 0.4, 0.5) == "chance"
    assert judged(0.6, 0.45, 0.75) == "chance"
    assert judged(0.5, None, None) == "chance"
    assert judged(0.7, 0.6, 0.8, coverage=0.79) == "costly"
    assert judged(0.7, 0.6, 0.8, coverage=0.8) == "suitable"
    assert judged(1.0, None, None) == "suitable"
