"""Load and save causal models: a folder, a hub name, or an adapter beside its base."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

from sm_ops.scoring.arithmetic import pick_device, pick_dtype
from sm_ops.scoring.hub import causal_model, check_reachable, reading


def load(base: str | Path, revision: str | None = None, dtype: str = "float32") -> Any:
    """A causal model by folder or hub name, in evaluation mode.

    Raises `InputError` in one sentence when it cannot be had.
    """
    check_reachable(str(base), revision)
    return causal_model(str(base), revision, dtype=pick_dtype(dtype))


def load_trained(folder: Path, base: str | Path, revision: str | None = None, device: str = "auto") -> Any:
    """What a training wrote: a whole model, or a LoRA adapter that is put onto its base."""
    if (folder / "adapter_config.json").is_file():
        model = adapted(load(base, revision), folder).merge_and_unload()
    else:
        model = load(folder)
    return model.eval().to(pick_device(device))


def adapted(model: Any, folder: Path) -> Any:
    """A base under the LoRA adapter of a folder; `InputError` where that is damaged or does not fit the base."""
    from peft import PeftModel

    with reading(str(folder)), warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of one library about another
        warnings.filterwarnings("error", "Found missing adapter keys")  # it would begin as no adapter at all
        return PeftModel.from_pretrained(model, str(folder))


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
