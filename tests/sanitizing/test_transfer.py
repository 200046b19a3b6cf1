"""Thresholds carried to other parts of a corpus, and against an oracle of categories: by hand."""

from __future__ import annotations

import pytest
from labelled import record, side

from sm_ops.sanitizing.folding import fold, summary
from sm_ops.sanitizing.levels import Filter
from sm_ops.sanitizing.measuring import measure
from sm_ops.sanitizing.plan import Plan

pytestmark = pytest.mark.unit
SURPRISE, REGEX = Filter("surprise", "surprise"), Filter("regex", "detector", 0.5)


def corpus(*documents):
    """Documents `(extension, category, level of its key, level of its look-alike)`: ten characters each, of 100."""
    records = [record(n, "x" * 100, [(0, 10, category)], ext=ext) for n, (ext, category, *_) in enumerate(documents)]
    levels = [[(0, 10, key), (50, 60, other)] for _, _, key, other in documents]
    return side(records, surprise=levels, regex=[[] for _ in documents])


VALIDATION = corpus((".js", "Password", 5.0, 3.0), (".py", "Token", 2.0, 1.0), (".yml", "Token", 2.5, 1.0))
APPLICATION = corpus((".ts", "Password", 4.0, 3.5), (".go", "Token", 2.2, 1.0), (".md", "Password", 6.0, 2.0))


def row(regime: str):
    found = measure(VALIDATION, APPLICATION, [SURPRISE, REGEX], Plan(regimes=[regime]))["transfer"]["regimes"]
    assert list(found) == ["surprise"]  # the other filter has a threshold of its own, which nothing carries over
    return found["surprise"][0]


def test_a_threshold_for_files_goes_to_files_of_other_kinds():
    found = row("frontend")
    assert (found["regime"], found["by"], found["tau"]) == ("frontend", "ext", 5.0)
    assert found["validation"]["counts"] == {"tp": 10, "fp": 0, "fn": 0, "tn": 90}
    assert found["id"]["counts"] == {"tp": 0, "fp": 0, "fn": 10, "tn": 90}
    assert found["ood"]["counts"] == {"tp": 10, "fp": 0, "fn": 10, "tn": 180}
    assert found["native"]["tau"] == 2.0  # of the .py and .yml files of validation
    assert found["native"]["ood"]["counts"] == {"tp": 20, "fp": 10, "fn": 0, "tn": 170}
    assert found["loss"]["value"] == pytest.approx(40 / 50 - 20 / 30)


def test_a_threshold_for_categories_leaves_other_targets_out_of_the_counts():
    found = row("credential_1")  # passwords inside, tokens outside
    assert found["tau"] == 5.0
    assert found["validation"]["counts"] == {"tp": 10, "fp": 0, "fn": 0, "tn": 270}
    assert found["id"]["counts"] == {"tp": 10, "fp": 0, "fn": 10, "tn": 270}
    assert found["ood"]["counts"] == {"tp": 0, "fp": 0, "fn": 10, "tn": 270}
    assert found["native"]["tau"] == 2.0


def test_a_regime_without_targets_in_validation_says_nothing():
    own = corpus((".py", "Token", 2.0, 1.0))
    found = measure(own, APPLICATION, [SURPRISE], Plan(regimes=["frontend", "credential_1"]))["transfer"]["regimes"]
    for each in found["surprise"]:
        assert [each[key] for key in ("tau", "validation", "id", "ood", "native", "loss")] == [None] * 6


def test_without_labels_of_the_application_side_only_validation_is_told():
    found = measure(VALIDATION, None, [SURPRISE], Plan(regimes=["backend"]))["transfer"]
    assert found["regimes"]["surprise"][0]["validation"]["f1"]["value"] == 1.0
    assert found["regimes"]["surprise"][0]["ood"] is None
    assert found["oracle"]["surprise"]["pooled"]["application"] is None


