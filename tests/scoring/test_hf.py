from __future__ import annotations

import random
import time

import numpy as np
import pytest
import torch

from sm_ops.core.errors import InputError
from sm_ops.core.records import Message, Record
from sm_ops.scoring.backends import hf

pytestmark = pytest.mark.unit


def texts(tiny_lm, seed, lengths, kind="char"):
    words = [t for t in tiny_lm.TinyLM("char").vocab if len(t) == 1 and t not in "+~"]
    rng = random.Random(seed)
    return [Record(str(i), text="".join(rng.choices(words, k=n))) for i, n in enumerate(lengths)]


def closed_form(tiny_lm, kind, ids, bos=True):
    values = tiny_lm.TinyLM(kind).logprobs(list(map(int, ids)), bos=bos)
    return np.array([np.nan if v is None else v for v in values])


@pytest.mark.parametrize("kind", ["char", "bpe"])
def test_scores_equal_the_closed_form(tiny_lm, reference, kind):
    records = texts(tiny_lm, 1, [1, 5, 40, 17, 0, 100])
    scored = reference(kind).score(records)
    assert [s.id for s in scored] == [r.id for r in records]
    for s in scored:
        np.testing.assert_allclose(s.logprobs, closed_form(tiny_lm, kind, s.tokens.ids), atol=4e-6)
        assert (s.logprobs * 2**20 == np.rint(s.logprobs * 2**20)).all()


def test_other_token_budgets_agree(tiny_lm, reference):
    records = texts(tiny_lm, 2, [1, 7, 90, 33, 33, 12, 120, 300])
    wide, narrow = reference("bpe", token_budget=4096).score(records), reference("bpe", token_budget=1).score(records)
    for a, b in zip(wide, narrow, strict=True):
        np.testing.assert_allclose(a.logprobs, b.logprobs, atol=4e-6)


def brute_force(reference, ids, which=0):
    """OP-06 one token at a time: each token from its own context, by the model's plain forward pass."""
    head, context, model = reference.heads[which], reference.context, reference._model
    overlap, room = context // 2, context - len(head)
    first, stop = 0, room
    result = []
    for j, token in enumerate(ids):
        if j == stop:
            first, stop = j - overlap, j - overlap + room
        before = [*head, *ids[first:j]]
        if not before:
            result.append(np.nan)
            continue
        with torch.no_grad():
            logits = model(torch.tensor([before])).logits[0, -1].double()
        result.append(float(logits.log_softmax(-1)[token]))
    return np.array(result)


@pytest.mark.parametrize("examples", [(), ("~ab1", "김 c"), ("x" * 50,)])
@pytest.mark.parametrize("budget", [200, 3000])
def test_long_texts_equal_brute_force(tiny_lm, reference, examples, budget):
    # '~' in an example must be seen from every chunk, a '+' in the text only from chunks that hold it
    tested = reference("char", examples=examples, token_budget=budget)
    prefix = "" if examples and "~" in examples[0] else "+"
    records = [Record("l", text=prefix + r.text) for r in texts(tiny_lm, 4, [200, 128, 20, 0])]
    for s in tested.score(records):
        np.testing.assert_allclose(s.logprobs, brute_force(tested, s.tokens.ids.tolist()), atol=4e-6)


@pytest.mark.parametrize("examples", [(), ("김 c",)])
@pytest.mark.parametrize("budget", [200, 3000])
def test_contrast_scores_the_same_tokens_behind_both_prompts(tiny_lm, reference, examples, budget):
    # heads of different length cut long texts at different places, and each chunk sees its prompt
    tested = reference("char", examples=examples, prompt="+ a", violating="~ keep", token_budget=budget)
    for s in tested.score(texts(tiny_lm, 4, [200, 128, 119, 20, 1, 0])):
        ids = s.tokens.ids.tolist()
        np.testing.assert_allclose(s.logprobs, brute_force(tested, ids, 0), atol=4e-6)
        np.testing.assert_allclose(s.violating, brute_force(tested, ids, 1), atol=4e-6)
        np.testing.assert_array_equal(s.surprise, s.violating - s.logprobs)
        assert (s.violating * 2**20 == np.rint(s.violating * 2**20)).all()


def test_a_prompt_is_tokenized_for_itself(tiny_lm, reference):
    for prompt in ("1", "ab", " "):  # whatever would merge with the text's first characters
        plain, prompted = (reference("bpe", prompt=p).score([Record("0", text="12ab 3")])[0] for p in (None, prompt))
        assert prompted.tokens.ids.tolist() == plain.tokens.ids.tolist()
        assert prompted.violating is None


def test_the_prefix_decides_the_first_token(tiny_lm, reference):
    scored = reference("char", prefix_token="a").score([Record("0", text="b")])[0]
    assert scored.logprobs[0] == pytest.approx(-np.log(2), abs=4e-6)  # 'b' follows 'a' with one bit
    tested = reference("char")
    bare = hf.HFReference(tested._model, tested.tokenizer, head=[])
    one, two, none = bare.score([Record("0", text="a"), Record("1", text="ab"), Record("2", text="")])
    assert np.isnan(one.logprobs).tolist() == [True]
    assert two.logprobs[1] == pytest.approx(-np.log(2), abs=4e-6)
    assert len(none.logprobs) == 0


