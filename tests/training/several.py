"""Trainings that several processes share, and the same ones alone: cases that run in one launch of two ranks."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import psutil
import torch

from sm_ops.core import fs
from sm_ops.core.errors import InputError
from sm_ops.core.settings import Settings
from sm_ops.training import interventions, lora, packing, tiny, trainer
from sm_ops.training.masked import Example

KEPT = (11, 0, 1, 7, 0, 3, 11, 2, 5, 1, 9)
"""Labels of each row that are learned; eleven rows share no step evenly."""

SETTINGS = {
    "epochs": 4, "batch_size": 2, "accumulation": 2, "learning_rate": 1e-2, "schedule": "linear",
    "warmup_steps": 2, "warmup_ratio": None, "steps": None,
    "weight_decay": 0.1, "dtype": "float32", "device": "cpu", "threads": 1, "checkpoint_steps": 100,
    "optimizer": "adamw", "muon_learning_rate": 1e-2,
}  # fmt: skip

CASES: dict[str, dict[str, Any]] = {
    "pretrain-ddp": {},
    "pretrain-ddp-split-batch": {"accumulation": 1, "batch_size": 4},
    "pretrain-ddp-muon": {"optimizer": "muon"},
    "pretrain-ddp-nothing-to-learn": {"kept": (0,) * 11},
    "pretrain-ddp-few-rows": {"kept": (11,)},
    "pretrain-ddp-patience": {"patience": 2, "learning_rate": 0.1, "epochs": 9},
    "pretrain-fsdp2": {"parallel": "fsdp2"},
    "pretrain-fsdp2-nothing-to-learn": {"parallel": "fsdp2", "kept": (0,) * 11},
    "lora-ddp": {"method": "lora"},
    "lora-fsdp2": {"method": "lora", "parallel": "fsdp2"},
    "lora-fsdp2-half": {"method": "lora", "parallel": "fsdp2", "dtype": "bfloat16"},
    "scale-ddp": {"intervention": "scale"},
    "scale-fsdp2": {"intervention": "scale", "parallel": "fsdp2"},
    "clip-ddp": {"intervention": "clip"},
    "attention-ddp": {"intervention": "attention"},
    "attention-fsdp2": {"intervention": "attention", "parallel": "fsdp2"},
    "both-lora-fsdp2": {"intervention": "both", "method": "lora", "parallel": "fsdp2"},
}
RESUMED = {
    "ddp": {"dropout": 0.1},
    "fsdp2": {"dropout": 0.1, "parallel": "fsdp2"},
    "lora-fsdp2": {"dropout": 0.1, "parallel": "fsdp2", "method": "lora"},
}
"""Trainings that are broken off in the middle of their third pass."""


def fit(
    scratch: Path, processes: int, method: str = "pretrain", intervention: str = "loss", kept: tuple[int, ...] = KEPT,
    dropout: float = 0.0, patience: int | None = None, parallel: str = "ddp", steps: int | None = None,
    launch: bool = True, progress: Any = lambda done, total: None, **changes: Any,
) -> dict[str, Any]:  # fmt: skip
    """Train a small model: numbers, log of each step, weights. Without `launch` the caller is one of the processes."""
    settings = Settings({**SETTINGS, **changes, "processes": processes, "parallel": parallel})
    model = new_model(method, dropout, settings.dtype)
    made = rows(kept, intervention)
    rest = (made, 0, settings, 7, scratch)
    held_out = rows((11, 11, 11), "loss") if patience else ()
    if launch:
        numbers = trainer.fit(model, *rest, progress, intervention, steps, held_out, patience)
        weights = [each.detach() for each in model.parameters() if each.requires_grad]
    else:
        numbers, weights = trainer.fit_share(progress, model, *rest, intervention, steps, held_out, patience, None)
    return {"numbers": numbers, "log": log(scratch), "weights": torch.cat([each.flatten() for each in weights])}


def new_model(method: str = "pretrain", dropout: float = 0.0, dtype: str = "float32") -> Any:
    """Equal weights at every call."""
    model = tiny.new_model(SimpleNamespace(layers=2, width=16, heads=2), 32, 12, end=0, seed=0)
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = dropout
    if method == "lora":
        torch.manual_seed(1)
        model = lora.wrap(model.to(getattr(torch, dtype)), SimpleNamespace(rank=2, alpha=4, dropout=0.0))
    return model


def rows(kept: tuple[int, ...], intervention: str) -> list[packing.Row]:
    """Random rows with so many learned tokens each, the others masked."""
    random, examples = np.random.default_rng(0), []
    for number in kept:
        ids = random.integers(1, 32, 12)
        masked = (np.arange(12) > 0) & (random.permutation(12) >= number)
        examples.append(Example("", ids, np.where(masked, packing.IGNORED, ids), masked))
    return packing.rows(interventions.prepare(examples, intervention), 12)


def log(scratch: Path) -> list[dict[str, float]]:
    """What the newest checkpoint says of each step."""
    states = [json.loads(file.read_text()) for file in scratch.glob("checkpoint-*/trainer_state.json")]
    history = max(states, key=lambda state: state["global_step"])["log_history"] if states else []
    return [step for step in history if "loss" in step]


def share(progress: Any, folder: Path) -> dict[str, Any]:
    """All cases, in one of several processes."""
    found = {name: fit(folder / name, 2, launch=False, **case) for name, case in CASES.items()}
    for name, case in RESUMED.items():
        steady = {**case, "launch": False, "schedule": "constant", "warmup_steps": 0}
        found[f"{name}-whole"] = fit(folder / f"{name}-whole", 2, steps=12, **steady)
        fit(folder / f"{name}-resumed", 2, steps=7, **steady)
        found[f"{name}-resumed"] = fit(folder / f"{name}-resumed", 2, steps=12, **steady)
    return found


def main(scratch: Path, ending: str) -> None:
    """Train on two processes; `ending` says what ends it at step 20 of 100: nothing, a rank, SIGTERM or SIGKILL."""

    def progress(done: int, total: int) -> None:
        if done == 20:
            ENDINGS[ending]()

    once = {"schedule": "constant", "checkpoint_steps": 8, "dropout": 0.1, "learning_rate": 1e-3}
    try:
        found = fit(scratch, 2, steps=100, progress=progress, **once)
    except InputError as error:
        sys.exit(error.hint)
    print(fs.sha256(found["weights"].numpy().tobytes()), found["numbers"]["steps"])


ENDINGS = {
    "nothing": lambda: None,
    "rank": lambda: psutil.Process().children()[1].kill(),
    "asked": lambda: os.kill(os.getpid(), signal.SIGTERM),
    "caller": lambda: os.kill(os.getpid(), signal.SIGKILL),
    "group": lambda: os.killpg(os.getpgid(0), signal.SIGKILL),
}

if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
