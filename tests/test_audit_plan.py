"""What the audits of the paper and of the official code come to, step by step."""

from __future__ import annotations

import pytest

from sm_ops.core.config import load_pipeline, resolve
from sm_ops.plans import plan

pytestmark = pytest.mark.unit


def steps(preset: str, *overrides: str) -> dict:
    return {step.name: step.settings for step in plan(resolve(load_pipeline(preset, list(overrides))))}


def test_the_public_model_is_sampled_with_its_own_budget():
    paper, repo = steps("audit_paper"), steps("audit_repo")
    tokens = {name: own["attack"]["extraction"]["tokens"] for name, own in paper.items() if "@extraction-" in name}
    assert tokens["audit_attack@extraction-base-0"] == 13_000_000
    assert {own for name, own in tokens.items() if "-base-" not in name} == {15_000 * 256}
    assert {own["attack"]["extraction"]["tokens"] for name, own in repo.items() if "@extraction-" in name} == {12_800}


def test_private_training_has_its_own_passes_and_no_stopping_rule():
    paper = steps("audit_paper")
    plain, private = paper["audit_train@undefended-0"], paper["audit_train@dp-0"]
    assert (plain["train"]["patience"], plain["private"]) == (1, None)
    assert (private["train"]["patience"], private["train"]["epochs"]) == (None, 4)
    assert (private["private"]["target_epsilon"], private["private"]["max_grad_norm"]) == (8, 1)
    assert private["train"]["batch_size"] * private["train"]["accumulation"] == 64


def test_shadow_models_go_to_membership_alone():
    found = plan(resolve(load_pipeline("audit_paper")))
    with_shadows = {step.name for step in found if any(name.startswith("shadows/") for name in step.inputs)}
    assert with_shadows
    assert all(name.startswith("audit_attack@membership-") for name in with_shadows)


def test_generated_documents_stand_in_only_where_that_is_allowed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert steps("audit_tiny")["audit_data"]["data"]["corpus"] == "court"
    assert steps("audit_paper")["audit_data"]["data"]["corpus"] == "standoff"
    here = tmp_path / "tab.jsonl"
    here.write_text("{}\n")
    assert steps("audit_tiny", f"data.path={here}")["audit_data"]["data"]["corpus"] == "standoff"
