"""Settings of a sanitization that cannot work are refused in one sentence, which names the field."""

from __future__ import annotations

import pytest

from sm_ops.core.config import built, load_pipeline, resolve
from sm_ops.core.errors import InputError
from sm_ops.masking.published import RULES
from sm_ops.plans import plan
from sm_ops.sanitizing.rules import rule_of

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["corpus.records=r.jsonl"], "without validation"),
        (["corpus.validation=v.jsonl"], "validation alone cleans nothing"),
        (["corpus.validation=v", "corpus.records=r", "corpus.folds=2"], "leave records out, or folds"),
        (["corpus.name=creddatta"], "the nearest is creddata"),
        (["filters.surprise.kind=surprize"], "the nearest is surprise"),
        (["filters.surprise.reference=ngrm"], "not among references; the nearest is ngram"),
        (["filters.regex.detector=regexp"], "the nearest is regex"),
        (["filters.regex.rule={n: 2}"], "kind detector has no rule"),
        (["filters.regex.reference=ngram"], "kind detector has no reference"),
        (["filters.surprise.rule={width: 3}"], "filters.surprise.rule"),
        (["filters.surprise.rule={windows: lines}"], "the nearest is line"),
        (["filters.surprise.workers=2"], "set those of its reference"),
        (["combinations=[[surprise, regexp]]"], "the nearest is regex"),
        (["combinations=[[regex, regex]]"], "a filter with itself"),
        (["combinations=[[surprise, regex], [surprise, regex]]"], "more than once"),
        (["use=surprize"], "the nearest is surprise"),
        (["references.big.backend=hf"], "references.big.model is empty"),
        (["references.ngram.examples=2"], "this flow has none"),
        (["filters={regex: {kind: detector, detector: regex}}", "unit=tokens", "combinations=[]"], "of a reference"),
        (["acceptable_collateral=0"], "acceptable_collateral"),
    ],
)
def test_what_cannot_work_is_refused(overrides, words):
    with pytest.raises(InputError) as refused:
        load_pipeline("sanitize_tiny", overrides)
    assert words in refused.value.hint
    assert "\n" not in refused.value.hint


def test_an_unknown_published_rule_is_refused_by_the_plan():
    config = resolve(load_pipeline("sanitize_tiny", ["filters.surprise.rule={published: piibench}"]))
    with pytest.raises(InputError, match=r"filters\.surprise\.rule\.published.*piibench"):
        plan(config)


def test_a_filter_says_what_differs_from_the_rule_of_its_corpus():
    assert {name: rule_of({}, name)["n"] for name in ("code_pii", "code_quirks", "creddata", "piibench_raw")} == {
        "code_pii": 4,
        "code_quirks": 2,
        "creddata": 4,
        "piibench_raw": 16,
    }
    own = rule_of({"n": 8}, "creddata")
    assert (own["n"], own["k"], own["propagate"]) == (8, 1, "none")
    named = rule_of({"published": "dead_code", "agg": "top"}, "creddata")
    assert (named["windows"], named["agg"]) == ("line", "top")
    assert rule_of({}, None) == rule_of({}, "creddata")


def test_a_contrast_takes_the_contrast_rule_where_the_paper_has_one():
    assert (rule_of({}, "piibench_raw", contrast=True)["n"], rule_of({}, "piibench_raw", contrast=True)["k"]) == (4, 2)
    assert rule_of({}, "creddata", contrast=True) == rule_of({}, "creddata")


@pytest.mark.parametrize("name", sorted(RULES))
def test_every_published_rule_is_one_that_a_config_may_say(name):
    rule = {"published": name, **rule_of({}, name)}
    values = {"flow": "sanitize", "filters": {"own": {"kind": "surprise", "reference": "ngram", "rule": rule}}}
    assert plan(resolve(built(values, "test")))


def test_a_fold_has_its_own_fits_levels_and_measures_and_all_are_redacted_together():
    given = ["corpus.validation=v.jsonl", "corpus.folds=2"]
    steps = {step.name: step for step in plan(resolve(load_pipeline("sanitize_tiny", given)))}
    assert list(steps) == [
        "san_corpus",
        *(
            f"{name}-{fold}" if "@" in name else f"{name}@{fold}"
            for fold in (0, 1)
            for name in ("san_fit@ngram", "san_levels@surprise", "san_levels@regex", "san_measure")
        ),
        "san_redact",
    ]
    assert steps["san_levels@surprise-1"].inputs["fitted"] == ("san_fit@ngram-1", "model")
    assert "fitted" not in steps["san_levels@regex-1"].inputs
    assert {f"measures/{fold}" for fold in (0, 1)} <= steps["san_redact"].inputs.keys()


def test_a_trained_detector_is_fitted_on_the_spot_but_not_where_it_names_a_model():
    filters = "filters.mine={kind: detector, detector: classifier, settings: {%s}}"
    names = {step.name for step in plan(resolve(load_pipeline("sanitize_tiny", [filters % ""])))}
    assert "san_tune@mine-0" in names
    names = {step.name for step in plan(resolve(load_pipeline("sanitize_tiny", [filters % "model: here"])))}
    assert "san_tune@mine-0" not in names
