"""The page of rewriting says what was not sent, what was not measured, and where routing costs more."""

from __future__ import annotations

import json

import pytest
from report.fake_runs import FakeRun

from sm_ops.core.config import load_pipeline, resolve
from sm_ops.report.rewriting.html import write_report
from sm_ops.report.rewriting.results import load_results, print_table
from sm_ops.tracking.sent_rewriting import SENT

SECURITY = {"value": 0.5, "low": 0.4, "high": 0.6, "k": 5, "n": 10}


def applied(calls: int, tokens: int | None) -> dict:
    usage = {"calls": calls, "input_tokens": tokens, "cached_tokens": tokens and 0, "output_tokens": tokens and 0}
    return {
        "usage": usage, "bleu": {"value": 0.8, "low": 0.7, "high": 0.9}, "changed": 1, "unreadable": 0, "misquoted": 0,
    }  # fmt: skip


def judged(value: float, low: float, high: float) -> dict:
    security = {**SECURITY, "value": value, "low": low, "high": high}
    return {
        "security": security, "utility": security, "documents": 10, "unjudged": 2, "attributes": None, "excluded": {},
        "usage": applied(10, 1)["usage"],
    }  # fmt: skip


@pytest.fixture
def make(tmp_path):
    def made(sends: bool):
        run = FakeRun(tmp_path / f"home-{sends}")
        sides = {"validation": 100, "records": 1000}
        run.add("rewrite_data", {"data.json": {
            "benchmark": "redac", "setting": "redac_bench", "generated": {"validation": True, "records": False},
            "documents": sides, "groups": sides, "tokens": sides, "characters": {"validation": 0, "records": 10},
            "excluded": {"ambiguous": 3}, "population": False,
            "prices": {"machine_usd_per_hour": 3.6, "rewriter": {"input": 5.0, "cached": 0.5, "output": 30.0}},
        }})  # fmt: skip
        side = {"separation": {"auroc": {"value": 0.7, "low": 0.6, "high": 0.8}, "roc": {"fpr": [0, 1], "tpr": [0, 1]}}}
        run.add("rewrite_score@surprise", {"scores.json": {"validation": side, "records": {"separation": None}}})
        for name in ("random", "surprise"):
            selection = {"tau": 0.5, "retrospective": False, "units": 100, "chosen": 20,
                         "share": {"validation": 0.2, "application": 0.4}}  # fmt: skip
            run.add(f"rewrite_select@{name}", {"selection.json": selection})
        run.add("rewrite_apply@plain", {"application.json": applied(0, 0)})
        if sends:
            for name, calls, tokens in (("random", 20, 8000), ("surprise", 20, 8000), ("whole", 10, 4000)):
                run.add(f"rewrite_apply@{name}", {"application.json": applied(calls, tokens)})
            for name, value in (("plain", 0.05), ("random", 0.2), ("surprise", 0.5), ("whole", 0.9)):
                run.add(f"rewrite_judge@{name}", {"outcomes.json": judged(value, value - 0.04, value + 0.04)})
        named = {"url": "http://127.0.0.1:1/v1", "model": "m"} if sends else {}
        overrides = [
            f"endpoints={json.dumps({'rewriter': named, 'judge': named})}",
            "data.benchmark=redac",
            "conditions={plain: {kind: unmodified}, random: {kind: route, selector: random, budget: 0.2}, "
            "surprise: {kind: route, selector: surprise, budget: 0.2}, whole: {kind: rewrite, style: zero_shot}}",
        ]
        return run.finish(resolve(load_pipeline("rewriting_tiny", overrides))), run.home

    return made


def test_what_was_sent_is_measured_and_costs_are_compared(make, capsys):
    run, home = make(True)
    page = write_report(run, home).read_text()
    assert "<script" not in page
    assert '<svg role="img"' in page
    results = load_results(run, home)
    rows = {row["condition"]: row for row in results["rows"]}
    assert list(rows) == ["plain", "random", "surprise", "whole"]
    # 8,000 tokens at 5 USD a million for 1,000 source tokens: 40 USD a million; 1.5 s at 3.6 USD an hour: 1.5 more
    assert (rows["random"]["usd"], rows["surprise"]["usd"]) == (pytest.approx(40), pytest.approx(41.5))
    (first, _) = results["crossings"]
    assert (first["route"], first["share"], first["dearer"]) == ("random", pytest.approx(0.1), True)
    held = {claim["sentence"]: claim["passed"] for claim in results["claims"]}
    assert held == {
        "surprise protects more than random, which chooses by chance.": True,
        "random costs less than rewriting everything (whole).": False,
        "surprise costs less than rewriting everything (whole).": False,
    }
    told = " ".join(results["sentences"])
    assert "Of unmodified texts the judge counts 5.0 % [1.0, 9.0] of sensitive propositions as removed" in told
    assert "3 ambiguous" in told
    assert "chooses 40.0 % here" in told
    assert "2 answers could not be read" in told
    print_table(results)
    assert "not sent" not in capsys.readouterr().out
    assert [child.measures["security"] for child in SENT.children(results)] == [0.05, 0.2, 0.5, 0.9]
    (separation,) = results["separations"]
    assert (separation["setting"], separation["score"], separation["application"]) == ("redac_bench", "surprise", None)


def test_without_endpoints_the_page_says_that_nothing_was_sent(make, capsys):
    run, home = make(False)
    page = write_report(run, home).read_text()
    assert "nothing was sent to one: 1,040 calls would be made" in page
    assert "No endpoint is named for the judge, so security is not measured" in page
    results = load_results(run, home)
    assert [row["security"] for row in results["rows"]] == [None] * 4
    assert results["crossings"] == []
    print_table(results)
    assert "(20 not sent)" in capsys.readouterr().out
    assert [child.name for child in SENT.children(results)] == ["plain"]
