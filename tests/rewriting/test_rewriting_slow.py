"""The preset as users run it, sent to a stand-in; and prompts that hold each text's own policy."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from chat_stand_in import answering, inside
from driving import run_cli

from sm_ops.core import fs
from sm_ops.core.home import find_run
from sm_ops.core.records import Record
from sm_ops.core.settings import Settings
from sm_ops.rewriting.scores import scorer
from sm_ops.scoring.backends import hf

pytestmark = pytest.mark.slow

PLAIN = {
    "name": r"My full name is ([^.]*)\.", "email": r"write to me at (\S+)", "phone number": r"number is (\(\d.*?)\.",
    "SSN": r"security number is ([\d-]*)",
}  # fmt: skip
"""How level 1 says direct identifiers: what a simple attacker reads, and a simple rewriter removes."""


def stand_in(body: dict, number: int) -> str:
    if (transcript := inside("transcript", body)) is not None:
        found = {name: re.search(pattern, transcript) for name, pattern in PLAIN.items()}
        return json.dumps({name: match[1] for name, match in found.items() if match})
    if (sentence := inside("sentence", body)) is not None:
        return removed(sentence)
    text = inside("text", body) or ""
    if "JSON list" in body["messages"][-1]["content"]:
        spans = [match[1] for pattern in PLAIN.values() for match in re.finditer(pattern, text)]
        return json.dumps([{"span": span, "replacement": "someone"} for span in spans])
    return removed(text)


def removed(text: str) -> str:
    for pattern in PLAIN.values():
        text = re.sub(pattern, "Nothing to say.", text)
    return text


def test_the_preset_runs_against_a_stand_in_and_is_tracked(tmp_path):
    home = tmp_path / "home"
    with answering(stand_in) as (url, requests):
        named = [f"endpoints.{role}.{name}" for role in ("rewriter", "attacker") for name in ("url", "model")]
        values = [url, "stand-in", url, "stand-in"]
        sets = [word for pair in zip(named, values, strict=True) for word in ("--set", "=".join(pair))]
        done = run_cli("run", "rewriting_tiny", *sets, "--set", "data.levels=[1]", home=home)
        asked = len(requests)
        again = run_cli("run", "rewriting_tiny", *sets, "--set", "data.levels=[1]", home=home)
    assert done.returncode == again.returncode == 0, done.stderr
    assert "was not tracked" not in done.stderr
    assert len(requests) == asked
    rows = {row["condition"]: row for row in fs.read_json(find_run(home).folder / "results.json")["rows"]}
    assert rows["unmodified"]["security"]["value"] == 0
    assert all(rows[style]["security"]["value"] == 1 for style in ("exact_span", "audit", "zero_shot"))
    assert rows["exact_span"]["bleu"]["value"] < rows["regex_native"]["bleu"]["value"] < 1
    steps = find_run(home).steps
    judged = {steps[f"rewrite_judge@{name}"]["fingerprint"]: row["evaluation"]["calls"] for name, row in rows.items()}
    assert len(judged) < len(rows)  # equal texts are judged once
    assert asked == sum(row["calls"] for row in rows.values()) + sum(judged.values())


def test_a_prompt_with_a_policy_is_another_for_each_policy(shared: Path):
    settings = {
        "model": str(shared / "cases" / "masking" / "models" / "bpe"), "revision": None, "dtype": "float32",
        "device": "cpu", "threads": 1, "token_budget": None, "prefix_token": None, "examples": [],
        "prompt": "keep to {policy} ", "violating": None,
    }  # fmt: skip
    policies = ("no names", "no places", "no names")
    records = [Record(f"r{n}", f"text number {n}", meta={"policy": each}) for n, each in enumerate(policies)]
    found = scorer(Settings(settings), hf.load)(records)
    for record, scored in zip(records, found, strict=True):
        own = Settings({**settings, "prompt": f"keep to {record.meta['policy']} "})
        (expected,) = hf.load(own).score([record])
        np.testing.assert_allclose(scored.logprobs, expected.logprobs, atol=4e-6)
    assert not np.allclose(found[0].logprobs[:3], hf.load(Settings({**settings, "prompt": None})).score(records[:1])[0]
                           .logprobs[:3])  # fmt: skip
