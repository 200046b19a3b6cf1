"""LoRA on chats and GPT-2 from random weights, end to end at the smallest size through the plain door."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path

import pytest

from sm_ops.core.config import load_pipeline, resolve
from sm_ops.core.store import Record, Store
from sm_ops.masking.labels import IGNORED
from sm_ops.plans import plan
from sm_ops.report.surprise.results import load_results
from sm_ops.runner import run_pipeline
from sm_ops.training import masked

PIPELINES = Path(__file__).with_name("pipelines")
CONDITIONS = {"base", "unmasked", "oracle", "SM95", "random95"}
FIELDS = {
    "condition", "budget_tokens", "target_coverage", "collateral_rate", "extraction_approx", "extraction_exact", "nll",
}  # fmt: skip


class Finished:
    """A run in a home of its own, and where its outputs are."""

    def __init__(self, name: str, home: Path) -> None:
        self.config = resolve(load_pipeline(str(PIPELINES / f"{name}.yaml")))
        self.home, self.store = home, Store(home)
        self.run = run_pipeline(self.config, home, jobs=2)

    def record(self, step: str) -> Record:
        found = self.store.find(self.run.steps[step]["stage"], self.run.steps[step]["fingerprint"])
        assert found is not None, step
        return found

    def path(self, step: str, output: str) -> Path:
        return self.store.output_path(self.record(step), output)

    def numbers(self, step: str) -> dict:
        return self.record(step).numbers


@pytest.fixture(scope="module")
def lora_chat(tmp_path_factory):
    return Finished("lora_chat", tmp_path_factory.mktemp("lora_chat"))


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return Finished("scratch", tmp_path_factory.mktemp("scratch"))


@pytest.fixture(params=["lora_chat", "scratch"])
def finished(request):
    return request.getfixturevalue(request.param)


def test_every_step_has_a_record_and_every_condition_a_row(finished):
    assert set(finished.run.steps) == {step.name for step in plan(finished.config)}
    results = load_results(finished.run, finished.home)
    for rows in (results["rows"], results["per_seed"]):
        assert {row["condition"] for row in rows} == CONDITIONS
        for row in rows:
            assert set(row) >= FIELDS
            assert math.isfinite(row["nll"])
            assert row["extraction_approx"]["n"] == 8
    assert results["run"]["method"] == finished.config["train"]["method"]


def test_masks_differ_and_budgets_are_equal(finished):
    learned = {name: finished.numbers(f"train@{name}-0")["learned_tokens"] for name in CONDITIONS - {"base"}}
    assert learned["unmasked"] > learned["oracle"] > learned["SM95"]
    rows = {row["condition"]: row for row in load_results(finished.run, finished.home)["rows"]}
    assert rows["SM95"]["budget_tokens"] == rows["random95"]["budget_tokens"] > 0
    assert rows["oracle"]["target_coverage"] == 1


def test_only_assistant_contents_and_their_end_of_turn_are_learned(lora_chat):
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(lora_chat.path("base", "model"))
    lines = lora_chat.path("synthesize", "train.jsonl").read_text().splitlines()
    chats = {chat["id"]: chat for chat in map(json.loads, lines)}
    examples = masked.read(lora_chat.path("mask", "unmasked.parquet"))
    assert {example.id for example in examples} == set(chats)
    for example in examples:
        user, assistant = chats[example.id]["messages"]
        assert (user["role"], assistant["role"]) == ("user", "assistant")
        learned = example.labels[example.labels != IGNORED]
        assert tokenizer.decode(learned) == assistant["content"] + "<|end|>"
        everything = f"<|user|>{user['content']}<|end|><|assistant|>{assistant['content']}<|end|>"
        assert tokenizer.decode(example.ids) == everything


def test_lora_trains_adapters_on_all_layers_and_leaves_no_place_behind(lora_chat):
    numbers = lora_chat.numbers("train@unmasked-0")
    width, rank = 32, 4
    per_layer = (width + 3 * width) + (width + width) + 2 * (width + 4 * width)
    assert numbers["lora_trainable_parameters"] == rank * per_layer
    assert (numbers["lora_c_attn"], numbers["lora_c_fc"], numbers["lora_c_proj"]) == (1, 1, 2)
    assert numbers["rows"] == 2 * 4 * 4 + 4
    assert numbers["steps"] == 9
    folder = lora_chat.path("train@unmasked-0", "model")
    assert {path.name for path in folder.iterdir()} == {"adapter_config.json", "adapter_model.safetensors"}
    assert str(lora_chat.home).encode() not in b"".join(path.read_bytes() for path in folder.iterdir())


def test_an_adapter_made_again_in_another_process_has_the_same_bytes(lora_chat):
    before = lora_chat.record("train@SM95-0").hash_of("model")
    shutil.rmtree(lora_chat.path("train@SM95-0", "model"))
    run_pipeline(lora_chat.config, lora_chat.home, jobs=1)
    assert lora_chat.path("train@SM95-0", "model").is_dir()
    assert lora_chat.record("train@SM95-0").hash_of("model") == before


def test_scratch_has_the_shape_of_base_and_nothing_of_its_weights(scratch):
    from transformers import AutoModelForCausalLM

    made = AutoModelForCausalLM.from_pretrained(scratch.path("train@unmasked-0", "model"))
    base = AutoModelForCausalLM.from_pretrained(scratch.path("base", "model"))
    shape = made.config
    assert (shape.n_layer, shape.n_embd, shape.n_head) == (1, 32, 2)
    assert (shape.n_positions, base.config.n_positions) == (64, 128)  # the training's own context
    assert shape.vocab_size == base.config.vocab_size
    distance = (made.transformer.wte.weight - base.transformer.wte.weight).std().item()
    assert distance > base.transformer.wte.weight.std().item()
