"""The extractor's model: a base by folder or hub name, in four bits where asked for, alone or under an adapter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from sm_ops.core.errors import InputError
from sm_ops.scoring.hub import causal_model, check_reachable
from sm_ops.training import models


def load_base(where: str | Path, settings: Any, dtype: str) -> Any:
    """The base model in evaluation mode; `settings`: revision, quantization (`none` or `4bit`)."""
    if settings.quantization == "none":
        return models.load(where, settings.revision, dtype)
    require_four_bits()
    check_reachable(str(where), settings.revision)
    return causal_model(str(where), settings.revision, quantization_config=four_bits(), device_map={"": 0})


def load_tuned(folder: Path, where: str | Path, settings: Any, dtype: str) -> Any:
    """What a tuning wrote: a whole model, or the base under its adapter, which is merged unless the base has 4 bits."""
    if not (folder / "adapter_config.json").is_file():
        return models.load(folder, dtype=dtype)
    model = models.adapted(load_base(where, settings, dtype), folder)
    return (model.merge_and_unload() if settings.quantization == "none" else model).eval()


def four_bits() -> Any:
    """NF4 with double quantization, computing in bfloat16 (QLoRA, arXiv 2305.14314)."""
    from transformers import BitsAndBytesConfig

    return BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=torch.bfloat16,
    )


def require_four_bits() -> None:
    """Raise `InputError` where four bits cannot be had: they need a GPU and the package bitsandbytes."""
    from importlib.util import find_spec

    if not torch.cuda.is_available() or find_spec("bitsandbytes") is None:
        hint = "base.quantization 4bit needs a CUDA GPU and the package bitsandbytes; install it, or set it to none."
        raise InputError("no-four-bits", hint)
