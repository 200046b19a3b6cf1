"""What a classifier grows from: an encoder by name, or a small ModernBERT with a tokenizer of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from sm_ops.core.errors import InputError
from sm_ops.detectors.forward import frame
from sm_ops.scoring.hub import check_reachable, reading
from sm_ops.scoring.tokenize import load_tokenizer
from sm_ops.training.tiny import train_tokenizer


def named(name: str, revision: str | None, labels: Sequence[str]) -> tuple[Any, Any]:
    """The encoder with a fresh head over `labels`, and its tokenizer; `InputError` where it is not to be had."""
    from transformers import AutoModelForTokenClassification

    check_reachable(name, revision)
    tokenizer = load_tokenizer(name, revision)
    with reading(name):
        model = AutoModelForTokenClassification.from_pretrained(
            name, revision=revision or "main", ignore_mismatched_sizes=True, dtype="float32", **_head(labels)
        )
    return model, tokenizer


def small(texts: Iterable[str], settings: dict[str, Any], labels: Sequence[str], folder: Path) -> tuple[Any, Any]:
    """A random ModernBERT that reads `window` tokens, and a tokenizer trained on the texts, saved in `folder`."""
    from transformers import ModernBertConfig, ModernBertForTokenClassification

    width, heads = settings["width"], settings["heads"]
    if width % (2 * heads):
        hint = f"width is {width} and heads is {heads}; width must be a multiple of twice the heads."
        raise InputError("bad-setting", hint)
    tokenizer = train_tokenizer(texts, settings["vocab_size"], folder)
    end = tokenizer.eos_token_id
    config = ModernBertConfig(
        vocab_size=len(tokenizer),
        hidden_size=width,
        num_hidden_layers=settings["layers"],
        num_attention_heads=heads,
        intermediate_size=2 * width,
        max_position_embeddings=settings["window"],
        pad_token_id=end,
        bos_token_id=end,
        eos_token_id=end,
        cls_token_id=end,
        sep_token_id=end,
        **_head(labels),
    )
    return ModernBertForTokenClassification(config), load_tokenizer(folder)


def check_window(model: Any, tokenizer: Any, window: int) -> None:
    """`InputError` where the encoder reads fewer tokens at once."""
    own = getattr(model.config, "max_position_embeddings", None) or window
    before, behind = frame(tokenizer)
    longest = min(own, tokenizer.model_max_length) - len(before) - len(behind)
    if window > longest:
        raise InputError("long-window", f"window is {window}, but the encoder reads {longest} tokens at once.")


def _head(labels: Sequence[str]) -> dict[str, Any]:
    return {"id2label": dict(enumerate(labels)), "label2id": {label: n for n, label in enumerate(labels)}}
