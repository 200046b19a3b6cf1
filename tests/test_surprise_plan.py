"""What each step of the main job reads of the config, and what the plan refuses before anything is made."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from sm_ops.core.config import built, resolve
from sm_ops.core.errors import InputError
from sm_ops.core.fingerprint import fingerprint, payload
from sm_ops.evaluation.sandbox import available
from sm_ops.plans import check, plan
from sm_ops.training import shapes

pytestmark = pytest.mark.unit
MIXTURE = {"general_tokens": 2000, "domain_tokens": 500}
ANSWERS = {"samples": 2, "k": 1, "execute": False, "max_tokens": 100}


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
        plan(config(data=data, completions=ANSWERS | {"execute": True}))
    told = f"The data set {data['dataset']!r} has no tasks whose tests could be run; set {instead}."
    assert caught.value.hint == told


@pytest.mark.parametrize("dataset", ["own_quirk", "code_quirks"])
def test_quirks_are_looked_for_in_answers_that_are_not_run(dataset) -> None:
    data = {"dataset": dataset}
    if dataset == "own_quirk":
        data |= {"own": OWN | {"quirk": "python_semicolons"}}
    steps = plan(config(data=data, completions=ANSWERS))
    assert steps[-1].name == "assess@goldfish3-0"


def test_tasks_are_run() -> None:
    steps = plan(config(data={"dataset": "executable_code_pii"}, completions=ANSWERS | {"execute": True}))
    assert steps[-1].name == "assess@goldfish3-0"


def test_answers_that_nothing_looks_at_are_refused_before_anything_is_made() -> None:
    with pytest.raises(
        InputError, match=r"nothing would be measured on them; set completions\.samples to 0"
    ) as refused:
        plan(config(completions=ANSWERS))
    assert refused.value.code == "nothing-looked-at"


@pytest.mark.parametrize(
    ("sections", "told"),
    [
        ({"mixture": {"general": "/nowhere/general.txt", "general_tokens": 9, "domain_tokens": 9},
          "masking": {"reference": "ngram"}, "references": {"ngram": {"backend": "ngram"}}},
         "mixture.general is '/nowhere/general.txt', which is not there; correct the path"),
        ({"base": {"tokenizer": "/nowhere/tokenizer"}}, "base.tokenizer is '/nowhere/tokenizer', which is not there"),
        ({"base": {"name": "./nowhere"}}, "base.name is './nowhere', which is not there"),
        ({"base": {"name": "nowhere/"}}, "base.name is 'nowhere/', which is not there"),
        ({"references": {"mine": {"backend": "file", "model": "data/scores.parquet"}},
          "masking": {"reference": "mine"}},
         "references.mine.model is 'data/scores.parquet', which is not there"),
        ({"data": {"hosts": "nowhere"}}, "data.hosts is 'nowhere', which is not there"),
        ({"references": {"mine": {"model": "/nowhere/model"}}, "masking": {"reference": "mine"}},
         "references.mine.model is '/nowhere/model', which is not there"),
        ({"masking": {"detectors": {"known": {"detector": "gold", "settings": {"records": "/nowhere/known.jsonl"}}}}},
         "masking.detectors.known.settings.records is '/nowhere/known.jsonl', which is not there"),
    ],
)  # fmt: skip
def test_a_place_that_is_not_there_is_told_before_anything_is_made(sections, told) -> None:
    with pytest.raises(InputError) as refused:
        check(config(**sections))
    assert told in refused.value.hint


@pytest.mark.parametrize("name", ["nobody/model", "gpt2", "nobody/Model-0.5B", "nobody/model-v0.1", "nobody/tiny.en"])
def test_a_name_of_a_hub_is_no_place(name) -> None:
    check(config(base={"name": name}))


def condition(detector: str, **settings: Any) -> dict[str, Any]:
    return {"masking": {"detectors": {"mine": {"detector": detector, "settings": settings}}}}


@pytest.mark.parametrize(
    ("sections", "told"),
    [
        (condition("regex", treshold=1),
         ".treshold: The detector 'regex' has no setting 'treshold'; the nearest is threshold."),
        (condition("union", of=["regex"], settings={"regex": {"treshold": 1}}),
         ".settings.regex.treshold: The detector 'regex' has no setting 'treshold'; the nearest is threshold."),
        (condition("union", of=5), ": The detector 'union' needs the names of others in `of`, such as [spacy, regex]."),
        (condition("shapes", threshold="high"), ": threshold is 'high'; give a number from 0 to 1."),
        (condition("privacy_filter", device="gpu"), ": device is 'gpu', but must be one of auto, cpu, cuda."),
        (condition("gold", records=5), ": records must be the path of a file of labelled records."),
    ],
)  # fmt: skip
def test_settings_that_a_detector_does_not_have_or_take_are_refused_by_the_plan(sections, told) -> None:
    with pytest.raises(InputError) as refused:
        plan(config(**sections))
    assert refused.value.hint == f"masking.detectors.mine.settings{told}"


def general(path: str, **more: Any) -> dict[str, Any]:
    ngram = {"masking": {"reference": "ngram"}, "references": {"ngram": {"backend": "ngram"}}}
    return {"mixture": {"general": path, "domain_tokens": 9, "general_tokens": 20}, **ngram, **more}


@pytest.mark.parametrize(
    ("sections", "told"),
    [
        (condition("gold"), "masking.detectors.mine.settings: The detector 'gold' needs `records`"),
        (condition("gold", records="clean.jsonl"), "masking.detectors.mine.settings: The records of the detector"),
        (condition("union", of=["regex", "classifier"]),
         "masking.detectors.mine.settings.settings.classifier: The detector 'classifier' needs the folder"),
        (general("short.txt"), "mixture.general_tokens is 20, but short.txt (mixture.general) has text for 10 at"),
        (general("binary.txt"), "binary.txt is not UTF-8"),
        (general("rows.jsonl"), "rows.jsonl, line 1, field text: a string is needed"),
        ({"base": {"name": "gpt2"}, "data": {"dataset": "code_quirks"},
          "completions": ANSWERS | {"max_tokens": 1024}, "references": {"ngram": {"backend": "ngram"}},
          "masking": {"reference": "ngram"}},
         "completions.max_tokens is 1,024, but gpt2 has 1,024 positions, which a prompt shares"),
    ],
)  # fmt: skip
def test_what_a_step_would_be_refused_for_is_told_before_the_first(sections, told, tmp_path, monkeypatch) -> None:
    (tmp_path / "clean.jsonl").write_text('{"id": "1", "text": "nothing"}\n')
    (tmp_path / "short.txt").write_text("some text")
    (tmp_path / "binary.txt").write_bytes(b"\xff" * 30)
    (tmp_path / "rows.jsonl").write_text('{"id": "1"}\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(available, "_found", lambda: ("namespace", ""))
    of_gpt2 = SimpleNamespace(get_text_config=lambda: SimpleNamespace(max_position_embeddings=1024))
    monkeypatch.setattr(shapes, "named_shape", lambda name, revision: of_gpt2)
    with pytest.raises(InputError) as refused:
        check(config(**sections))
    assert refused.value.hint.startswith(told)


def test_what_can_be_read_and_found_is_not_refused(tmp_path, monkeypatch) -> None:
    (tmp_path / "known.jsonl").write_text(
        '{"id": "1", "text": "ab", "spans": [{"start": 0, "end": 1, "label": "x"}]}\n'
    )
    (tmp_path / "long.txt").write_text("some text that is long enough")
    monkeypatch.chdir(tmp_path)
    gold = condition("gold", records="known.jsonl")["masking"]
    check(config(**general("long.txt")))
    check(config(masking=gold))


@pytest.mark.parametrize(
    "sections",
    [
        {"data": {"dataset": "executable_code_pii"}},
        {"data": {"dataset": "executable_code_pii"}, "completions": ANSWERS | {"execute": True}},
        {"data": {"dataset": "code_quirks"}},
    ],
)
def test_programs_that_nothing_would_keep_in_are_refused_before_the_first_step(sections, monkeypatch) -> None:
    monkeypatch.setattr(available, "_found", lambda: ("refused", "bubblewrap: not installed"))
    check(config())
    with pytest.raises(InputError, match="No generated program is run, since nothing keeps it in") as refused:
        check(config(**sections))
    assert refused.value.code == "no-sandbox"


@pytest.mark.parametrize(
    ("sections", "where"),
    [
        ({}, "256 positions (base.context)"),
        ({"train": {"method": "scratch", "context": 128}}, "128 positions (train.context)"),
        ({"base": {"positions": 300}}, "300 positions (base.positions)"),
    ],
)
def test_answers_leave_a_prompt_its_place(sections, where) -> None:
    with pytest.raises(InputError) as refused:
        config(data={"dataset": "code_quirks"}, completions=ANSWERS | {"max_tokens": 300}, **sections)
    assert f"completions.max_tokens 300 leaves a prompt none of the model's {where}; lower it" in refused.value.hint
