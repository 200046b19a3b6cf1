"""LoRA on all linear layers (paper C.1: rank 16, alpha 32, no dropout)."""

from __future__ import annotations

from typing import Any


def wrap(model: Any, settings: Any) -> Any:
    """Freeze `model` and put adapters on every linear layer but the output head.

    `settings`: rank, alpha, dropout. GPT-2's Conv1D stores weights transposed, which peft has to be told.
    """
    from peft import LoraConfig, get_peft_model
    from transformers.pytorch_utils import Conv1D

    config = LoraConfig(
        r=settings.rank,
        lora_alpha=settings.alpha,
        lora_dropout=settings.dropout,
        target_modules="all-linear",
        fan_in_fan_out=any(isinstance(module, Conv1D) for module in model.modules()),
        task_type="CAUSAL_LM",
    )
    return get_peft_model(model, config)


def coverage(model: Any) -> dict[str, int]:
    """How many layers of each kind carry an adapter, and how many parameters are trained."""
    layers: dict[str, int] = {}
    for name, module in model.named_modules():
        if hasattr(module, "lora_A"):
            kind = name.rpartition(".")[2]
            layers[kind] = layers.get(kind, 0) + 1
    trained = sum(p.numel() for p in model.parameters() if p.requires_grad)
    return {**dict(sorted(layers.items())), "trainable_parameters": trained}
