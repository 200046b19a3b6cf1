"""`sm-ops validate`: arithmetic of a recipe, and one real step on a small model of the same class."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from sm_ops.core.config import load_pipeline, presets, resolve
from sm_ops.core.errors import InputError
from sm_ops.training import recipe


def facts(source, *overrides):
    return recipe.check(resolve(load_pipeline(source, list(overrides))))


@pytest.fixture(scope="module")
def paper():
    return facts("paper")


def test_every_preset_works():
    assert {"tiny", "small", "paper", "paper-pretraining"} <= set(presets("surprise"))
    for preset in {*presets("surprise")} - {"paper"}:
        assert facts(preset)["trial"]["loss"] == pytest.approx(4.85, abs=0.3)  # ln 128


def test_the_paper_s_fine_tuning(paper):
    """Tables 1 and 3, C.1: 11,250 chats, 540 to calibrate, 20 a step, two passes, 7,962,624 parameters."""
    assert paper["data"]["records"]["train"] == 11_250
    assert paper["data"]["records"]["calibration"] == 540
    schedule = paper["schedule"]
    assert (schedule["batch"], schedule["epochs"], schedule["context"]) == (20, 2, 2048)
    assert schedule["steps"] == 1_126  # the paper's 1,125, with each pass's last half step counted as one
    assert paper["lora"]["trainable_parameters"] == 7_962_624
    assert paper["lora"]["layers"] == {"k_proj": 24, "o_proj": 24, "q_proj": 24, "v_proj": 24}
    assert paper["model"]["class"] == paper["trial"]["class"] == "GptOssForCausalLM"
    assert paper["model"]["parameters"] == 20_914_757_184
    assert paper["model"]["weight_bytes"] == 2 * 20_914_757_184


def test_the_words_say_that_experts_stay_as_they_are(paper):
    text = "\n".join(recipe.describe(paper))
    assert "24 experts.gate_up_proj" in text
    assert "attention alone; the experts stay as they are" in text
    assert "12,250 programs are needed, more than the standard library offers" in text


def test_the_paper_s_pretraining():
    found = facts("paper-pretraining")
    assert found["model"]["parameters"] == 124_439_808  # GPT-2-small
    assert found["data"]["records"]["train"] == 15_000
    assert found["data"]["records"]["calibration"] == 720
    assert found["lora"] is None


def test_steps_are_counted_as_the_trainer_counts_them(tmp_path, settings):
    import numpy as np

    from sm_ops.training import trainer

    ten = ("data.identities=1", "data.repetitions=8", "data.clean=2", "train.epochs=3", "train.batch_size=3")
    found = facts("small", *ten, "train.accumulation=2", "train.warmup_steps=0")
    assert found["schedule"]["rows"] == 10
    ids = np.arange(1, 9)
    rows = [{"input_ids": ids, "labels": ids, "masked": np.zeros(8, bool)}] * 10
    model = recipe.small(recipe.shape_of(resolved("tiny").base, resolved("tiny").train))
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


def test_own_records_are_counted(tmp_path):
    lines = [json.dumps({"id": str(i), "text": "x = 1\n" * 50}) + "\n" for i in range(30)]
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
