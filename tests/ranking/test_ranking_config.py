"""What a ranking's config may say, and what each rule asks of its reference."""

from __future__ import annotations

import pytest

from sm_ops.core.config import load_pipeline, resolve
from sm_ops.core.config.deployments import overridable
from sm_ops.core.errors import InputError
from sm_ops.plans import plan
from sm_ops.versioning.pipeline import dvc_stages

pytestmark = pytest.mark.unit

HF = ("references.lm.backend=hf", "references.lm.model=x", "scores.mean_nll.reference=lm")


def steps(*overrides: str, preset: str = "ranking_tiny") -> dict:
    return {step.name: step for step in plan(resolve(load_pipeline(preset, list(overrides))))}


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("pairs.validation=a.jsonl", "source generated reads no file"),
        ("pairs.source=pairs", "source pairs needs validation"),
        ("pairs.share=1.0", "share 1 leaves nothing"),
        ("pairs.types=[]", "types"),
        ("pairs.types=[a, a]", "more than once"),
        ("scores.mean_nll.rule=mean_nl", "nearest is mean_nll"),
        ("scores.mean_nll.reference=ngrams", "nearest is ngram"),
        ("references.ngram.backend=ngrams", "nearest is ngram"),
        ("references.ngram.model=x", "leave model empty"),
        ("references.ngram.backend=hf", "name a model"),
        ("references.ngram.examples=2", "this flow has none; set 0"),
        ("scores.mean_nll.window=3", "window"),
    ],
)
def test_what_cannot_be_is_refused_by_field(override, told):
    with pytest.raises(InputError, match=told):
        load_pipeline("ranking_tiny", [override])


def test_a_fit_belongs_to_an_ngram():
    with pytest.raises(InputError, match="belongs to an n-gram that is fitted here"):
        load_pipeline("ranking_tiny", [*HF, "references.lm.fit=x.jsonl"])


def test_rules_say_which_prompts_they_need():
    with pytest.raises(InputError, match=r"needs references\.ngram\.prompt; an n-gram takes no prompt"):
        steps("scores.mean_nll.rule=prompted_window64")
    with pytest.raises(InputError, match=r"references\.lm\.prompt and references\.lm\.violating"):
        steps(*HF, "scores.mean_nll.rule=zscore_mean")
    with pytest.raises(InputError, match=r"needs references\.lm\.violating"):
        steps(*HF, "scores.mean_nll.rule=zscore_mean", "references.lm.prompt=a")
    prompts = ("references.lm.prompt=a", "references.lm.violating=b")
    assert "rank_measure" in steps(*HF, "scores.mean_nll.rule=zscore_mean", *prompts)


def test_only_an_ngram_is_fitted_and_only_what_a_score_uses_is_scored():
    assert list(steps()) == ["rank_pairs", "rank_fit@ngram", "rank_score@ngram", "rank_measure"]
    assert list(steps(*HF)) == ["rank_pairs", "rank_score@lm", "rank_measure"]
    file = ("references.lm.backend=file", "references.lm.model=x.parquet", "scores.mean_nll.reference=lm")
    assert "reference.violating" in steps(*file)["rank_score@lm"].stage.places


@pytest.mark.parametrize("preset", ["ranking_advice", "ranking_insecure_code"])
def test_the_papers_pairs_are_split_100_to_400(preset):
    settings = steps(preset=preset)["rank_pairs"].settings["pairs"]
    assert settings["share"] * 500 == 100


def test_a_started_run_may_override_numbers_and_choices_alone():
    names = set(overridable("ranking"))
    assert {"coverage", "acceptable_collateral", "pairs.share", "pairs.controls"} <= names
    assert not {"pairs.validation", "pairs.application", "pairs.types"} & names


def test_dvc_runs_the_same_steps():
    stages = dvc_stages(list(steps().values()))
    assert list(stages) == ["rank_pairs", "rank_fit", "rank_score", "rank_measure", "report"]
    assert stages["rank_score"]["matrix"] == {"reference": ["ngram"]}
    assert stages["rank_measure"]["cmd"].startswith("sm-ops stage rank_measure ")
