"""Residual masks: hand-made models with known answers, and small real ones with little room."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers
from transformers import (
    BertConfig,
    BertForMaskedLM,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaForMaskedLM,
)

from sm_ops.attacks.filling import Filler, load_filler
from sm_ops.core.errors import InputError

pytestmark = pytest.mark.unit

CONTROL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
WORDS = [f"w{number}" for number in range(10)]


def word_tokenizer(words=WORDS):
    vocabulary = {word: number for number, word in enumerate([*CONTROL, *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, model_max_length=10_000, cls_token="<s>", sep_token="</s>", pad_token="<pad>",
        unk_token="<unk>", mask_token="<mask>",
    )  # fmt: skip


class SumOfWords:
    """Says at every place the sum, modulo 10, of all the numbers that it sees."""

    def __init__(self, positions=512, size=15):
        self.config = SimpleNamespace(vocab_size=size, max_position_embeddings=positions)
        self.device = torch.device("cpu")
        self.seen = []

    def eval(self):
        return self

    def named_modules(self):
        return []

    def __call__(self, ids, attention_mask):
        self.seen.append(ids[0].tolist())
        numbers = [i - len(CONTROL) for i in ids[0].tolist() if i >= len(CONTROL)]
        logits = torch.zeros(1, ids.shape[1], self.config.vocab_size)
        logits[..., 4] = 9.0  # a control token would be likelier still
        logits[..., len(CONTROL) + sum(numbers) % 10] = 1.0
        return SimpleNamespace(logits=logits)


def test_paper_fills_left_to_right_and_each_side_alone():
    fill = Filler(SumOfWords(), word_tokenizer(), "paper")
    # 1; then 1 + 1 + 3; the other side knows its own 2 only
    assert fill(["w1 [MASK], [MASK] w0", "w2 [MASK]"]) == ["w1 w1, w2 w0", "w2 w2"]


def test_repo_fills_the_whole_query_at_once():
    fill = Filler(SumOfWords(), word_tokenizer(), "repo")
    assert fill(["w1 [MASK], [MASK] w0", "w2 [MASK]"]) == ["w1 w3, w3 w0", "w2 w3"]


def test_the_gap_stays_masked_in_the_query_of_repo():
    model = SumOfWords()
    Filler(model, word_tokenizer(), "repo")(["w1 [MASK]", "w2"])
    assert model.seen == [[0, 6, 4, 4, 7, 2]]


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        # 3 positions: the mask and its neighbours
        ("paper", "w1 w1 w1 w3 w2 w5"),
        # windows of 3 from the beginning: [1 1 1], [? 2 5]
        ("repo", "w1 w1 w1 w7 w2 w5"),
    ],
)
def test_a_long_text_is_seen_through_a_window(how, expected):
    model = SumOfWords(positions=5)
    assert Filler(model, word_tokenizer(), how)(["w1 w1 w1 [MASK] w2 w5"]) == [expected]
    assert max(map(len, model.seen)) == 5


def test_only_masks_change():
    fill = Filler(SumOfWords(), word_tokenizer())
    text = "  Two  blanks,\n<mask> w1 </s> é😀 [MASKED] "
    assert fill([text, "", "([MASK])"]) == [text, "", "(w0)"]


def test_a_mask_becomes_a_whole_word():
    tokenizer = word_tokenizer(["##x", "\t", "y"])
    assert Filler(SumOfWords(size=5 + 3), tokenizer)(["[MASK]"]) == ["y"]


def tiny(kind, positions):
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    if kind == "bert":
        return BertForMaskedLM(BertConfig(vocab_size=15, max_position_embeddings=positions, pad_token_id=1, **sizes))
    return RobertaForMaskedLM(RobertaConfig(vocab_size=15, max_position_embeddings=positions, pad_token_id=1, **sizes))


@pytest.mark.parametrize("kind", ["bert", "roberta"])
@pytest.mark.parametrize("how", ["paper", "repo"])
def test_real_models_answer_as_by_hand_and_within_their_positions(kind, how, tmp_path):
    model, tokenizer = tiny(kind, positions=12), word_tokenizer()
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    fill = load_filler(str(tmp_path), how)
    [found] = fill(["w1 w2 [MASK] w3"])
    with torch.inference_mode():
        logits = model.eval()(torch.tensor([[0, 6, 7, 4, 8, 2]])).logits[0, 3]
    assert found == f"w1 w2 {WORDS[int(logits[5:].argmax())]} w3"
    [long] = fill([" ".join(["w1 [MASK]"] * 20)])
    assert len(long.split()) == 40
    assert set(long.split()) <= set(WORDS)


def test_the_blank_before_a_byte_level_mask_goes_with_the_word():
    vocabulary = {token: number for number, token in enumerate([*CONTROL, "Ġ", "a", "Ġb", "c", "Ġc"])}
    backend = Tokenizer(models.BPE(vocabulary, [("Ġ", "b"), ("Ġ", "c")][:0], unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, cls_token="<s>", sep_token="</s>", pad_token="<pad>", unk_token="<unk>",
        mask_token=AddedToken("<mask>", lstrip=True), model_max_length=512,
    )  # fmt: skip
    model = SumOfWords(size=len(tokenizer))
    Filler(model, tokenizer)(["a [MASK] a"])
    assert model.seen == [[0, 6, 4, 5, 6, 2]]


def test_what_fills_no_mask_is_refused_in_words(tmp_path):
    with pytest.raises(InputError) as refused:
        load_filler(str(tmp_path / "nowhere"))
    assert refused.value.code == "model-not-found"
    model, tokenizer = tiny("bert", 12), word_tokenizer()
    tokenizer.mask_token = None
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(InputError) as refused:
        load_filler(str(tmp_path))
    assert refused.value.code == "no-masked-model"
