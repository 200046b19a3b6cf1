"""Recipes before they run: the preset's model in figures, and the whole way on a small random model of its class."""

from __future__ import annotations

import pytest

from sm_ops.core.config.pii import PiiPipeline
from sm_ops.core.errors import InputError
from sm_ops.pii.extractor import recipe

QWEN = {"name": "Qwen/Qwen3-4B-Instruct-2507", "quantization": "4bit", "window": None, "think": "none"}
LORA = {"method": "lora", "optimizer": "adamw", "variations": 0, "batch_size": 4, "accumulation": 4, "epochs": 2}


def config(base=None, tune=None, extract=None, **rest):
    given = {"base": base or {}, "tune": tune or {}, "extract": extract or {}}
    return PiiPipeline(flow="pii", **given, **rest).model_dump(mode="json")


@pytest.mark.parametrize("decoding", ["free", "constrained"])
def test_a_qwen3_is_tuned_by_adapters_and_answers(decoding):
    facts = recipe.check(config(QWEN, LORA, {"decoding": decoding}, seeds=(0, 1), name="pii_paper"))
    assert facts["documents"] == {"train": 1600, "validation": 200, "test": 400}
    assert facts["schedule"]["steps"] == 2 * 100
    model, trial = facts["model"], facts["trial"]
    assert model["class"] == trial["class"] == "Qwen3ForCausalLM"
    assert model["parameters"] == 4_022_468_096  # as its published weights
    # rank 16 on q, k, v, o, gate, up and down of 36 layers
    sizes = (2560, 4096), (2560, 1024), (2560, 1024), (4096, 2560), (2560, 9728), (2560, 9728), (9728, 2560)
    assert model["trainable"] == 36 * sum(16 * (a + b) for a, b in sizes)
    assert trial["answers"] == 2
    assert any("were not tried" in line for line in recipe.describe(facts))


def test_the_tiny_model_is_tried_with_thinking():
    facts = recipe.check(config(documents={"train": 100, "scale": 2}, tune={"batch_size": 10, "epochs": 3}))
    assert facts["documents"] == {"train": 100, "validation": 400, "test": 800}
    assert facts["schedule"]["steps"] is None  # there are as many as windows
    assert facts["model"]["class"] == "LlamaForCausalLM"
    assert facts["model"]["trainable"] == facts["model"]["parameters"] < 2_000_000
    thinking = facts["trial"]["learned_tokens"]
    plain = recipe.check(config({"think": "none"}))["trial"]["learned_tokens"]
    assert thinking > 2 * plain


def test_variations_of_whole_documents_are_counted():
    base, tune = {"think": "none", "window": None}, {"batch_size": 10, "epochs": 3, "variations": 2}
    assert recipe.check(config(base, tune, documents={"train": 105}))["schedule"]["steps"] == 3 * 32


def test_a_model_that_is_not_here_is_not_looked_up():
    facts = recipe.check(config({"name": "nobody/has-this", "think": "none", "window": None}))
    assert facts["model"] is facts["trial"] is None
    assert any("could not be looked up" in line for line in recipe.describe(facts))


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"tune": {"context": 1025}}, "context-too-long"),
        ({"extract": {"context": 1025}}, "context-too-long"),
        ({"base": QWEN, "tune": {"method": "full"}}, "quantized-weights-fixed"),
    ],
)
def test_what_cannot_work_is_refused_before_it_runs(changes, code):
    with pytest.raises(InputError) as refused:
        recipe.check(config(**changes))
    assert refused.value.code == code
