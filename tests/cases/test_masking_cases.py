"""The published masking cases, through the adapter and with the comparison that is published beside them."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import masking_adapter
import pytest

pytestmark = pytest.mark.unit

FOLDER = Path(__file__).resolve().parents[2].parent / "shared" / "cases" / "masking"

LATER = {
    "sm.lines", "sm.sentences", "sm.interval_windows", "sm.interval_scores",  # interval windows
    "sm.contrast", "sm.local_rank",  # further scores and selections
    "sm.threshold_by_category", "sm.category", "sm.combine", "sm.jaccard", "sm.bound", "sm.bound_check",
    "sm.byte_to_char", "sm.grad", "sm.attention", "sm.pearson", "sm.zscore", "sm.pass_at",
    "sm.display_at", "sm.completion_nll", "sm.passes", "sm.cost",
    "atk.pii", "atk.succ", "atk.occurrences", "atk.contains", "atk.lazy_exact", "atk.lazy_samples", "atk.observed",
    "atk.reconstruct", "atk.tab", "atk.accuracy", "atk.candidates", "atk.inclusion", "atk.mia", "atk.tpr_at_fpr",
    "hf.contrast", "hf.reconstruct",
}  # fmt: skip
"""Kinds that a later issue answers; one that the adapter answers must leave this set."""


def needs_more(case: dict) -> bool:
    """Cases of answered kinds that need interval windows, the local rule, contrast or the top three (later issue)."""
    rule = case["input"].get("rule")
    if isinstance(rule, dict) and not masking_adapter.fits_this_issue(rule):
        return True
    return case["input"].get("level") == "line"


def load_cases() -> list[dict]:
    if not FOLDER.exists():
        return []
    with open(FOLDER / "cases.jsonl", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


CASES = load_cases()
published = pytest.mark.skipif(not CASES, reason="the published cases (../shared) are absent")


@pytest.fixture(scope="module")
def same():
    spec = importlib.util.spec_from_file_location("check_cases", FOLDER / "check_cases.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.same


@published
def test_every_kind_is_answered_or_listed_for_later():
    kinds = {case["kind"] for case in CASES}
    assert kinds - set(masking_adapter.KINDS) == LATER & kinds
    assert not LATER & set(masking_adapter.KINDS)


@published
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case["id"])
        for case in CASES
        if case["kind"] in masking_adapter.KINDS and not needs_more(case)
    ],
)
def test_case(case, same):
    answer = masking_adapter.run(case["kind"], case["input"])
    assert same(case["expect"], answer, case.get("tol", 1e-9)) is None, case["why"]


@published
def test_cases_that_need_more_are_refused_and_not_answered_wrongly():
    later = [case for case in CASES if case["kind"] in masking_adapter.KINDS and needs_more(case)]
    for case in later:
        with pytest.raises(NotImplementedError):
            masking_adapter.run(case["kind"], case["input"])
