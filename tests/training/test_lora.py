"""LoRA: which layers carry adapters, what is learned of a chat, and what is saved (paper C.1)."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from sm_ops.core.records import Message, Record
from sm_ops.scoring.tokenize import tokenize
from sm_ops.training import lora, masked, models, packing, recipe, tiny, trainer

RANK_16 = SimpleNamespace(rank=16, alpha=32, dropout=0.0)


def small(kind, **dimensions):
    from transformers import AutoConfig

    return recipe.small(AutoConfig.for_model(kind, **dimensions))


# ---- coverage ------------------------------------------------------------------------------------------


def test_a_llama_is_covered_whole():
    wrapped = lora.wrap(small("llama"), RANK_16)
    width, inner, keys = 32, 64, 2 * 8  # two heads of eight for keys and values
    attention = 2 * (width + width) + 2 * (width + keys)
    feed_forward = 3 * (width + inner)
    assert lora.coverage(wrapped) == {
        "down_proj": 2, "gate_proj": 2, "k_proj": 2, "o_proj": 2, "q_proj": 2, "up_proj": 2, "v_proj": 2,
        "trainable_parameters": 2 * 16 * (attention + feed_forward),
    }  # fmt: skip
    assert lora.left_out(wrapped) == {"embed_tokens": 1, "lm_head": 1}


def test_gpt2_is_covered_whole_although_it_has_no_linear_layer():
    wrapped = lora.wrap(small("gpt2"), RANK_16)
    width = 32
    per_layer = (width + 3 * width) + (width + width) + 2 * (width + 4 * width)
    assert lora.coverage(wrapped) == {"c_attn": 2, "c_fc": 2, "c_proj": 4, "trainable_parameters": 2 * 16 * per_layer}
    assert lora.left_out(wrapped) == {"wpe": 1, "wte": 1}


def test_the_experts_of_a_mixture_are_out_of_reach_and_listed():
    wrapped = lora.wrap(small("gpt_oss"), RANK_16)
    covered = lora.coverage(wrapped)
    assert set(covered) == {"q_proj", "k_proj", "v_proj", "o_proj", "trainable_parameters"}
    assert lora.left_out(wrapped) == {
        "embed_tokens": 1, "lm_head": 1, "router": 2, "experts.gate_up_proj": 2, "experts.down_proj": 2,
    }  # fmt: skip
    moved = {name for name, parameter in wrapped.named_parameters() if parameter.requires_grad}
    assert not [name for name in moved if "experts" in name or "router" in name]


def test_the_paper_s_7_962_624_parameters_are_attention_alone():
    """24 layers, width 2,880, 64 query and 8 key heads of 64: rank 16 on q, k, v and o gives C.1's number."""
    width, queries, keys = 2880, 64 * 64, 8 * 64
    assert 24 * 16 * (2 * (width + queries) + 2 * (width + keys)) == 7_962_624


# ---- chats ---------------------------------------------------------------------------------------------