def test_a_head_that_leaves_no_room_is_refused(reference):
    reference("char", examples=("a" * 61,))  # 128 - 63 - 64 = 1
    with pytest.raises(InputError, match="64 tokens"):
        reference("char", examples=("a" * 62,))
    reference("char", prompt="a", violating="a" * 62)
    with pytest.raises(InputError, match="64 tokens"):
        reference("char", prompt="a", violating="a" * 63)


def make_gpt2(**changes):
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(1)
    config = GPT2Config(vocab_size=64, n_positions=128, n_embd=16, n_layer=2, n_head=2, bos_token_id=0,
                        eos_token_id=0, **changes)  # fmt: skip
    return GPT2LMHeadModel(config).eval()


def soft_capped():
    model = make_gpt2()
    forward = model.forward

    def capped(*args, **kwargs):
        output = forward(*args, **kwargs)
        output.logits = torch.tanh(output.logits * 4)
        return output

    model.forward = capped
    return model


def gemma2():
    from transformers import Gemma2Config, Gemma2ForCausalLM

    torch.manual_seed(1)
    config = Gemma2Config(vocab_size=64, hidden_size=16, intermediate_size=16, num_hidden_layers=2,
                          num_attention_heads=2, num_key_value_heads=1, head_dim=8, sliding_window=16,
                          max_position_embeddings=128, final_logit_softcapping=0.5)  # fmt: skip
    return Gemma2ForCausalLM(config).eval()


def gpt_oss():
    from transformers import GptOssConfig, GptOssForCausalLM

    torch.manual_seed(1)
    config = GptOssConfig(vocab_size=64, hidden_size=16, intermediate_size=16, num_hidden_layers=2, head_dim=8,
                          num_attention_heads=2, num_key_value_heads=1, sliding_window=8, num_local_experts=4,
                          max_position_embeddings=128, num_experts_per_tok=2,
                          rope_parameters={"rope_type": "default", "rope_theta": 1e4})  # fmt: skip
    return GptOssForCausalLM(config).eval()


@pytest.mark.parametrize(
    ("make", "plain"), [(make_gpt2, True), (soft_capped, False), (gemma2, False), (gpt_oss, True)]
)
def test_heads_that_do_more_are_noticed_and_scored_right(tiny_lm, reference, make, plain):
    head = [0, *range(4, 30)]  # longer than the sliding windows
    tested = hf.HFReference(make(), reference("char").tokenizer, head=head, token_budget=300)
    assert tested._forward.plain is plain
    for s in tested.score(texts(tiny_lm, 5, [110, 9, 0])):
        np.testing.assert_allclose(s.logprobs, brute_force(tested, s.tokens.ids.tolist()), atol=1e-5)


def test_chats_score_contents_and_never_template_tokens(chat_tokenizer):
    from transformers import GPT2Config, GPT2LMHeadModel

    turn = "{% for m in messages %}{{ '<|im_start|>' + m['content'] + '<|im_end|>' }}{% endfor %}"
    template = "{{ '<|endoftext|>' }}" + turn
    tokenizer = chat_tokenizer(template)
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=len(tokenizer), n_positions=64, n_embd=16, n_layer=1, n_head=2)
    model = GPT2LMHeadModel(config).eval()
    tested = hf.HFReference(model, tokenizer, hf.fixed_head(tokenizer))
    record = Record("c", messages=(Message("user", "hello world"), Message("assistant", "def add")))
    scored = tested.score([record])[0]
    assert np.isnan(scored.logprobs).tolist() == scored.tokens.special.tolist()
    with torch.no_grad():  # the template's own BOS stands once, not twice
        full = model(torch.tensor([scored.tokens.ids.tolist()])).logits.double().log_softmax(-1)[0]
    for j in np.flatnonzero(~scored.tokens.special):
        assert scored.logprobs[j] == pytest.approx(float(full[j - 1, scored.tokens.ids[j]]), abs=4e-6)


def test_progress_counts_records(tiny_lm, reference):
    seen = []
    reference("char", token_budget=64, prompt="+", violating="~").score(
        texts(tiny_lm, 6, [200, 10, 10, 30]), lambda done, total: seen.append((done, total))
    )
    assert seen[-1] == (4, 4)
    assert seen == sorted(seen)


@pytest.mark.parametrize("offline", ["0", "1"])
def test_a_model_that_is_nowhere_is_one_sentence_fast(monkeypatch, offline, settings):
    monkeypatch.setenv("HF_HUB_OFFLINE", offline)
    start = time.monotonic()
    with pytest.raises(InputError, match="name a folder"):
        hf.load(settings("nobody/no-such-model"))
    with pytest.raises(InputError, match="name a folder"):
        hf.load(settings("/no/such/folder"))
    assert time.monotonic() - start < 30


def test_a_folder_without_a_model_is_one_sentence(tmp_path, settings):
    with pytest.raises(InputError, match="the weights and tokenizer"):
        hf.load(settings(tmp_path))


def test_identity_is_the_content_not_the_place(tiny_lm, reference):
    tested = reference("char")
    source = tested.source
    assert (source.reference, source.prefix, source.dtype) == ("char", "<|endoftext|>", "float32")
    assert len(source.revision) == len(source.tokenizer_hash) == len(source.head) == 64
    assert tested.context == 128
