"""A random model of the Privacy Filter's very architecture and labels, with a tokenizer, made on the spot."""

from __future__ import annotations

from pathlib import Path

LAYERS, BAND = 2, 4
"""A token's scores depend on LAYERS * BAND tokens to either side."""


def make_tiny_filter(folder: Path) -> Path:
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import (
        OpenAIPrivacyFilterConfig,
        OpenAIPrivacyFilterForTokenClassification,
        PreTrainedTokenizerFast,
    )

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=320, special_tokens=["<|endoftext|>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    tokenizer.train_from_iterator(["My name is Ann. 제 이름은 김가상입니다. " * 3], trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|endoftext|>", pad_token="<|endoftext|>")
    fast.save_pretrained(folder)
    torch.manual_seed(0)
    config = OpenAIPrivacyFilterConfig(
        vocab_size=len(fast),
        hidden_size=32,
        intermediate_size=32,
        num_hidden_layers=LAYERS,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=8,
        num_local_experts=4,
        num_experts_per_tok=2,
        sliding_window=BAND,
        pad_token_id=0,
        eos_token_id=0,
        initializer_range=0.8,
    )
    OpenAIPrivacyFilterForTokenClassification(config).save_pretrained(folder)
    return folder
