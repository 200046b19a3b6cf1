"""The extractor's base model trained on the spot: a byte-level tokenizer made for copying, and a small Llama.

Copying is the skill that the task needs, so the tokenizer cuts a value the same way wherever it stands: every
digit, Hangul syllable, blank and sign is a piece of its own, and merges happen within these and within runs of other
letters. Rotary positions let a small model learn to copy sooner than learned ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sm_ops.pii.extractor import marking
from sm_ops.pii.extractor.prompt import INSTRUCTION
from sm_ops.pii.types import TYPES
from sm_ops.training import tiny

_THETA = 1e6
"""Of the rotary positions: half of the frequencies hardly turn within a document, so they can compare contents."""
_PAIRS, _STRENGTH = 6, 7.0
"""Frequencies that tell a distance, and the bias of each, which puts 98 % of the attention on one place."""
_PIECES = r"\p{Hangul}|\p{N}|\s|[\p{P}\p{S}]"


def train_tokenizer(texts: Iterable[str], vocab_size: int, folder: Path) -> Any:
    """A byte-level BPE with a plain chat template; saved and loaded back.

    The instruction, the same in every chat, is one token, and so are each type and each mark.
    """
    from tokenizers import Regex, pre_tokenizers

    splitting = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_PIECES), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    return tiny.train_tokenizer(texts, vocab_size, folder, splitting, (INSTRUCTION, *TYPES, *marking.TOKENS))


def shape(settings: Any, vocab_size: int, context: int, end: int) -> Any:
    """The config of a small Llama. `settings`: layers, width, heads."""
    from transformers import LlamaConfig

    return LlamaConfig(
        vocab_size=vocab_size,
        hidden_size=settings.width,
        intermediate_size=3 * settings.width,
        num_hidden_layers=settings.layers,
        num_attention_heads=settings.heads,
        num_key_value_heads=settings.heads,
        max_position_embeddings=context,
        rope_parameters={"rope_type": "default", "rope_theta": _THETA},
        attention_bias=True,
        tie_word_embeddings=True,
        bos_token_id=end,
        eos_token_id=end,
        pad_token_id=end,
    )


def new_model(settings: Any, vocab_size: int, context: int, end: int, seed: int) -> Any:
    """A model of that shape with weights drawn from `seed`, whose first heads look back."""
    import torch
    from transformers import LlamaForCausalLM

    torch.manual_seed(seed)
    model = LlamaForCausalLM(shape(settings, vocab_size, context, end))
    _look_back(model.model.layers[0].self_attn, settings.heads, settings.width // settings.heads)
    return model


def _look_back(attention: Any, heads: int, size: int) -> None:
    """Let head h of a layer, but for the last head, attend to the token h + 1 places before, whatever it is.

    To copy, a model has to find where what it just wrote stands in the text, for which it needs at each place what
    stood before. Such heads are what small models learn last; here they are the start, and learn on. The biases of
    query and key alone, turned by the rotary positions, make scores that depend on the distance only.
    """
    import torch

    half = size // 2
    angles = torch.tensor([_THETA ** (-2 * pair / size) for pair in range(min(_PAIRS, half))])
    with torch.no_grad():
        for head in range(heads - 1):
            rows = slice(head * size, (head + 1) * size)
            attention.q_proj.weight[rows] = 0
            attention.k_proj.weight[rows] = 0
            first = head * size
            attention.k_proj.bias[first : first + len(angles)] = _STRENGTH
            attention.q_proj.bias[first : first + len(angles)] = _STRENGTH * torch.cos(angles * (head + 1))
            second = first + half
            attention.q_proj.bias[second : second + len(angles)] = -_STRENGTH * torch.sin(angles * (head + 1))
