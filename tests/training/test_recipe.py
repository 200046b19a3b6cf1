"""`sm-ops validate`: arithmetic of a recipe, and one real step on a small model of the same class."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from sm_ops.core.config import load_pipeline, presets, resolve
from sm_ops.core.errors import InputError, StageError
from sm_ops.training import recipe, shapes

PAPER = ("code_pii_paper", "code_pii_pretraining_paper", "quirks_paper", "quirks_pretraining_paper")


def facts(source, *overrides):
    return recipe.check(resolve(load_pipeline(source, list(overrides))))


@pytest.fixture(scope="module")
def paper():
    """Table 3's rows; what each publishes has been compared."""
    return {preset: facts(preset) for preset in PAPER}


@pytest.mark.slow
def test_every_preset_works():
    assert {"tiny", "small", *PAPER} <= set(presets("surprise"))
    for preset in {*presets("surprise")} - {*PAPER}:
        assert facts(preset)["trial"]["loss"] == pytest.approx(4.85, abs=0.3)  # ln 128


def test_code_pii_fine_tuning(paper):
    """Tables 1 and 3, A.1, B.2, C.1."""
    found = paper["code_pii_paper"]
    assert found["data"]["records"] == {"train": 11_250, "calibration": 540, "utility": 300, "reference": 160}
    assert (found["data"]["canaries"], found["data"]["tasks"], found["data"]["uses_of_a_value"]) == (100, 150, 100)
    schedule = found["schedule"]
    assert (schedule["batch"], schedule["epochs"], schedule["context"]) == (20, 2, 2048)
    assert (schedule["steps"], schedule["steps_per_epoch"]) == (1_125, 563)
    assert found["lora"]["trainable_parameters"] == 7_962_624
    assert found["lora"]["layers"] == {"k_proj": 24, "o_proj": 24, "q_proj": 24, "v_proj": 24}
    assert found["model"]["class"] == found["trial"]["class"] == "GptOssForCausalLM"
    assert found["model"]["parameters"] == 20_914_757_184
    assert found["model"]["weight_bytes"] == 2 * 20_914_757_184
    asked = found["evaluation"]["completions"]
    expected = {"prompts": 300, "temperature": 1, "top_p": 1, "seconds": 90, "reasoning_effort": "medium", "k": 5}
    assert {name: asked[name] for name in expected} == expected


def test_the_words_say_that_experts_stay_as_they_are_and_what_is_measured(paper):
    text = "\n".join(recipe.describe(paper["code_pii_paper"]))
    assert "24 experts.gate_up_proj" in text
    assert "attention alone; the experts stay as they are" in text
    assert "steps: 1,125 of 2 passes x 563" in text
    assert "300 prompts x 5 samples" in text
    assert "temperature 1, top-p 1, reasoning effort medium; run for at most 90 s each" in text
    assert "more than the standard library offers" in "\n".join(
        recipe.describe(facts("tiny", "data.clean=9000", "train.epochs=1"))
    )


def test_code_pii_pretraining(paper):
    """Table 3, C.1: 250M tokens in 1,250 steps, then ten passes of 23 steps over 1,679,000 tokens."""
    found = paper["code_pii_pretraining_paper"]
    assert found["model"]["parameters"] == 124_439_808  # GPT-2-small
    shape = {"layers": 12, "width": 768, "heads": 12, "entries": 50_257, "positions": 1024}
    assert {name: found["model"][name] for name in shape} == shape
    assert (found["data"]["records"]["train"], found["data"]["records"]["calibration"]) == (15_000, 720)
    mixture = found["mixture"]
    assert (mixture["general_tokens"], mixture["domain_tokens"]) == (248_321_000, 1_679_000)
    assert mixture["tokens_seen"] == 250_000_000
    assert (found["base"]["rows"], found["base"]["steps"]) == (250_000, 1_250)
    schedule = found["schedule"]
    assert (schedule["rows"], schedule["steps_per_epoch"], schedule["steps"]) == (1_679, 23, 230)
    assert found["lora"] is None
    assert found["evaluation"]["nll_records"] == 30


def test_code_quirks_fine_tuning(paper):
    """Table 3, A.2, B.3, C.2."""
    found = paper["quirks_paper"]
    assert (found["data"]["records"]["train"], found["data"]["records"]["calibration"]) == (4_000, 180)
    assert (found["data"]["users"], found["data"]["tasks"], found["data"]["style_cases"]) == (10, 600, 300)
    schedule = found["schedule"]
    assert (schedule["rounds"], schedule["steps_per_round"], schedule["steps"], schedule["batch"]) == (2, 200, 400, 20)
    assert found["lora"]["trainable_parameters"] == 7_962_624
    asked = found["evaluation"]["completions"]
    expected = {"prompts": 60, "temperature": 0.4, "top_p": 0.95, "seconds": 20, "reasoning_effort": "low", "k": 5}
    assert {name: asked[name] for name in expected} == expected
    assert found["evaluation"]["attack"] is None


