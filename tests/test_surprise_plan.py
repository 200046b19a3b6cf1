"""What each step of the main job reads of the config, and what the plan refuses before anything is made."""

from __future__ import annotations

from typing import Any

import pytest

from sm_ops.core.config import built, resolve
from sm_ops.core.errors import InputError
from sm_ops.core.fingerprint import fingerprint, payload
from sm_ops.plans import check_places, plan

pytestmark = pytest.mark.unit
MIXTURE = {"general_tokens": 2000, "domain_tokens": 500}
ANSWERS = {"samples": 2, "k": 1, "execute": False}


def config(**sections: Any) -> dict[str, Any]:
    return resolve(built({"name": "mine", "seeds": [0], **sections}, "mine.yaml"))


def moved(before: dict[str, Any], after: dict[str, Any]) -> set[str]:
    """The stages of steps that another config makes anew, were all that they read the same."""
    prints = []
    for sections in (before, after):
        steps = plan(config(**sections))
        prints.append(
            {each.name: fingerprint(payload(each, {n: "/".join(i) for n, i in each.inputs.items()})) for each in steps}
        )
    first, second = prints
    return {name.partition("@")[0] for name in first | second if first.get(name) != second.get(name)}


@pytest.mark.parametrize(
    ("other", "stages"),
    [
        ({"k": 2}, {"assess"}),
        ({"seconds": 5}, {"assess"}),
        ({"temperature": 0.5}, {"complete"}),
        ({"batch_size": 2}, {"complete"}),
        ({"threads": 2}, {"complete"}),
        ({"prompts": 3}, {"complete"}),
    ],
)
def test_an_answer_and_its_judgement_read_each_their_own(other, stages) -> None:
    quirks = {"data": {"dataset": "code_quirks"}, "completions": ANSWERS}
    assert moved(quirks, quirks | {"completions": ANSWERS | other}) == stages


@pytest.mark.parametrize(
    ("sections", "stages"),
    [
        ({"base": {"learning_rate": 0.01}}, {"base", "fit", "train"}),
        ({"mixture": MIXTURE | {"domain_tokens": 600}}, {"base", "train"}),
        ({"mixture": MIXTURE | {"general_tokens": 2100}}, {"general"}),
    ],
)
def test_general_text_is_read_once_for_all_trainings(sections, stages) -> None:
    given = {"mixture": MIXTURE, "masking": {"reference": "ngram"}, "references": {"ngram": {"backend": "ngram"}}}
    assert moved(given, given | sections) == stages


def test_a_mask_and_a_threshold_read_no_file_of_a_detector(tmp_path) -> None:
    given = []
    for name in ("one", "two"):
        (place := tmp_path / f"{name}.jsonl").write_text("same")
        union = {"of": ["gold", "regex"], "settings": {"gold": {"records": str(place)}, "regex": {"threshold": 0.5}}}
        given.append({"masking": {"detectors": {"mine": {"detector": "union", "settings": union}}}})
    assert moved(*given) == set()
    (mask,) = (each for each in plan(config(**given[0])) if each.name == "mask")
    told = {"of": ["gold", "regex"], "settings": {"gold": {}, "regex": {"threshold": 0.5}}}
    assert mask.settings["masking"]["detectors"] == {"mine": {"detector": "union", "settings": told, "target": None}}
    assert str(tmp_path) not in str(mask.settings)


def test_another_condition_moves_no_threshold() -> None:
    regex = {"detectors": {"mine": {"detector": "regex"}}}
    assert moved({}, {"masking": regex}) == {"detect", "mask", "train", "attack", "evaluate"}
    assert "calibrate" not in moved({}, {"masking": {"baselines": {"goldfish": [4]}}})


OWN = dict.fromkeys(("train", "calibration", "utility"), "records.jsonl")


@pytest.mark.parametrize(
    ("data", "instead"),
    [
        ({"dataset": "own", "own": OWN}, "completions.samples to 0"),
        ({"dataset": "code_pii"}, "completions.samples to 0"),
        ({"dataset": "own_quirk", "own": OWN | {"quirk": "python_semicolons"}}, "completions.execute to false"),
    ],
)
def test_answers_without_tasks_to_run_are_refused_before_anything_is_made(data, instead) -> None:
    with pytest.raises(InputError) as caught:
        plan(config(data=data, completions={"samples": 5}))
    told = f"The data set {data['dataset']!r} has no tasks whose tests could be run; set {instead}."
    assert caught.value.hint == told


@pytest.mark.parametrize("dataset", ["own_quirk", "code_quirks"])
def test_quirks_are_looked_for_in_answers_that_are_not_run(dataset) -> None:
    data = {"dataset": dataset}
    if dataset == "own_quirk":
        data |= {"own": OWN | {"quirk": "python_semicolons"}}
    steps = plan(config(data=data, completions={"samples": 5, "execute": False}))
    assert steps[-1].name == "assess@goldfish3-0"


def test_tasks_are_run() -> None:
    steps = plan(config(data={"dataset": "executable_code_pii"}, completions={"samples": 5}))
    assert steps[-1].name == "assess@goldfish3-0"


def test_answers_that_nothing_looks_at_are_refused_before_anything_is_made() -> None:
    with pytest.raises(
        InputError, match=r"nothing would be measured on them; set completions\.samples to 0"
    ) as refused:
        plan(config(completions={"samples": 5, "execute": False}))
    assert refused.value.code == "nothing-looked-at"


@pytest.mark.parametrize(
    ("sections", "told"),
    [
        ({"mixture": {"general": "/nowhere/general.txt", "general_tokens": 9, "domain_tokens": 9},
          "masking": {"reference": "ngram"}, "references": {"ngram": {"backend": "ngram"}}},
         "mixture.general is '/nowhere/general.txt', which is not there; correct the path"),
        ({"base": {"tokenizer": "/nowhere/tokenizer"}}, "base.tokenizer is '/nowhere/tokenizer', which is not there"),
        ({"base": {"name": "./nowhere"}}, "base.name is './nowhere', which is not there"),
        ({"data": {"hosts": "nowhere"}}, "data.hosts is 'nowhere', which is not there"),
        ({"masking": {"detectors": {"known": {"detector": "gold", "settings": {"records": "/nowhere/known.jsonl"}}}}},
         "detection.settings.records is '/nowhere/known.jsonl', which is not there"),
    ],
)  # fmt: skip
def test_a_place_that_is_not_there_is_told_before_anything_is_made(sections, told) -> None:
    with pytest.raises(InputError) as refused:
        check_places(config(**sections))
    assert told in refused.value.hint


def test_a_name_of_a_hub_is_no_place() -> None:
    check_places(config(base={"name": "nobody/model"}))
