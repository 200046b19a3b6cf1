"""`sm-ops validate` of an audit: every model and corpus of the paper, by a trial of all that would run."""

from __future__ import annotations

import json

import pytest
from calling import call_cli


@pytest.fixture
def called(monkeypatch, capsys):
    return lambda *arguments: call_cli(monkeypatch, capsys, *arguments)


MODELS = {"gpt2": 124_439_808, "gpt2-medium": 354_823_168, "gpt2-large": 774_030_080}
CORPORA = {"standoff": "data/echr", "enron": "data/enron", "yelp": "data/yelp"}


@pytest.mark.slow
@pytest.mark.parametrize("corpus", CORPORA)
@pytest.mark.parametrize("model", MODELS)
def test_the_papers_audit(model, corpus, called):
    settings = [f"base.name={model}", f"data.corpus={corpus}", f"data.path={CORPORA[corpus]}"]
    words = [word for each in settings for word in ("--set", each)]
    done = called("validate", "audit_paper", "--json", *words)
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["model"]["parameters"] == MODELS[model]
    assert facts["schedule"]["batch"] == 64
    assert facts["schedule"]["patience"] == 1
    private = facts["schedule"]["private"]
    assert (private["target_epsilon"], private["max_grad_norm"], private["epochs"]) == (8, 1, 4)
    assert facts["trial"]["private"]


@pytest.mark.slow
def test_the_twin_with_the_official_codes_settings(called):
    done = called("validate", "audit_repo", "--json")
    assert done.returncode == 0, done.stderr
    schedule = json.loads(done.stdout)["schedule"]
    assert (schedule["batch"], schedule["epochs"], schedule["patience"]) == (32, 4, None)


@pytest.mark.unit
@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("attacks.inference.sizes=[1]", "inference.sizes"),
        ("attacks.inferrence={}", "inference"),
        ("attacks.extraction.tokkens=5", "tokens"),
        ("shadows.count=3", "pairs"),
        ("data.corpus=enrom", "enron"),
        ("tagger=spacy+regexx", "regex"),
        ("defences.masked.private=true", "private defence"),
        ("data.shares=[0.9,0.9,0.1]", "shares"),
        ("data.public_documents=0", "public_documents is 0"),
        ("attacks.extraction.length=256", "extraction.length is 256 tokens, but the model has 256 positions"),
    ],
)
def test_what_cannot_be_is_told(setting, said, called):
    done = called("validate", "audit_tiny", "--set", setting)
    assert done.returncode == 2
    assert said in done.stderr
