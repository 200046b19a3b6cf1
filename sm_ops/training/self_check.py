"""Whether a training did what it says: the weights moved, and what was saved is what was trained."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from sm_ops.core.errors import InputError, StageError
from sm_ops.training.models import load_trained

Numbers = dict[str, float | int | str | None]
PROBE = 32
"""Tokens of the text on which the saved model is compared with the trained one."""


def weights(model: Any) -> dict[str, str]:
    """A hash of each trained parameter (adapters included), to be taken before training."""
    return {name: _hash(each) for name, each in model.named_parameters() if each.requires_grad}


def check(model: Any, before: dict[str, str], folder: Path, base: str | Path, revision: str | None = None) -> Numbers:
    """Compare a trained model with its weights before, and with what `models.save` wrote into `folder`.

    `trained_parameters` and `changed_parameters` count tensors; `reload_max_difference` is the largest between the
    logits of the two models on a fixed text of random tokens. Leaves the model in evaluation mode.

    Raises `StageError` where nothing changed, where what was saved cannot be loaded, and where it answers otherwise:
    by more than 1e-4 standard deviations of the logits, or 0.05 in half precision.
    """
    changed = sum(before[name] != now for name, now in weights(model).items())
    if not changed:
        hint = (
            f"Training changed none of {len(before)} trained tensors; check the learning rate, the labels, and "
            "warmup_steps: the first step has the rate 0, so there have to be more steps than one."
        )
        raise StageError("training-changed-nothing", hint)
    try:
        reloaded = load_trained(folder, base, revision, device=model.device.type)
        found, expected = _logits(reloaded), _logits(model)
    except (InputError, SafetensorError, OSError, ValueError, RuntimeError, KeyError) as error:
        hint = f"The model that was trained cannot be read back ({type(error).__name__}); check the disk and run again."
        raise StageError("reload-failed", hint) from None
    difference = float((found - expected).abs().max()) if found.shape == expected.shape else float("inf")
    near = 0.05 if model.dtype in (torch.bfloat16, torch.float16) else 1e-4
    if not difference <= near * float(expected.std()):
        hint = f"The saved model's logits differ by {difference:.3g} from those of the trained one; train again."
        raise StageError("reload-differs", hint)
    return {
        "trained_parameters": len(before),
        "changed_parameters": changed,
        "reload_max_difference": difference,
    }


def _logits(model: Any) -> torch.Tensor:
    config = model.config.get_text_config()
    length = min(PROBE, getattr(config, "max_position_embeddings", PROBE))
    ids = torch.randint(config.vocab_size, (1, length), generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        return model.eval()(input_ids=ids.to(model.device)).logits.float()


def _hash(parameter: torch.Tensor) -> str:
    return hashlib.sha256(parameter.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes()).hexdigest()
