"""A Hugging Face model under attack: equal numbers and samples as one text in one forward pass, whatever is shared."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import torch

from sm_ops.core.errors import InputError
from sm_ops.core.registry import load
from sm_ops.scoring.language_model import LanguageModel
from sm_ops.scoring.models.hf import HFModel

pytestmark = pytest.mark.unit


@cache
def plain():
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    config = GPT2Config(vocab_size=64, n_positions=64, n_embd=24, n_layer=2, n_head=2, initializer_range=0.2,
                        bos_token_id=0, eos_token_id=0)  # fmt: skip
    return GPT2LMHeadModel(config).eval()


@cache
def capped():
    """Sliding windows, and logits that are more than a linear layer."""
    from transformers import Gemma2Config, Gemma2ForCausalLM

    torch.manual_seed(1)
    config = Gemma2Config(vocab_size=64, hidden_size=16, intermediate_size=16, num_hidden_layers=2, head_dim=8,
                          num_attention_heads=2, num_key_value_heads=1, sliding_window=16, max_position_embeddings=64,
                          final_logit_softcapping=0.5)  # fmt: skip
    return Gemma2ForCausalLM(config).eval()


@pytest.fixture
def char(reference):
    return reference("char")


@pytest.fixture
def tokenizer(char):
    return char.tokenizer


def one_by_one(model, prefix, continuation):
    """The definition: the whole text in one forward pass."""
    with torch.inference_mode():
        ids = torch.tensor([[*prefix, *continuation]])
        rows = model(ids, use_cache=False).logits[0, len(prefix) - 1 : -1].double().log_softmax(-1)
    return rows.gather(1, ids[0, len(prefix) :, None])[:, 0].numpy()


def random_continuations(rng, shared, count):
    start = rng.integers(1, 64, shared).tolist()
    return [start + rng.integers(1, 64, rng.integers(0, 9)).tolist() for _ in range(count)]


@pytest.mark.parametrize("make", [plain, capped])
@pytest.mark.parametrize("budget", [None, 12])
def test_continuations_equal_one_text_a_pass(make, budget, tokenizer):
    model, rng = make(), np.random.default_rng(0)
    tested = HFModel(model, tokenizer, budget)
    for prefix, shared, count in [
        ([0], 0, 9),
        ([0], 20, 9),
        ([0, 5, 6], 3, 1),
        (rng.integers(1, 64, 30).tolist(), 2, 5),
    ]:
        continuations = random_continuations(rng, shared, count)
        expected = [one_by_one(model, prefix, own) for own in continuations]
        for _ in range(2):  # the second time the shared part is held
            found = tested.continuation_logprobs(prefix, continuations)
            assert [len(own) for own in found] == [len(own) for own in continuations]
            np.testing.assert_allclose(np.concatenate(found), np.concatenate(expected), rtol=0, atol=4e-6)
        begun = common = [*prefix, *continuations[0][:shared]]
        tails = [own[shared:] for own in continuations]
        np.testing.assert_allclose(
            np.concatenate(tested.continuation_logprobs(common, tails)),
            np.concatenate([one_by_one(model, begun, tail) for tail in tails]), rtol=0, atol=4e-6,
        )  # fmt: skip
    assert tested.continuation_logprobs([0], []) == []


@pytest.mark.parametrize("make", [plain, capped])
def test_next_log_probabilities_of_contexts_of_any_length(make, tokenizer):
    model, rng = make(), np.random.default_rng(1)
    contexts = [rng.integers(0, 64, n).tolist() for n in (3, 1, 30, 3, 64, 9)]
    found = HFModel(model, tokenizer, 64).next_logprobs(contexts)
    for row, context in zip(found, contexts, strict=True):
        with torch.inference_mode():
            expected = model(torch.tensor([context])).logits[0, -1].double().log_softmax(-1).numpy()
        np.testing.assert_allclose(row, expected, rtol=0, atol=4e-6)
    np.testing.assert_allclose(np.exp(found).sum(axis=1), 1, atol=1e-12)


@pytest.mark.parametrize("make", [plain, capped])
@pytest.mark.parametrize(("top_k", "temperature"), [(0, 1.0), (5, 1.0), (5, 0.5), (63, 2.0), (64, 1.0)])
def test_samples_are_those_of_the_plain_inverse_transform(make, top_k, temperature, tokenizer):
    tested, chances = HFModel(make(), tokenizer), np.random.default_rng(2).random((24, 7))
    for prefix in ([0], [0, 9, 8, 7]):
        found = tested.sample(prefix, chances, top_k=top_k, temperature=temperature)
        assert found == LanguageModel.sample(tested, prefix, chances, top_k=top_k, temperature=temperature)
        parts = [tested.sample(prefix, part, top_k=top_k, temperature=temperature) for part in np.split(chances, 6)]
        assert found == [row for part in parts for row in part]
    assert tested.greedy([0, 3], 9) == LanguageModel.greedy(tested, [0, 3], 9)


def test_tied_logits_are_kept_together(tokenizer):
    import copy

    model = copy.deepcopy(plain())
    model.lm_head.weight = torch.nn.Parameter(torch.zeros_like(model.lm_head.weight))  # a uniform distribution
    chances = np.arange(64)[:, None] / 64  # the edges are exact
    assert HFModel(model, tokenizer).sample([0], chances, top_k=3) == [[i] if i else [] for i in range(64)]


def test_samples_have_the_model_s_whole_distribution(char):
    model, n, prefix = char._model, 10_000, [0, 4]
    tested = HFModel(model, char.tokenizer)
    tested.end = None
    drawn = tested.sample(prefix, np.random.default_rng(0).random((n, 1)))
    with torch.inference_mode():
        expected = model(torch.tensor([prefix])).logits[0, -1].double().softmax(-1).numpy()
    counts = np.bincount([row[0] for row in drawn], minlength=64)
    assert (abs(counts - n * expected) <= 5 * np.sqrt(n * expected * (1 - expected)) + 1).all()


def test_an_end_token_ends_a_row_and_all_ended_end_the_work(char, monkeypatch):
    tested = HFModel(char._model, char.tokenizer)
    chances = np.random.default_rng(0).random((300, 6))
    tested.end = None
    whole = tested.sample([0], chances)
    tested.end = 5
    rows = tested.sample([0], chances)
    assert rows == [row[: row.index(5)] if 5 in row else row for row in whole]
    assert min(map(len, rows)) < 6
    passes, states = [], tested._forward.states
    monkeypatch.setattr(
        tested._forward, "states", lambda *args, **kw: passes.append(len(args[0])) or states(*args, **kw)
    )
    assert tested.sample([0, 4], chances, top_k=1) == [[]] * 300  # 5 follows 4 on the circle
    assert len(passes) == 1
    passes.clear()
    mixed = np.concatenate([np.full((30, 6), 0.2), chances[:9]])  # most rows end at the first step, and leave
    tested.end = tested.greedy([0, 9], 1)[0]
    assert tested.sample([0, 9], mixed) == LanguageModel.sample(tested, [0, 9], mixed)


def test_texts_and_settings(char, settings):
    where = char._model.name_or_path
    tested = load("model", "hf").load(settings(where, token_budget=None))
    assert (tested.context, tested.prefix, tested.end) == (128, (0,), 0)
    ids, offsets = tested.encode("ab c")
    assert (ids, offsets) == ([4, 5, 3, 6], [(0, 1), (1, 2), (2, 3), (3, 4)])
    assert tested.decode([0, *ids, 0]).replace(" ", "") == "abc"
    half = load("model", "hf").load(settings(where, token_budget=None, dtype="bfloat16"))
    exact = tested.continuation_logprobs([0], [[4, 5, 6]])[0]
    np.testing.assert_allclose(half.continuation_logprobs([0], [[4, 5, 6]])[0], exact, atol=0.1)
    assert half.sample([0], np.full((2, 3), 0.5), top_k=4) == LanguageModel.sample(
        half, [0], np.full((2, 3), 0.5), top_k=4
    )


def test_what_does_not_fit_is_refused(tokenizer):
    tested = HFModel(plain(), tokenizer)
    tested.continuation_logprobs([0], [[1] * 63])
    tested.sample([0], np.zeros((1, 64)))
    for ask in (
        lambda: tested.continuation_logprobs([0], [[1], [1] * 64]),
        lambda: tested.sample([0], np.zeros((1, 65))),
        lambda: tested.greedy([0] * 64, 2),
        lambda: tested.next_logprobs([[0], [0] * 65]),
    ):
        with pytest.raises(InputError, match="65 positions are needed, but the model has 64"):
            ask()
