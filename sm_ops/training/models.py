"""Load and save causal models: a folder, a hub name, or an adapter beside its base."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch

from sm_ops.core.errors import InputError
from sm_ops.core.fetched import advice

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "auto": "auto"}


def load(base: str | Path, revision: str | None = None, dtype: str = "float32") -> Any:
    """A causal model by folder or hub name, in evaluation mode.

    Raises `InputError` in one sentence when it cannot be had.
    """
    from transformers import AutoModelForCausalLM

    try:
        model = AutoModelForCausalLM.from_pretrained(str(base), revision=revision, dtype=DTYPES[dtype])
    except (OSError, ValueError):
        hint = f"The model {str(base)!r} cannot be loaded; name a folder that holds it, or check the network"
        raise InputError("no-model", f"{hint}{advice(str(base))}.") from None
    return model.eval()


def load_trained(folder: Path, base: str | Path, revision: str | None = None, device: str = "auto") -> Any:
    """What a training wrote: a whole model, or a LoRA adapter that is put onto its base."""
    if (folder / "adapter_config.json").is_file():
        from peft import PeftModel

        model = PeftModel.from_pretrained(load(base, revision), str(folder)).merge_and_unload()
    else:
        model = load(folder)
    return model.eval().to(pick_device(device))


def save(model: Any, folder: Path) -> None:
    """Write weights and config; what is written depends on the weights alone, not on places or hash seeds."""
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(str(folder))
    (folder / "README.md").unlink(missing_ok=True)  # peft's card
    adapter = folder / "adapter_config.json"
    if adapter.is_file():
        config = json.loads(adapter.read_text())
        config["target_modules"].sort()  # a set, which peft writes in any order
        adapter.write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")


def pick_device(name: str) -> str:
    """`auto` is the GPU when torch sees one."""
    if name == "cuda" and not torch.cuda.is_available():
        raise InputError("no-gpu", "device is cuda, but torch sees no GPU; set device to auto or cpu.")
    return "cuda" if name != "cpu" and torch.cuda.is_available() else "cpu"
