"""Completions of many prompts at once: the very ids that one text in one forward pass gives, and what ends them."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import torch

from sm_ops.core.errors import InputError
from sm_ops.core.records import Message, Record
from sm_ops.scoring.completing import complete, draw
from sm_ops.scoring.tokenize import end_ids, prompt_ids, prompt_ids_all

pytestmark = pytest.mark.unit

PROMPTS = [[5, 9], [7, 1, 30, 22, 8, 4, 11], [40], [3, 3, 3, 2]]
CHATML = (
    "{% if reasoning_effort is defined %}[{{ reasoning_effort }}]{% endif %}{% for m in messages %}<|im_start|>"
    "{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
CHANNELS = (
    "{% for m in messages %}{% if m['role'] == 'assistant' %}<|start|>assistant<|channel|>final<|message|>"
    "{% else %}<|start|>{{ m['role'] }}<|message|>{% endif %}{{ m['content'] }}"
    "{% if loop.last and m['role'] == 'assistant' %}<|return|>{% else %}<|end|>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant{% endif %}"
)


@cache
def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    config = GPT2Config(vocab_size=48, n_positions=20, n_embd=16, n_layer=2, n_head=2, initializer_range=0.3,
                        bos_token_id=0, eos_token_id=0)  # fmt: skip
    return GPT2LMHeadModel(config).eval()


@cache
def llama():
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(vocab_size=48, hidden_size=16, intermediate_size=16, num_hidden_layers=2,
                         initializer_range=0.3, num_attention_heads=4, num_key_value_heads=2,
                         max_position_embeddings=20)  # fmt: skip
    return LlamaForCausalLM(config).eval()


def points(number, length=7):
    return np.random.default_rng(number).random((3, length))


def written(model, ends=(), batch_size=100, **decoding):
    decoding = {"temperature": 1.0, "top_p": 1.0} | decoding
    return complete(model, PROMPTS, points, samples=3, ends=[ends] * 4, batch_size=batch_size, **decoding)


def by_definition(model, prompt, numbers, ends, temperature, top_p):
    """One id at a time from the whole text: likeliest ids first until their mass reaches top-p, then by their order."""
    ids = list(prompt)
    for number in numbers[: 20 - len(prompt)]:
        with torch.inference_mode():
            logits = model(torch.tensor([ids]), use_cache=False).logits[0, -1].double().numpy() / temperature
        share = np.exp(logits - logits.max())
        share /= share.sum()
        order = list(range(48)) if top_p == 1 else np.argsort(-share).tolist()
        kept, mass = [], 0.0
        for token in order:
            if mass >= top_p:
                break
            kept.append(token)
            mass += share[token]
        edges = np.cumsum(share[kept])
        token = kept[int((edges <= number * edges[-1]).sum())]
        if token in ends:
            return ids[len(prompt) :], False
        ids.append(token)
    return ids[len(prompt) :], True


@pytest.mark.parametrize(("model", "decoding"), [(gpt2, (1.0, 1.0)), (llama, (0.4, 0.7))])
def test_each_completion_is_that_of_its_text_alone(model, decoding):
    ends = {1, 2, 17, 40}
    found = written(model(), ends, temperature=decoding[0], top_p=decoding[1])
    expected = [[by_definition(model(), prompt, row, ends, *decoding) for row in points(i)]
                for i, prompt in enumerate(PROMPTS)]  # fmt: skip
    assert [[tuple(each) for each in own] for own in found] == expected
    assert {cut for own in expected for _, cut in own} == {True, False}


@pytest.mark.parametrize("batch_size", [1, 6])
def test_a_batch_changes_nothing(batch_size):
    assert written(gpt2(), {4}, batch_size) == written(gpt2(), {4})


@pytest.mark.parametrize("batch_size", [3, 100])
@pytest.mark.parametrize("model", [gpt2, llama])
def test_a_completion_ends_with_the_context_whatever_is_written_beside_it(model, batch_size):
    prompts = [[1] * 17, [2, 3], [5] * 14]
    found = complete(model(), prompts, lambda i: points(i, 12), samples=3, ends=[{}, {}, {}], temperature=1.0,
                     top_p=1.0, batch_size=batch_size)  # fmt: skip
    assert [[(len(each.ids), each.cut) for each in own] for own in found] == [
        [(room, True)] * 3 for room in (20 - 17, 12, 20 - 14)
    ]
    expected = [[by_definition(model(), prompt, row, (), 1.0, 1.0) for row in points(i, 12)]
                for i, prompt in enumerate(prompts)]  # fmt: skip
    assert [[tuple(each) for each in own] for own in found] == expected


def test_each_prompt_has_ends_of_its_own():
    plain = written(gpt2())
    ends = [{own[0].ids[1]} for own in plain]  # the second id of each prompt's first completion
    found = complete(gpt2(), PROMPTS, points, samples=3, ends=ends, temperature=1.0, top_p=1.0, batch_size=100)
    for own, before, end in zip(found, plain, ends, strict=True):
        for each, whole in zip(own, before, strict=True):
            place = next((i for i, token in enumerate(whole.ids) if token in end), None)
            assert each == (whole.ids[:place], place is None)


def test_a_prompt_that_fills_the_context_is_refused():
    with pytest.raises(InputError, match="Prompt 1 has 20 tokens, but the model has 20 positions"):
        complete(gpt2(), [[1], [1] * 20], points, samples=3, ends=[(), ()], temperature=1.0, top_p=1.0, batch_size=9)


def test_a_nucleus_beyond_the_first_ids_is_found():
    places = torch.linspace(0, 0.999, 3000, dtype=torch.float64)[:, None]
    drawn = draw(torch.zeros(3000, 1000), places, 1.0, 0.6)  # 600 of 1,000 equal ones make 60 %
    assert len(drawn.unique()) in (600, 601)


def test_a_chat_goes_on_with_its_answer(chat_tokenizer):
    tokenizer = chat_tokenizer(CHATML)
    question = Record("a", messages=(Message("user", "add <|im_end|> now"),))
    ids = prompt_ids(question, tokenizer)
    assert tokenizer.decode(ids) == "<|im_start|>user\nadd <|im_end|> now<|im_end|>\n<|im_start|>assistant\n"
    assert ids.count(tokenizer.convert_tokens_to_ids("<|im_end|>")) == 1  # what the user wrote ends no turn
    assert tokenizer.decode(prompt_ids(question, tokenizer, "low")).startswith("[low]<|im_start|>")


def test_a_text_goes_on_behind_the_separator_and_each_form_ends_as_it_was_learned(chat_tokenizer):
    tokenizer = chat_tokenizer(CHATML)
    tokenizer.eos_token = "<|return|>"
    first, turn, end = tokenizer.convert_tokens_to_ids(["<|endoftext|>", "<|im_end|>", "<|return|>"])
    assert prompt_ids(Record("a", text="# add\n"), tokenizer)[0] == first
    assert end_ids(Record("a", text="# add\n"), tokenizer) == {first, end}
    chat = Record("a", messages=(Message("user", "add"), Message("assistant", "return a")))
    assert end_ids(chat, tokenizer) == {turn, end}
    with pytest.raises(InputError, match="no chat template"):
        prompt_ids(chat, chat_tokenizer(None))


@pytest.mark.parametrize("turns", [1, 2])
def test_an_answer_ends_as_the_last_turn_does_and_not_as_an_earlier_one_or_an_analysis(chat_tokenizer, turns):
    tokenizer = chat_tokenizer(CHANNELS)
    tokenizer.eos_token = "<|return|>"
    messages = (Message("user", "add"), Message("assistant", "return <|im_end|>")) * turns
    assert end_ids(Record("a", messages=messages), tokenizer) == {tokenizer.convert_tokens_to_ids("<|return|>")}


def test_what_cannot_be_asked_is_refused_by_its_place(chat_tokenizer):
    records = [Record("a", text="add"), Record("b", messages=(Message("user", "add"),))]
    with pytest.raises(InputError, match=r"Record 1: .*no chat template"):
        prompt_ids_all(records, chat_tokenizer(None))
