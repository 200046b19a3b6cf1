"""What the input holds and how it is scored: BOS once, data never control, and odd texts as exact as plain ones.

Numbers are compared with a plain forward pass over the ids that should stand there, its log-softmax in float64.
"""

from __future__ import annotations

import json
import unicodedata

import numpy as np
import pytest
import torch

from sm_ops.core.errors import InputError
from sm_ops.core.records import Message, Record
from sm_ops.data.records import read_records
from sm_ops.scoring.backends import hf
from sm_ops.scoring.shards import score_in_shards
from sm_ops.scoring.tokenize import encode, tokenize

pytestmark = pytest.mark.unit

BOS, EOS = "<|endoftext|>", "<|im_end|>"
CONTEXT = 64
CHATML = "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}"
BOS_FIRST = "{{ bos_token }}{% for m in messages %}{{ m.role + ': ' + m.content + '<|eot|>' }}{% endfor %}"
ROLE_IS_BOS = "{% for m in messages %}{{ bos_token + m.role + ' ' + m.content + '<|eot|>' }}{% endfor %}"
CHAT = (Message("user", "hello world"), Message("assistant", "def add"))


@pytest.fixture(scope="module")
def model():
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    config = GPT2Config(vocab_size=360, n_positions=CONTEXT, n_embd=32, n_layer=2, n_head=2)
    made = GPT2LMHeadModel(config).eval()
    with torch.no_grad():
        for weight in made.parameters():
            weight.mul_(3)  # far from uniform: a wrong context shows
    return made


@pytest.fixture
def tokenizer(chat_tokenizer):
    return chat_tokenizer(CHATML)


def reference(model, tokenizer, prefix_token=None, **head):
    return hf.HFReference(model, tokenizer, hf.fixed_head(tokenizer, prefix_token=prefix_token, **head))


def by_hand(model, ids):
    """ln p of each id after the ones before it; NaN for the first."""
    if not ids:
        return np.empty(0)
    with torch.no_grad():
        table = model(torch.tensor([ids])).logits.double().log_softmax(-1)[0]
    return np.array([np.nan, *(float(table[j, i]) for j, i in enumerate(ids[1:]))])


def check(scored, model, before):
    """Every score is that of a forward pass over `before` and the record's ids, NaN where the token is special."""
    expected = by_hand(model, [*before, *scored.tokens.ids.tolist()])[len(before) :]
    expected[scored.tokens.special] = np.nan
    np.testing.assert_allclose(scored.logprobs, expected, rtol=0, atol=4e-6)


def texts(*values):
    return [Record(str(i), text=value) for i, value in enumerate(values)]


# ---- BOS and prefix token ------------------------------------------------------------------------------


def adds_bos(tokenizer):
    """As Llama's and Gemma's tokenizers: the post-processor puts BOS before every text."""
    from tokenizers import processors

    bos = tokenizer.bos_token_id
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{BOS} $A", pair=f"{BOS} $A {BOS} $B", special_tokens=[(BOS, bos)]
    )
    return tokenizer


@pytest.mark.parametrize("prepare", [lambda t: t, adds_bos])
@pytest.mark.parametrize("head", [{}, {"prompt": "clean"}, {"examples": ("def a", "b")}])
def test_bos_stands_once_before_a_text_and_has_no_score(model, tokenizer, prepare, head):
    tokenizer = prepare(tokenizer)
    tested = reference(model, tokenizer, **head)
    before = [tokenizer.bos_token_id]
    for example in head.get("examples", ()):
        before += [*encode(tokenizer, example)[0], tokenizer.bos_token_id]
    before += encode(tokenizer, head.get("prompt", ""))[0]
    for scored in tested.score(texts("def add(a)", "x")):
        assert tokenizer.bos_token_id not in scored.tokens.ids
        check(scored, model, before)
    assert tested.source.prefix == BOS


@pytest.mark.parametrize("head", [{}, {"prompt": "clean"}])
def test_a_template_that_begins_with_bos_gives_no_second_one(model, chat_tokenizer, head):
    tokenizer = adds_bos(chat_tokenizer(BOS_FIRST))
    scored = reference(model, tokenizer, **head).score([Record("c", messages=CHAT)])[0]
    bos = tokenizer.bos_token_id
    assert scored.tokens.ids.tolist().count(bos) == 1
    before = [bos, *encode(tokenizer, head.get("prompt", ""))[0]]
    expected = by_hand(model, before + scored.tokens.ids[1:].tolist())[len(before) - 1 :]
    expected[scored.tokens.special] = np.nan
    np.testing.assert_allclose(scored.logprobs, expected, rtol=0, atol=4e-6)


def test_a_role_marker_that_is_also_bos_stays_behind_a_prompt(model, chat_tokenizer):
    tokenizer = chat_tokenizer(ROLE_IS_BOS)
    bos = tokenizer.bos_token_id
    scored = reference(model, tokenizer, prompt="clean").score([Record("c", messages=CHAT)])[0]
    check(scored, model, [bos, *encode(tokenizer, "clean")[0]])
    scored = reference(model, tokenizer).score([Record("c", messages=CHAT)])[0]
    check(scored, model, [])  # the template's first marker is the prefix itself


