"""A mixture, rows shorter than a model's positions, and figures to come to: what of them a config may say."""

from __future__ import annotations

import pytest

from sm_ops.core.config import load_pipeline
from sm_ops.core.errors import InputError

pytestmark = pytest.mark.unit

MIXTURE = "mixture: {general_tokens: 1000, domain_tokens: 100}\n"
NGRAM = "references: {ngram: {backend: ngram}}\nmasking: {reference: ngram}\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (MIXTURE, "references.tiny is the base model, which has learnt the private values with the mixture"),
        (MIXTURE + NGRAM + "base: {name: gpt2}\n", "leave base.name empty"),
        (MIXTURE + NGRAM + "train: {method: lora}\n", "a mixture is learnt whole"),
        (MIXTURE + NGRAM + "train: {steps: 5}\n", "train.steps would end a pass early"),
        (MIXTURE + NGRAM + "base: {steps: 5}\n", "base.steps would end a pass early"),
        ("mixture: {general_tokens: 0, domain_tokens: 1}\n", "mixture.general_tokens is 0"),
        ("base: {name: gpt2, tokenizer: gpt2}\n", "tokenizer is of a model trained on the spot"),
        ("base: {positions: 200}\n", "context 256 is more than the 200 positions"),
        ("base: {positions: 256}\ntrain: {context: 300}\n", "train.context 300 is more than the 256"),
        ("train: {rounds: 0}\n", "train.rounds is 0"),
        ("train: {warmup_ratio: 1}\n", "train.warmup_ratio is 1"),
        ("published: {schedule.steps: [1]}\n", "published"),
    ],
)
def test_what_cannot_work_is_refused(text, words, tmp_path):
    (tmp_path / "my.yaml").write_text(text)
    with pytest.raises(InputError, match=words):
        load_pipeline(str(tmp_path / "my.yaml"))


@pytest.mark.parametrize(
    "text",
    [
        MIXTURE + NGRAM,
        MIXTURE + "train: {method: scratch}\nbase: {steps: 5}\n",  # the base model has seen no private value
        "base: {positions: 300, tokenizer: gpt2, vocab_size: 50257}\ntrain: {context: 280, rounds: 2}\n",
    ],
)
def test_what_can_work_is_taken(text, tmp_path):
    (tmp_path / "my.yaml").write_text(text)
    load_pipeline(str(tmp_path / "my.yaml"))