def test_code_quirks_pretraining(paper):
    """Table 3, B.3, C.2: fifteen passes of 250M tokens, a hundredth of the steps to warm up."""
    found = paper["quirks_pretraining_paper"]
    mixture = found["mixture"]
    assert (mixture["general_tokens"], mixture["domain_tokens"]) == (248_027_124, 1_972_876)
    assert (mixture["tokens_seen"], mixture["passes"]) == (3_750_000_000, 15)
    schedule = found["schedule"]
    assert (schedule["steps"], schedule["batch"], schedule["warmup_steps"]) == (18_750, 200, 188)
    assert found["base"] is None
    asked = found["evaluation"]["completions"]
    assert (asked["samples"], asked["k"], asked["execute"], asked["temperature"]) == (16, 5, False, 1)


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("train.lora.rank=8", "lora.trainable_parameters comes to 3981312 here, but published.* is 7962624"),
        ("train.steps=1000", "schedule.steps comes to 1000 here, but published.schedule.steps is 1125"),
        ("data.form=text", "data.records.train comes to 15000 here, but published.data.records.train is 11250"),
        ("base.name=nobody/unknown", "lora.trainable_parameters is not known here"),
    ],
)
def test_a_recipe_that_is_not_as_published_fails_the_check(override, words):
    with pytest.raises(StageError, match=words):
        facts("code_pii_paper", override)


def test_a_figure_that_there_is_not_is_an_error_of_the_config():
    with pytest.raises(InputError, match=r"published\.schedule\.step names no figure.*schedule\.steps"):
        recipe.agree({"schedule": {"steps": 3}}, {"schedule.step": 3})


def test_steps_are_counted_as_the_trainer_counts_them(tmp_path, settings):
    import numpy as np

    from sm_ops.training import trainer

    ten = ("data.identities=1", "data.repetitions=8", "data.clean=2", "train.epochs=3", "train.batch_size=3")
    found = facts("small", *ten, "train.accumulation=2", "train.warmup_steps=0")
    assert found["schedule"]["rows"] == 10
    ids = np.arange(1, 9)
    rows = [{"input_ids": ids, "labels": ids, "masked": np.zeros(8, bool)}] * 10
    model = shapes.small(shapes.shape_of(resolved("tiny").base, resolved("tiny").train))
    result = trainer.fit(model, rows, 0, settings(epochs=3, batch_size=3, accumulation=2), 0, tmp_path)
    assert found["schedule"]["steps"] == result["steps"]


def resolved(source):
    from sm_ops.core.settings import Settings

    return Settings(resolve(load_pipeline(source)))


@pytest.mark.parametrize(
    ("source", "override", "words"),
    [
        ("small", "train.warmup_steps=5000", "train.warmup_steps is 5000, but the training has 120 steps"),
        ("tiny", "train.context=512", "train.context is 512, but .* has 256 positions"),
    ],
)
def test_a_recipe_that_cannot_work_is_refused(source, override, words):
    with pytest.raises(InputError, match=words):
        facts(source, override)


def test_a_warm_up_as_long_as_an_estimated_training_is_told():
    lines = " ".join(recipe.describe(facts("tiny", "train.warmup_steps=5000")))
    assert "warm-up 5,000, which would not end before the training does" in lines


def test_own_records_are_counted(tmp_path):
    spans = [{"start": 4, "end": 5, "label": "number"}]
    lines = [json.dumps({"id": str(i), "text": "x = 1\n" * 50, "spans": spans}) + "\n" for i in range(30)]
    (tmp_path / "own.jsonl").write_text("".join(lines))
    own = [f"data.own.{split}={tmp_path}/own.jsonl" for split in ("train", "calibration", "utility")]
    found = facts("tiny", "data.dataset=own", *own)
    assert found["data"]["records"] == {"train": 30, "calibration": 30, "utility": 30}
    assert found["schedule"]["rows"] == round((30 * 300 / 3 + 30) / 256)


@pytest.mark.parametrize("intervention", ["attention", "both", "clip", "drop"])
def test_the_trial_step_makes_the_intervention(intervention):
    trial = facts("tiny", f"train.intervention={intervention}")["trial"]
    assert trial["intervention"] == intervention
    assert (trial["kept"], trial["supervised"]) == ({"both": 22, "drop": 15}.get(intervention, 30), 30)


def test_a_class_that_cannot_block_attention_is_found_out_before_the_run(tmp_path):
    from transformers import AutoConfig

    AutoConfig.for_model("opt", ffn_dim=64, word_embed_proj_dim=32).save_pretrained(tmp_path)
    name = (f"base.name={tmp_path}", "train.context=64")
    assert facts("small", *name)["trial"]["class"] == "OPTForCausalLM"
    with pytest.raises(InputError, match=r"cannot be blocked in OPTForCausalLM.*use train\.intervention=loss"):
        facts("small", *name, "train.intervention=attention")


def test_a_model_in_a_folder_is_looked_up_there(tmp_path):
    from transformers import AutoConfig

    AutoConfig.for_model("qwen2", num_hidden_layers=3, hidden_size=64, intermediate_size=96, vocab_size=500,
                         num_attention_heads=4, num_key_value_heads=2).save_pretrained(tmp_path)  # fmt: skip
    found = facts("small", f"base.name={tmp_path}")
    assert found["model"]["class"] == found["trial"]["class"] == "Qwen2ForCausalLM"
    assert found["lora"]["layers"]["q_proj"] == 3


def test_the_command_needs_no_network_and_says_what_it_could_not_look_up():
    command = [sys.executable, "-m", "sm_ops.cli", "validate", "small", "--set", "base.name=nobody/unknown-model"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "the class of nobody/unknown-model could not be looked up without a network" in done.stdout
    assert done.stderr == ""
    done = subprocess.run([*command[:4], "small", "--json"], capture_output=True, text=True, timeout=120, check=False)
    found = json.loads(done.stdout)
    assert found["lora"]["trainable_parameters"] == 4_884_480
    assert found["plan_steps"] > 20
    assert done.stderr == ""
    done = subprocess.run([*command[:4], "small", "--set", "train.warmup_steps=5000"], capture_output=True, text=True,
                          timeout=120, check=False)  # fmt: skip
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("sm-ops: train.warmup_steps is 5000")
