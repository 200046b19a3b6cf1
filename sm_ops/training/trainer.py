"""The one trainer: transformers' Trainer with the masked loss of OP-29, the interventions of paper E.1, checkpoints
and exact resumption."""

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
from sm_ops.training.interventions import BLOCKING, WEAKENING, blocked_attention, require_blocking, weakened
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
    return _terms(logits, labels, "sum") / _divisor(kept, logits)


def split_loss(
    logits: torch.Tensor, labels: torch.Tensor, masked: torch.Tensor, kept: torch.Tensor | int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The loss in two parts, of the unselected and of the selected tokens, both divided by `kept` (OP-34).

    As `masked_loss`, where the labels are those of all supervised tokens and `masked` (batch, length) tells which of
    them are selected.
    """
    terms = _terms(logits, labels, "none")
    selected = torch.nn.functional.pad(masked[:, 1:], (0, 1)).flatten()
    parts = (terms.masked_fill(left_out, 0).sum() / _divisor(kept, logits) for left_out in (selected, ~selected))
    others, chosen = parts
    return others, chosen


def _terms(logits: torch.Tensor, labels: torch.Tensor, reduction: str) -> torch.Tensor:
    """Cross entropies in float32 or wider, 0 at -100."""
    following = torch.nn.functional.pad(labels[:, 1:], (0, 1), value=IGNORED)
    wide = logits.flatten(0, 1).to(torch.promote_types(logits.dtype, torch.float32))
    return torch.nn.functional.cross_entropy(wide, following.flatten(), ignore_index=IGNORED, reduction=reduction)


def _divisor(kept: torch.Tensor | int, logits: torch.Tensor) -> torch.Tensor:
    return torch.as_tensor(kept, device=logits.device).clamp(min=1)


def fit(
    model: Any,
    rows: Sequence[Row],
    padding: int,
    settings: Any,
    seed: int,
    scratch: Path,
    progress: Callable[[int, int], None] = lambda done, total: None,
    intervention: str = "loss",
    steps: int | None = None,
) -> dict[str, float | None]:
    """Train `model` in place on `rows`; returns the number of optimiser steps and the last epoch's mean loss.

    A row's first token has no context, so its label has to be -100 (see `packing`). `settings`: epochs,
    batch_size, accumulation, optimizer, learning_rate, muon_learning_rate, schedule, warmup_steps, weight_decay,
    dtype, device, threads, checkpoint_steps. A checkpoint in `scratch` is resumed, on the CPU to the same weights
    bit for bit. `steps` trains for so many optimiser steps instead of `epochs` passes. `intervention` says what
    happens to the rows' masked tokens, whose labels `interventions.prepare` has set. The loss is that of the plain
    forward pass under `clip` and `scale` too, where the mean multiplier over the microbatches with a masked token is
    returned as well. `steps_without_loss` counts optimiser steps without any label.

    Raises `StageError` when the loss is no longer a number, `InputError` when the model cannot block attention.
    """
    torch.set_num_threads(settings.threads)
    trainer = _Trainer(
        intervention,
        model=model,
        args=_arguments(settings, seed, scratch, steps),
        train_dataset=rows,  # type: ignore[arg-type]
        data_collator=lambda batch: collate(batch, padding),
        callbacks=[_Progress(progress)],
        optimizers=(_optimiser(model, settings), None),
    )
    trainer.remove_callback(PrinterCallback)
    if intervention in BLOCKING:
        require_blocking(model, max(len(row["input_ids"]) for row in rows))
    result = trainer.train(resume_from_checkpoint=last_checkpoint(scratch))
    history = [entry for entry in trainer.state.log_history if "loss" in entry]
    losses = [entry["loss"] for entry in history]
    if not math.isfinite(sum(losses)):
        first = next(step for step, loss in enumerate(losses, start=1) if not math.isfinite(loss))
        hint = f"The training loss is not a number after step {first} of {len(losses)}; lower the learning rate."
        raise StageError("training-diverged", hint)
    last_epoch = losses[-math.ceil(len(losses) / settings.epochs) :]
    numbers: dict[str, float | None] = {
        "steps": result.global_step,
        "train_loss": math.fsum(last_epoch) / len(last_epoch),
        "steps_without_loss": sum(entry["labels"] == 0 for entry in history),
    }
    if intervention in WEAKENING:
        weakened_batches = sum(entry["weakened"] for entry in history)
        total = math.fsum(entry["multipliers"] for entry in history)
        numbers["weakened_microbatches"] = weakened_batches
        numbers["mean_multiplier"] = total / weakened_batches if weakened_batches else None
    return numbers


def steps_of(rows: int, settings: Any) -> int:
    """Optimiser steps of `settings.epochs` passes over so many rows in one process; a pass ends with a short step."""
    return settings.epochs * math.ceil(math.ceil(rows / settings.batch_size) / settings.accumulation)


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


class _Trainer(Trainer):
    """Applies an intervention, and logs with each step's loss what `fit` counts; checkpoints keep the log."""

    def __init__(self, intervention: str, **arguments: Any) -> None:
        super().__init__(compute_loss_func=self._step_loss, **arguments)
        self._intervention = intervention
        self._trained = [parameter for parameter in arguments["model"].parameters() if parameter.requires_grad]
        self._labels = 0
        self._multipliers = torch.zeros(2, device=self.args.device)  # their sum and number

    def compute_loss(self, model: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        self._masked = inputs.pop("masked")
        if self._intervention in BLOCKING:
            present = inputs["attention_mask"]
            inputs["attention_mask"] = blocked_attention(self.model, self._masked, present)
        return super().compute_loss(model, inputs, *args, **kwargs)

    def log(self, logs: dict[str, float], *args: Any, **kwargs: Any) -> None:
        if "loss" in logs:
            logs["labels"] = int(self._labels)
            if self._intervention in WEAKENING:
                total, number = torch.as_tensor(self.accelerator.reduce(self._multipliers, "sum")).tolist()
                logs["multipliers"], logs["weakened"] = total, int(number)
                self._multipliers.zero_()
        super().log(logs, *args, **kwargs)

    def _step_loss(self, outputs: Any, labels: torch.Tensor, num_items_in_batch: torch.Tensor) -> torch.Tensor:
        """One microbatch's share of its step's mean: the Trainer counts labels over accumulation and ranks."""
        self._labels = num_items_in_batch
        if self._intervention not in WEAKENING or not self._masked[:, 1:].any():
            return masked_loss(outputs.logits, labels, num_items_in_batch)
        others, selected = split_loss(outputs.logits, labels, self._masked, num_items_in_batch)
        loss, multiplier = weakened(others, selected, self._trained, self._intervention)
        self._multipliers += torch.stack([multiplier.detach(), torch.ones_like(multiplier)])
        return loss


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


def _arguments(settings: Any, seed: int, scratch: Path, steps: int | None) -> TrainingArguments:
    arguments = TrainingArguments(
        output_dir=str(scratch),
        num_train_epochs=settings.epochs,
        max_steps=-1 if steps is None else steps,
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
