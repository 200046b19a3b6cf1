"""A bad config is told by field, what was given, what is allowed, and the nearest name."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from sm_ops.core.config import Pipeline, load_pipeline, presets, resolve, validated
from sm_ops.core.errors import InputError

pytestmark = pytest.mark.unit


def refusal(text: bytes, tmp_path, *overrides: str) -> str:
    path = tmp_path / "my.yaml"
    path.write_bytes(text)
    with pytest.raises(InputError) as caught:
        load_pipeline(str(path), list(overrides))
    assert caught.value.__cause__ is None
    assert "my.yaml" in caught.value.hint or overrides
    return caught.value.hint


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("trian: {}", ["no setting trian", "nearest is train"]),
        ("train: {epochz: 3}", ["no setting train.epochz", "nearest is epochs"]),
        ("train: {lora: {rnk: 3}}", ["no setting train.lora.rnk", "nearest is rank"]),
        ("references: {r: {bckend: hf}}", ["no setting references.r.bckend", "nearest is backend"]),
        ("train: {epochs: many}", ["train.epochs is 'many'", "valid integer"]),
        ("train: {epochs: 0}", ["train.epochs is 0", "greater than or equal to 1"]),
        ("train: {learning_rate: .inf}", ["train.learning_rate is inf", "finite"]),
        ("train: {learning_rate: .nan}", ["train.learning_rate is nan"]),
        ("train: {method: lor}", ["train.method is 'lor'", "'lora'", "nearest is lora"]),
        ("train: 5", ["train is 5", "section", "epochs"]),
        ("seeds: [yes]", ["seeds is [true]", "number is asked for"]),
        ("train: {epochs: }", ["train.epochs is null"]),
        ("{flow: audit, data: {shares: [0.5, 0.5]}}", ["data.shares.2 is missing"]),
        ("{flow: audit, tagger: gold+}", ["tagger is 'gold+'"]),
        ("{flow: audit, tagger: gold+gold}", ["tagger lists gold more than once"]),
        ("{flow: audit, attacks: {}}", ["attacks is {}", "at least 1"]),
        ("{flow: audit, attacks: {inference: {sizes: [0]}}}", ["inference.sizes.0 is 0", "equal to 2"]),
        ("{flow: audit, attacks: {inference: {sizs: [0]}}}", ["no setting inference.sizs", "nearest is sizes"]),
        ("masking: {targets: [0.5, 2]}", ["masking.targets.1 is 2", "less than or equal to 1"]),
        ("masking: {select: globl}", ["masking.select", "'globl'", "nearest is global"]),
        ("masking: {k: 5}", ["masking", "k 5 is larger than n 4"]),
        ("masking: {baselines: {random: [0.6]}}", ["random", "not among targets"]),
        ("masking: {targets: [0.5, 0.5], baselines: {random: []}}", ["targets lists 0.5 more than once"]),
        ("masking: {reference: tinny}", ["masking.reference 'tinny'", "nearest is tiny"]),
        ("references: {tiny: {backend: hff}}", ["references.tiny.backend", "nearest is hf"]),
        ("references: {tiny: {}, mine: {backend: file}}", ["references.mine", "needs model"]),
        ("references: {tiny: {}, 'a/b': {}}", ["'a/b'", "letters, digits"]),
        ("name: ../up", ["name is '../up'", "letters, digits"]),
        ("data: {dataset: code_pi}", ["data.dataset", "'code_pi'", "nearest is code_pii"]),
        ("data: {dataset: own}", ["data: ", "own.train, own.calibration, own.utility"]),
        (
            "data: {own: {train: x.jsonl}}",
            ["data.own.train is not read by the data set code_pii, but by own and own_q"],
        ),
        ("data: {families: [x]}", ["data.families is not read by the data set code_pii, but by executable_code_pii"]),
        ("data: {dataset: executable_code_pii, scale: 1, utility: 9}", ["scale stands in for utility, and both are"]),
        ("masking: {detectors: {a: {detector: regex}, A: {detector: regex}}}", ["masking.detectors", "'a' and 'A'"]),
        ("masking: {detectors: {Base: {detector: regex}}}", ["masking.detectors", "'Base' is that of another"]),
        (
            "published: {a: [1], b.c: }",
            ["published.a is [1], but a number or a word", "published.b.c is null, but a nu"],
        ),
        ("attack: {samples: 4}", ["budgets go to 128", "only 4 samples"]),
        ("base: {width: 30}", ["width 30", "heads 4"]),
        ("seeds: []", ["seeds", "at least 1"]),
        ("attack: {budgets: []}", ["attack.budgets", "at least 1"]),
        ("seeds: [1, 1]", ["seeds lists 1 more than once"]),
        ("train: {method: scratch}\nbase: {name: gpt2}", ["scratch", "base.name"]),
        ("train: {epochs: 0}\nattack: {samples: x}", ["train.epochs", "attack.samples"]),
        ("a: 1\nb: [", ["line 2", "not valid YAML"]),
        ("- a\n- b", ["top level must be a mapping"]),
        ("just words", ["top level must be a mapping"]),
    ],
)
def test_every_mistake_is_told(text, words, tmp_path):
    hint = refusal(text.encode(), tmp_path)
    assert all(word in hint for word in words), hint


def leaves(config: dict, path: tuple = ()) -> Iterator[tuple[tuple, Any]]:
    """Every value that is no section, and the first entry of every list."""
    for key, value in config.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, (*path, key))
        else:
            yield (*path, key), value
            if isinstance(value, list) and value:
                yield (*path, key, 0), value[0]


def changed(config: dict, path: tuple, value: Any) -> dict:
    """A copy in which one value is another."""
    whole = copy.deepcopy(config)
    at = whole
    for part in path[:-1]:
        at = at[part]
    at[path[-1]] = value
    return whole


@pytest.mark.parametrize("preset", ["tiny", "pii_tiny", "audit_tiny"])
def test_yes_is_no_number_and_a_mistake_is_told_once(preset):
    pipeline = load_pipeline(preset)
    config = resolve(pipeline)
    numbers = [path for path, value in leaves(config) if isinstance(value, int | float) and not isinstance(value, bool)]
    assert len(numbers) > 20
    for path in numbers:
        with pytest.raises(InputError, match=r"true.*, but a number is asked for") as caught:
            validated(type(pipeline), changed(config, path, True), preset)
        assert caught.value.hint.count(", but ") == 1
        with pytest.raises(InputError) as caught:
            validated(type(pipeline), changed(config, path, ["x"]), preset)
        assert caught.value.hint.count(" is ") == 1


def test_not_utf8(tmp_path):
    assert "not UTF-8" in refusal(b"name: \xff\xfe", tmp_path)


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("train.epochs", "not of the form KEY=VALUE"),
        ("=3", "not of the form KEY=VALUE"),
        ("train.epochs=[", "--set train.epochs, line 1: this is not valid YAML"),
        ("seeds.a=1", "seeds is a value, not a section"),
        ("train.epochz=1", "nearest is epochs"),
    ],
)
def test_a_bad_override_is_told(override, words, tmp_path):
    assert words in refusal(b"seeds: [0]", tmp_path, override)


@pytest.mark.parametrize(
    ("source", "words"),
    [("tinny", "nearest is tiny"), ("absent.yaml", "no file absent.yaml"), ("x/y.yaml", "no file x/y.yaml")],
)
def test_an_unknown_source_is_told(source, words):
    with pytest.raises(InputError, match=words):
        load_pipeline(source)


def test_overrides_win_and_are_yaml(tmp_path):
    (tmp_path / "my.yaml").write_text("train: {epochs: 2}")
    overrides = ["train.epochs=5", "seeds=[7]", "masking.reference=extra", "references.extra.backend=ngram"]
    config = resolve(load_pipeline(str(tmp_path / "my.yaml"), overrides))
    assert config["train"]["epochs"] == 5
    assert config["seeds"] == [7]
    assert config["references"]["extra"]["backend"] == "ngram"


def test_an_empty_file_is_the_default(tmp_path):
    (tmp_path / "my.yaml").write_text("")
    assert load_pipeline(str(tmp_path / "my.yaml")) == Pipeline()


@pytest.mark.parametrize("preset", presets())
def test_presets_are_valid_and_resolve_to_themselves(preset, tmp_path):
    import yaml

    config = resolve(load_pipeline(preset))
    (tmp_path / "again.yaml").write_text(yaml.safe_dump(config))
    assert resolve(load_pipeline(str(tmp_path / "again.yaml"))) == config


def test_own_data_needs_no_reference(tmp_path):
    overrides = ["data.dataset=own", *(f"data.own.{split}=x.jsonl" for split in ("train", "calibration", "utility"))]
    assert load_pipeline("tiny", overrides).data.own.reference is None


def test_an_override_of_the_data_set_leaves_out_numbers_of_the_files_own_one():
    found = load_pipeline("tiny", ["data.dataset=executable_code_pii", "data.scale=0.02"]).data
    assert (found.clean, found.identities, found.utility) == (96, 6, 60), "the defaults"
    assert (found.reference, found.public_chars) == (120, 2_400_000), "of the preset"
    with pytest.raises(InputError, match=r"data\.clean is not read"):
        load_pipeline("tiny", ["data.clean=1", "data.dataset=executable_code_pii"])


def test_an_override_inside_a_default_reference_keeps_the_others():
    pipeline = load_pipeline("tiny", ["references.ngram.order=4"])
    assert {name: reference.order for name, reference in pipeline.references.items()} == {"tiny": 3, "ngram": 4}