def test_a_plain_first_token_of_a_template_is_never_taken_for_the_prefix(model, chat_tokenizer):
    tokenizer = chat_tokenizer("{% for m in messages %}{{ m.role + m.content + '<|eot|>' }}{% endfor %}")
    tokenizer.bos_token = tokenizer.eos_token = None
    head = encode(tokenizer, "user")[0]  # no prefix token, and a prompt that begins as the template does
    scored = hf.HFReference(model, tokenizer, head[:1]).score([Record("c", messages=CHAT)])[0]
    check(scored, model, head[:1])


@pytest.mark.parametrize(("change", "prefix_token", "expected"), [
    ({}, None, BOS), ({"bos_token": None}, None, EOS), ({}, "<|start|>", "<|start|>"),
    ({"bos_token": None, "eos_token": None}, None, "none"),
])  # fmt: skip
def test_the_first_token_is_scored_behind_the_recorded_prefix_or_missing(
    model, tokenizer, change, prefix_token, expected
):
    for name, value in change.items():
        setattr(tokenizer, name, value)
    tested = reference(model, tokenizer, prefix_token)
    assert tested.source.prefix == expected
    before = [] if expected == "none" else [tokenizer.convert_tokens_to_ids(expected)]
    for scored in tested.score(texts("def add(a)", "x", "")):
        check(scored, model, before)
        assert not (scored.logprobs == 0).any()
        assert np.isnan(scored.logprobs).tolist() == [expected == "none"] * len(scored.logprobs[:1]) + [False] * (
            len(scored.logprobs) - 1
        )


def test_what_stands_before_a_text_decides_the_recorded_head(model, tokenizer):
    heads = [{}, {"prompt": "a"}, {"prompt": "b"}, {"examples": ("a",)}, {"prefix_token": "<|start|>"}]
    assert len({reference(model, tokenizer, **head).source.head for head in heads}) == len(heads)
    contrast = hf.HFReference(model, tokenizer, [0], violating=[0, 1])
    assert contrast.source.head != hf.HFReference(model, tokenizer, [0]).source.head


# ---- control strings in the data -----------------------------------------------------------------------


@pytest.mark.parametrize("fake", [BOS, EOS, f"a{BOS}b", f"{BOS}{BOS}", "<|im_start|>user\nhello<|im_end|>\n"])
def test_control_strings_in_the_data_are_data(model, tokenizer, fake):
    scored = reference(model, tokenizer).score(
        [Record("t", text=fake), Record("c", messages=(Message("user", "a"), Message("assistant", fake)))]
    )
    control = set(tokenizer.added_tokens_decoder)
    for s in scored:
        check(s, model, [tokenizer.bos_token_id])
        assert not control & set(s.tokens.ids[s.tokens.eligible].tolist())
        assert not np.isnan(s.logprobs[s.tokens.eligible]).any()
    assert tokenizer.decode(scored[0].tokens.ids) == fake


def whole_words():
    from tokenizers import models, pre_tokenizers

    words = {"<unk>": 0, "</s>": 1, **{c: i for i, c in enumerate("ab</s>nuk", 2)}}
    return models.WordLevel(words, unk_token="<unk>"), pre_tokenizers.WhitespaceSplit()


def unigrams():
    from tokenizers import models, pre_tokenizers

    pieces = [("<unk>", 0.0), ("</s>", -1.0), *((c, -3.0) for c in "ab</s>nuk▁")]
    return models.Unigram(pieces, unk_id=0), pre_tokenizers.Metaspace()


def words_without_merges():
    from tokenizers import models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = {"<unk>": 0, "</s>": 1, **{c: i for i, c in enumerate(alphabet, 2)}}
    return models.BPE(words, [], ignore_merges=True), pre_tokenizers.ByteLevel(add_prefix_space=False)


@pytest.mark.parametrize("make", [whole_words, unigrams, words_without_merges])
@pytest.mark.parametrize("text", ["</s>", "a </s> b", "</s> </s>", "a <unk>", "a</s>b"])
def test_models_that_know_a_control_token_as_a_word_do_not_read_it_in_data(make, text):
    """T5's kind of tokenizer gives the id of </s> for the characters, although asked not to (seen)."""
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    words, split = make()
    bare = Tokenizer(words)
    bare.pre_tokenizer = split
    fast = PreTrainedTokenizerFast(tokenizer_object=bare, eos_token="</s>", unk_token="<unk>")
    for tokenizer in (bare, fast) if bare.get_added_tokens_decoder() else (fast,):
        tokens = tokenize(Record("0", text=text), tokenizer)
        pieces = [text[a:b] for a, b in zip(tokens.starts, tokens.ends, strict=True)]
        assert fast.eos_token_id not in tokens.ids
        assert "<unk>" not in pieces


# ---- length --------------------------------------------------------------------------------------------


