"""The published masking cases, through the adapter and with the comparison that is published beside them."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import masking_adapter
import pytest

pytestmark = pytest.mark.unit

FOLDER = Path(__file__).resolve().parents[2].parent / "shared" / "cases" / "masking"


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
def test_every_kind_is_answered():
    assert {case["kind"] for case in CASES} <= set(masking_adapter.KINDS)


@published
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, id=case["id"])
        for case in CASES
        if case["kind"] in masking_adapter.KINDS
    ],
)
def test_case(case, same):
    answer = masking_adapter.run(case["kind"], case["input"])
    assert same(case["expect"], answer, case.get("tol", 1e-9)) is None, case["why"]
