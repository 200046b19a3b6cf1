"""A tokenizer with a token a byte and any chat template, and a template that behaves as Qwen3's does."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

PLAIN = (
    "{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] + '<|end|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)
THINKING = (
    "{% for message in messages %}{{ '<|im_start|>' + message.role + '\\n' }}"
    "{% if message.role == 'assistant' %}{{ '<think>\\n\\n</think>\\n\\n' + message.content.lstrip('\\n') }}"
    "{% else %}{{ message.content }}{% endif %}{{ '<|im_end|>\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}"
    "{% if enable_thinking is defined and enable_thinking is false %}{{ '<think>\\n\\n</think>\\n\\n' }}{% endif %}"
    "{% endif %}"
)
"""As Qwen3's: an answer has an empty think block in front, and so has the prompt when thinking is switched off."""


@pytest.fixture(scope="session")
def tokenizer_of() -> Callable[[str], Any]:
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    def make(template: str) -> Any:
        vocabulary = {byte: i for i, byte in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
        backend = Tokenizer(models.BPE(vocabulary, []))
        backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)  # type: ignore[assignment]
        backend.decoder = decoders.ByteLevel()  # type: ignore[assignment]
        markers = sorted({"<eos>", *re.findall(r"<\|[a-z_]+?\|>", template + "<|user|><|assistant|><|system|>")})
        backend.add_special_tokens([AddedToken(each, special=True, normalized=False) for each in markers])
        return PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<eos>", chat_template=template)

    return make


@pytest.fixture(scope="session")
def plain(tokenizer_of: Callable[[str], Any]) -> Any:
    return tokenizer_of(PLAIN)


@pytest.fixture(scope="session")
def thinking(tokenizer_of: Callable[[str], Any]) -> Any:
    return tokenizer_of(THINKING)