CHATML = (
    "{% for message in messages %}{% if loop.first and message['role'] != 'system' %}"
    "{{ '<|im_start|>system\nBe brief.<|im_end|>\n' }}{% endif %}"
    "{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
LLAMA_3 = (
    "{{ bos_token }}{% for message in messages %}{{ '<|header|>' + message['role'] + '<|/header|>\n\n' }}"
    "{{ message['content'] | trim }}{{ '<|eot|>' }}{% endfor %}"
)
HARMONY = (
    "{% for message in messages %}{{ '<|start|>' + message['role'] }}"
    "{{ '<|channel|>final' if message['role'] == 'assistant' else '' }}{{ '<|message|>' + message['content'] }}"
    "{{ '<|return|>' if loop.last and message['role'] == 'assistant' else '<|end|>' }}{% endfor %}"
)
ANSWERS = ("def add(a, b):\n    return a + b", "print(add(1, 2))  # assistant: done")
CHAT = Record(
    "0",
    messages=(
        Message("user", "Write add, assistant."),
        Message("assistant", ANSWERS[0]),
        Message("user", "Now call it."),
        Message("assistant", ANSWERS[1]),
    ),
)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    from sm_ops.scoring.tokenize import load_tokenizer

    folder = tmp_path_factory.mktemp("tokenizer")
    made = tiny.train_tokenizer([CHAT.content, "system user Be brief. final"], 400, folder)
    control = ["im_start", "im_end", "header", "/header", "eot", "start", "channel", "message", "return"]
    made.add_special_tokens({"additional_special_tokens": [*tiny.CHAT_TOKENS, *(f"<|{name}|>" for name in control)]})
    made.save_pretrained(str(folder))
    return load_tokenizer(folder)


@pytest.mark.parametrize(
    ("template", "turn_ends"),
    [
        pytest.param(tiny.CHAT_TEMPLATE, ("<|end|>", "<|end|>"), id="ours"),
        pytest.param(CHATML, ("<|im_end|>", "<|im_end|>"), id="chatml"),
        pytest.param(LLAMA_3, ("<|eot|>", "<|eot|>"), id="llama3"),
        pytest.param(HARMONY, ("<|end|>", "<|return|>"), id="harmony"),
    ],
)
def test_only_the_assistant_s_words_and_its_end_of_turn_are_learned(tokenizer, tmp_path, template, turn_ends):
    tokenizer.chat_template = template
    tokens = tokenize(CHAT, tokenizer)
    mask = np.zeros(len(tokens), bool)
    masked.write(tmp_path / "set.parquet", masked.examples([CHAT], [tokens], [mask]))
    (row,) = packing.rows(masked.read(tmp_path / "set.parquet"), context=4096)

    rendered = tokenizer.apply_chat_template([vars_of(message) for message in CHAT.messages], tokenize=False)
    assert row["input_ids"].tolist() == tokenizer(rendered, add_special_tokens=False)["input_ids"]
    learned = row["labels"][row["labels"] != packing.IGNORED]
    assert tokenizer.decode(learned) == "".join(a + end for a, end in zip(ANSWERS, turn_ends, strict=True))

    mask[np.flatnonzero(tokens.eligible)[1:3]] = True
    (again,) = packing.rows(list(masked.examples([CHAT], [tokens], [mask])), 4096)
    assert np.array_equal(again["input_ids"], row["input_ids"])
    assert packing.learned_tokens([again]) == packing.learned_tokens([row]) - 2


def vars_of(message):
    return {"role": message.role, "content": message.content}


# ---- training, saving, loading -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["gpt2", "llama", "gpt_oss"])
def test_what_is_loaded_is_what_was_trained(tmp_path, settings, kind):
    base = small(kind)
    models.save(base, tmp_path / "base")
    wrapped = lora.wrap(models.load(tmp_path / "base"), RANK_16)
    ids = np.random.default_rng(0).integers(1, 128, (4, 10))
    none = np.zeros(10, bool)
    rows = [{"input_ids": own, "labels": np.r_[packing.IGNORED, own[1:]], "masked": none} for own in ids]
    result = trainer.fit(wrapped, rows, 0, settings(epochs=8, learning_rate=1e-2), 0, tmp_path / "scratch")
    assert result["steps"] == 8
    models.save(wrapped, tmp_path / "adapter")

    loaded = models.load_trained(tmp_path / "adapter", tmp_path / "base", device="cpu")
    with torch.no_grad():
        trained, again, before = (
            model.eval()(input_ids=torch.tensor(ids)).logits for model in (wrapped, loaded, base)
        )
    torch.testing.assert_close(again, trained, atol=1e-5, rtol=1e-5)
    assert (again - before).abs().max() > 1e-2

    files = {path.name: path.read_bytes() for path in (tmp_path / "adapter").iterdir()}
    assert set(files) == {"adapter_config.json", "adapter_model.safetensors"}
    assert not [name for name, content in files.items() if str(tmp_path).encode() in content]
    config = json.loads(files["adapter_config.json"])
    assert config["target_modules"] == sorted(config["target_modules"])  # peft writes a set, in any order
    assert (config["r"], config["lora_alpha"]) == (16, 32)


def test_saving_never_asks_the_hub(tmp_path, monkeypatch):
    from peft.utils import save_and_load

    asked = []
    monkeypatch.setattr(save_and_load, "check_file_exists_on_hf_hub", lambda *args, **kwargs: asked.append(args))
    model = small("llama")
    model.name_or_path = "somebody/some-model"
    models.save(lora.wrap(model, RANK_16), tmp_path)
    assert not asked


def test_a_model_that_came_from_a_folder_does_not_name_it(tmp_path):
    models.save(small("gpt2"), tmp_path / "first")
    models.save(models.load(tmp_path / "first"), tmp_path / "second")
    assert str(tmp_path) not in (tmp_path / "second" / "config.json").read_text()


def test_a_base_that_cannot_be_had_is_one_sentence(tmp_path):
    from sm_ops.core.errors import InputError

    with pytest.raises(InputError, match="name a folder") as caught:
        models.load(tmp_path / "nowhere")
    assert caught.value.__cause__ is None
