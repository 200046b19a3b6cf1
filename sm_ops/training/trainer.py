"""The one trainer: transformers' Trainer with the masked loss of OP-29, checkpoints and exact resumption."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments
from transformers.utils.logging import disable_progress_bar

from sm_ops.core.errors import StageError
from sm_ops.masking.labels import IGNORED
from sm_ops.training.models import pick_device
from sm_ops.training.optimisers import MuonWithAdamW
from sm_ops.training.packing import Row, collate

disable_progress_bar()  # progress is told by the caller

MAX_GRAD_NORM = 1.0
"""Cap of the gradient's norm over all trained parameters (paper C.2)."""


def masked_loss(logits: torch.Tensor, labels: torch.Tensor, kept: torch.Tensor | int) -> torch.Tensor:
    """Summed cross entropy over the labels that are not -100, divided by `kept` (OP-29).

    `logits` (batch, length, vocabulary); `labels` (batch, length), unshifted: position i predicts label i + 1.
    `kept` counts the kept labels of the whole optimiser step, over accumulation and ranks; with none kept the
    loss is 0 and has zero gradient, where plain cross entropy gives NaN.
    """
    following = torch.nn.functional.pad(labels[:, 1:], (0, 1), value=IGNORED)
    total = torch.nn.functional.cross_entropy(
        logits.flatten(0, 1).float(), following.flatten(), ignore_index=IGNORED, reduction="sum"
    )
    return total / torch.as_tensor(kept, device=total.device).clamp(min=1)


def fit(
    model: Any,
    rows: Sequence[Row],
    padding: int,
    settings: Any,
    seed: int,
    scratch: Path,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, float]:
    """Train `model` in place on `rows`; returns the number of optimiser steps and the last epoch's mean loss.

    A row's first token has no context, so its label has to be -100 (see `packing`). `settings`: epochs,
    batch_size, accumulation, optimizer, learning_rate, muon_learning_rate, schedule, warmup_steps, weight_decay,
    dtype, device, threads, checkpoint_steps. A checkpoint in `scratch` is resumed, on the CPU to the same weights
    bit for bit. Raises `StageError` when the loss is no longer a number.
    """
    torch.set_num_threads(settings.threads)
    trainer = Trainer(
        model=model,
        args=_arguments(settings, seed, scratch),
        train_dataset=rows,  # type: ignore[arg-type]
        data_collator=lambda batch: collate(batch, padding),
        compute_loss_func=_step_loss,
        callbacks=[_Progress(progress)],
        optimizers=(_optimiser(model, settings), None),
    )
    trainer.remove_callback(PrinterCallback)
    result = trainer.train(resume_from_checkpoint=last_checkpoint(scratch))
    losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
    if not math.isfinite(sum(losses)):
        first = next(step for step, loss in enumerate(losses, start=1) if not math.isfinite(loss))
        hint = f"The training loss is not a number after step {first} of {len(losses)}; lower the learning rate."
        raise StageError("training-diverged", hint)
    last_epoch = losses[-math.ceil(len(losses) / settings.epochs) :]
    return {"steps": result.global_step, "train_loss": math.fsum(last_epoch) / len(last_epoch)}


def last_checkpoint(scratch: Path) -> str | None:
    """The newest whole checkpoint below `scratch`, if any; one that a killed run left half-written is removed.

    The Trainer writes a checkpoint's state file last.
    """
    found = {int(folder.name.rpartition("-")[2]): folder for folder in scratch.glob("checkpoint-*")}
    for _, folder in sorted(found.items(), reverse=True):
        try:
            json.loads((folder / "trainer_state.json").read_text())
        except (OSError, ValueError):
            shutil.rmtree(folder)
        else:
            return str(folder)
    return None


def _step_loss(outputs: Any, labels: torch.Tensor, num_items_in_batch: torch.Tensor) -> torch.Tensor:
    """One microbatch's share of its step's mean: the Trainer counts kept labels over accumulation and ranks."""
    return masked_loss(outputs.logits, labels, num_items_in_batch)


def _optimiser(model: Any, settings: Any) -> torch.optim.Optimizer | None:
    """The optimiser that the settings name; None leaves AdamW to the Trainer."""
    if settings.optimizer == "adamw":
        return None
    return MuonWithAdamW(
        model.to(pick_device(settings.device)),
        settings.learning_rate,
        settings.muon_learning_rate,
        settings.weight_decay,
    )


def _arguments(settings: Any, seed: int, scratch: Path) -> TrainingArguments:
    arguments = TrainingArguments(
        output_dir=str(scratch),
        num_train_epochs=settings.epochs,
        per_device_train_batch_size=settings.batch_size,
        gradient_accumulation_steps=settings.accumulation,
        learning_rate=settings.learning_rate,
        lr_scheduler_type=settings.schedule,
        warmup_steps=settings.warmup_steps,
        weight_decay=settings.weight_decay,
        max_grad_norm=MAX_GRAD_NORM,
        bf16=settings.dtype == "bfloat16",
        use_cpu=pick_device(settings.device) == "cpu",
        seed=seed % 2**32,
        data_seed=seed % 2**32,
        save_strategy="steps",
        save_steps=settings.checkpoint_steps,
        save_total_limit=1,
        logging_strategy="steps",  # kept in the checkpoints, so that a resumed run knows the earlier losses
        logging_steps=1,
        logging_nan_inf_filter=False,
        report_to=[],
        disable_tqdm=True,
        remove_unused_columns=False,
        dataloader_pin_memory=False,
        average_tokens_across_devices=True,
    )
    # One process trains on one GPU: on several, the Trainer would multiply the batch by their number.
    arguments._n_gpu = min(arguments.n_gpu, 1)
    return arguments


class _Progress(TrainerCallback):
    def __init__(self, progress: Callable[[int, int], None]) -> None:
        self._progress = progress

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.global_step % 10 == 0 or state.global_step == state.max_steps:
            self._progress(state.global_step, state.max_steps)
