"""LoRA on all linear layers (paper C.1: rank 16, alpha 32, no dropout)."""

from __future__ import annotations

import warnings
from collections import Counter
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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # peft asks for a property that transformers renames
        wrapped = get_peft_model(model, config)
    wrapped.peft_config["default"].base_model_name_or_path = ""  # with a name, peft asks the hub at every save
    return wrapped


def coverage(model: Any) -> dict[str, int]:
    """How many layers of each kind carry an adapter, and how many parameters are trained."""
    kinds = Counter(name.rpartition(".")[2] for name, module in model.named_modules() if hasattr(module, "lora_A"))
    trained = sum(p.numel() for p in model.parameters() if p.requires_grad)
    return {**dict(sorted(kinds.items())), "trainable_parameters": trained}


def left_out(model: Any) -> dict[str, int]:
    """How many weight matrices of each kind carry no adapter, embeddings and output head included.

    `all-linear` reaches modules of class Linear (and Conv1D) alone: a mixture of experts that keeps its experts'
    weights as plain parameters (gpt-oss) shows up here as `experts.gate_up_proj` and `experts.down_proj`.
    """
    found: Counter[str] = Counter()
    for name, parameter in model.named_parameters():
        owner, own = name.split(".")[-2:]
        adapted = {"base_layer", "lora_A", "lora_B"} & set(name.split("."))
        if parameter.ndim > 1 and not own.endswith("bias") and not adapted:
            found[owner if own == "weight" else f"{owner}.{own}"] += 1
    return dict(sorted(found.items()))