def test_gold_categories_have_thresholds_of_their_own_and_are_called_an_oracle():
    found = measure(VALIDATION, APPLICATION, [SURPRISE], Plan())["transfer"]["oracle"]["surprise"]
    assert found["label"].startswith("needs an oracle")
    assert found["pooled"]["tau"] == 2.0  # 30 of 40 masked characters are targets
    assert found["by_context"]["tau"] == {"Password": 5.0, "Token": 2.0}
    assert found["by_category"]["tau"] == {"Password": 5.0, "Token": 2.0}
    assert found["by_context"]["validation"]["counts"] == {"tp": 30, "fp": 0, "fn": 0, "tn": 270}
    assert found["pooled"]["application"]["counts"] == {"tp": 30, "fp": 20, "fn": 0, "tn": 250}
    assert found["by_context"]["application"]["counts"] == {"tp": 20, "fp": 0, "fn": 10, "tn": 270}
    assert found["by_context"]["gain"]["value"] == pytest.approx(40 / 50 - 60 / 80)


def test_a_category_that_validation_lacks_takes_the_pooled_threshold():
    elsewhere = corpus((".py", "Salt", 3.0, 2.5))
    found = measure(VALIDATION, elsewhere, [SURPRISE], Plan())["transfer"]["oracle"]["surprise"]
    for policy in ("pooled", "by_category", "by_context"):
        assert found[policy]["application"]["counts"] == {"tp": 10, "fp": 10, "fn": 0, "tn": 80}


def test_a_category_in_the_crowd_gets_another_threshold_than_in_its_own_records():
    own = corpus((".py", "Token", 2.0, 1.0), (".py", "Key", 9.0, 4.0), (".py", "Key", 9.0, 4.0))
    found = measure(own, None, [SURPRISE], Plan())["transfer"]["oracle"]["surprise"]
    assert found["by_context"]["tau"]["Token"] == 2.0
    assert found["by_category"]["tau"]["Token"] == 2.0  # 10 of 30 masked: no other threshold finds it at all
    crowd = corpus((".py", "Token", 2.0, 1.0), (".py", "Token", 5.0, 1.0), *[(".py", "Key", 9.0, 4.0)] * 4)
    found = measure(crowd, None, [SURPRISE], Plan())["transfer"]["oracle"]["surprise"]
    assert found["by_context"]["tau"]["Token"] == 2.0
    assert found["by_category"]["tau"]["Token"] == 5.0


def test_one_category_needs_no_oracle():
    own = corpus((".py", "Token", 2.0, 1.0))
    assert measure(own, own, [SURPRISE], Plan())["transfer"]["oracle"]["surprise"] is None


def test_folds_together_have_means_deviations_and_the_folds_behind_them():
    plan = Plan(combinations=[("surprise", "regex")])
    folds = [
        measure(VALIDATION, APPLICATION, [SURPRISE, REGEX], plan),
        measure(VALIDATION, corpus((".go", "Token", 2.2, 1.0)), [SURPRISE, REGEX], plan),
    ]
    found = fold(folds)
    assert found["folds"] == 2
    f1 = found["filters"]["surprise"]["application"]["f1"]
    assert f1["mean"] == pytest.approx((60 / 80 + 1) / 2)
    assert f1["sd"] == pytest.approx((1 - 60 / 80) / 2**0.5)
    assert f1["folds"] == 2
    assert found["filters"]["regex"]["application"]["precision"] == {"mean": None, "sd": None, "folds": 0}
    supported = {
        row["category"]: (row["supported"], row["folds"]) for row in found["filters"]["surprise"]["categories"]
    }
    assert supported == {"Password": (1, 2), "Token": (2, 2)}
    assert found["filters"]["surprise"]["families"] is None
    assert found["combinations"][0]["union"]["application_f1"]["mean"] == pytest.approx((60 / 80 + 1) / 2)
    assert found["oracle"]["surprise"]["by_context"]["application_f1"]["mean"] == pytest.approx((40 / 50 + 1) / 2)


def test_a_mean_of_what_is_defined():
    assert summary([1.0, None, 3.0]) == {"mean": 2.0, "sd": pytest.approx(2**0.5), "folds": 2}
    assert summary([None]) == {"mean": None, "sd": None, "folds": 0}
