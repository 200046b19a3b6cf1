"""The published cases of the rules for personal data, with the runner that is published beside them."""

from __future__ import annotations

import importlib.util
import json

import pytest

import sm_ops.pii

pytestmark = pytest.mark.unit


def test_all_published_cases_pass(shared):
    spec = importlib.util.spec_from_file_location("run_cases", shared / "cases" / "pii" / "run_cases.py")
    runner = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(runner)
    with open(shared / "cases" / "pii" / "cases.jsonl", encoding="utf-8", newline="\n") as lines:
        cases = [json.loads(line) for line in lines]
    assert len(cases) >= 160
    assert [case["id"] for case in cases if not runner.run(sm_ops.pii, case)[0]] == []