def test_texts_at_the_edge_of_the_context(model, tokenizer):
    """With BOS, 63 tokens fill the context; one more begins a second chunk with half the context before it."""
    letters = "abcdefghijklmnopqrstuvwxyz" * 8
    whole = encode(tokenizer, letters)[0]
    edge = [letters[: len(tokenizer.decode(whole[:n]))] for n in (62, 63, 64, 128)]
    tested, bos = reference(model, tokenizer), tokenizer.bos_token_id
    for scored, n in zip(tested.score(texts(*edge)), (62, 63, 64, 128), strict=True):
        ids = scored.tokens.ids.tolist()
        assert len(ids) == n
        np.testing.assert_allclose(scored.logprobs[:63], by_hand(model, [bos, *ids[:63]])[1:], rtol=0, atol=4e-6)
        second = by_hand(model, [bos, *ids[31:94]])[33:]  # 32 old tokens, then the new ones
        np.testing.assert_allclose(scored.logprobs[63:94], second, rtol=0, atol=4e-6)
        assert not np.isnan(scored.logprobs).any()


def test_an_empty_text_has_no_token_and_a_short_one_its_own(model, tokenizer):
    empty, one = reference(model, tokenizer).score(texts("", "a"))
    assert (len(empty.tokens), empty.logprobs.dtype) == (0, np.float64)
    assert len(one.tokens) == 1
    check(one, model, [tokenizer.bos_token_id])


# ---- characters ----------------------------------------------------------------------------------------

CHARACTERS = {
    "nfd": unicodedata.normalize("NFD", "é한글 añB"),
    "nfc": "é한글 añB",
    "emoji with joiners": "a👩‍👩‍👧‍👦b🏳️‍🌈 👍🏽",
    "right to left": "שלום abc مرحبا \u200f-\u202bx\u202c",
    "crlf": "a\r\nb\r\n\r\nc\rd\n",
    "nul": "a\x00b\x00\x00",
    "other controls": "\ufeffa\x0b\x0c\x85\u2028b\x1b[0m",
    "noncharacters and private use": "a\uffffb\U0010ffff\ue000",
    "blanks": "  \t  a \n\n   ",
}


@pytest.mark.parametrize("name", CHARACTERS)
def test_every_character_is_scored_as_it_is_stored(model, tokenizer, name):
    text = CHARACTERS[name]
    scored = reference(model, tokenizer).score(texts(text))[0]
    check(scored, model, [tokenizer.bos_token_id])
    assert not np.isnan(scored.logprobs).any()
    assert tokenizer.backend_tokenizer.decode(scored.tokens.ids.tolist()) == text
    covered = {p for a, b in zip(scored.tokens.starts, scored.tokens.ends, strict=True) for p in range(a, b)}
    assert covered == set(range(len(text)))


@pytest.mark.parametrize("text", ["aéb", "é", "é é", "한글", "ạ́b", "각"])
def test_a_tokenizer_that_composes_keeps_offsets_of_the_stored_text(model, tokenizer, text):
    """NFC in the tokenizer: e and its accent are one token, but two characters of the record."""
    from tokenizers import normalizers

    composed = reference(model, tokenizer).score(texts(text))[0]
    tokenizer.backend_tokenizer.normalizer = normalizers.NFC()
    stored = unicodedata.normalize("NFD", text)
    scored = reference(model, tokenizer).score(texts(stored))[0]
    assert scored.tokens.ids.tolist() == composed.tokens.ids.tolist()
    np.testing.assert_array_equal(scored.logprobs, composed.logprobs)
    place = [len(unicodedata.normalize("NFD", text[:i])) for i in range(len(text) + 1)]
    assert scored.tokens.starts.tolist() == [place[i] for i in composed.tokens.starts]
    assert scored.tokens.ends.tolist() == [place[i] for i in composed.tokens.ends]


def test_a_tokenizer_that_drops_characters_is_still_refused(model, tokenizer):
    from tokenizers import normalizers

    tokenizer.backend_tokenizer.normalizer = normalizers.StripAccents()
    with pytest.raises(InputError, match=r"Record 0: .* position 2"):
        reference(model, tokenizer).score(texts(unicodedata.normalize("NFD", "aq́")))


@pytest.mark.parametrize("record", [
    Record("r", text="a\ud800b"), Record("r", text="\udcff"),
    Record("r", messages=(Message("user", "hi"), Message("assistant", "a\udfff"))),
])  # fmt: skip
def test_half_a_surrogate_pair_is_refused_by_number_and_place(model, tokenizer, record, tmp_path):
    tested = reference(model, tokenizer)
    for score in (tested.score, lambda records: score_in_shards(tested, records, tmp_path)):
        with pytest.raises(InputError, match=r"Record 1: .* position \d+ of the text") as caught:
            score([Record("0", text="fine"), record])
        assert caught.value.hint.isascii()


def test_the_reader_refuses_half_a_surrogate_pair_too(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_text(json.dumps({"id": "0", "text": "a\ud800b"}) + "\n")
    with pytest.raises(InputError, match="line 1, field text"):
        list(read_records(path))


def test_a_prompt_with_half_a_surrogate_pair_is_refused(model, tokenizer):
    with pytest.raises(InputError, match="surrogate"):
        reference(model, tokenizer, prompt="\ud800")
