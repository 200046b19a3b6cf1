"""What a reader is told beside the numbers."""

from __future__ import annotations

from typing import Any

import pytest

from sm_ops.report.ranking.words import CONTROLS, cautions, claims

pytestmark = pytest.mark.unit


def value(of: float | None, low: float | None = None, high: float | None = None) -> dict[str, Any]:
    return {"value": of, "low": low, "high": high}


def results(area: float, length: float, **changes: Any) -> dict[str, Any]:
    side = {"auroc": value(area, area - 0.1, area + 0.1), "coverage": value(0.85), "collateral": value(0.1)}
    row = {"score": "s", "gap": 0.0, "validation": {"undefined": 0}, "application": {**side, "undefined": 0}}
    pairs = {"controls": "released", "shared_outputs": 0}
    baselines = {"length": {"application": value(length)}}
    whole = {"pairs": pairs, "rows": [row], "baselines": baselines, "coverage": 0.8, "acceptable_collateral": 0.1}
    return whole | changes


def test_generated_controls_bring_their_caveat():
    generated = results(0.9, 0.5, pairs={"controls": "generated", "shared_outputs": 0})
    assert list(cautions(generated)) == [CONTROLS]
    assert list(cautions(results(0.9, 0.5))) == []


def test_length_is_told_where_it_separates_as_well_in_either_direction():
    assert list(cautions(results(0.8, 0.75))) == []
    assert "length alone separates" in next(cautions(results(0.8, 0.85)))
    assert "length alone separates" in next(cautions(results(0.8, 0.15)))
    assert list(cautions(results(0.5, 0.52))) == []


def test_gaps_undefined_scores_and_shared_outputs_are_told():
    told = results(0.8, 0.5, pairs={"controls": "released", "shared_outputs": 2})
    told["rows"][0] |= {"gap": 0.04, "validation": {"undefined": 3}}
    found = list(cautions(told))
    assert ["0.040" in found[0], "3 outputs" in found[1], "2 outputs" in found[2]] == [True] * 3


def test_a_ranking_whose_interval_holds_one_half_is_not_established():
    assert [claim["passed"] for claim in claims(results(0.8, 0.5))] == [True, True, True]
    assert claims(results(0.55, 0.5))[0]["passed"] is None
    assert claims(results(0.3, 0.6))[0]["passed"] is False
    assert claims(results(0.3, 0.6))[2]["passed"] is False
    costly = results(0.8, 0.5, coverage=0.9)
    assert claims(costly)[1]["passed"] is False
