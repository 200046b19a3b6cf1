"""The one trainer: transformers' Trainer with the masked loss of OP-29, the interventions of paper E.1, checkpoints
and exact resumption."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from accelerate.data_loader import SeedableRandomSampler
from transformers import PrinterCallback, Trainer, TrainerCallback, TrainingArguments
from transformers.utils.logging import disable_progress_bar

from sm_ops.core import fs
from sm_ops.core.ending import deferred
from sm_ops.core.errors import InputError, StageError
from sm_ops.core.history import write_history
from sm_ops.core.types import Progress, unheard
from sm_ops.masking.labels import IGNORED
from sm_ops.training import distributed, sharding
from sm_ops.training.interventions import BLOCKING, WEAKENING, blocked_attention, require_blocking, weakened
from sm_ops.training.models import pick_device
from sm_ops.training.optimisers import MuonWithAdamW
from sm_ops.training.packing import Row, collate, empty, learned_tokens
from sm_ops.training.schedule import steps_of, warmup_of

disable_progress_bar()  # progress is told by the caller

MAX_GRAD_NORM = 1.0
"""Cap of the gradient's norm over all trained parameters (paper C.2)."""

LAYOUT = "layout.json"

Numbers = dict[str, float | None]


def masked_loss(logits: torch.Tensor, labels: torch.Tensor, kept: torch.Tensor | int) -> torch.Tensor:
    """Summed cross entropy over the labels that are not -100, divided by `kept` (OP-29).

    `logits` (batch, length, vocabulary); `labels` (batch, length), unshifted: position i predicts label i + 1.
    `kept` counts the kept labels of the whole optimiser step, over accumulation and ranks; with none kept the
    loss is 0 and has zero gradient, where plain cross entropy gives NaN.
    """
    return cross_entropies(logits, labels, "sum") / _divisor(kept, logits)


def split_loss(
    logits: torch.Tensor, labels: torch.Tensor, masked: torch.Tensor, kept: torch.Tensor | int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The loss in two parts, of the unselected and of the selected tokens, both divided by `kept` (OP-34).

    As `masked_loss`, where the labels are those of all supervised tokens and `masked` (batch, length) tells which of
    them are selected.
    """
    terms = cross_entropies(logits, labels, "none")
    selected = torch.nn.functional.pad(masked[:, 1:], (0, 1)).flatten()
    parts = (terms.masked_fill(left_out, 0).sum() / _divisor(kept, logits) for left_out in (selected, ~selected))
    others, chosen = parts
    return others, chosen


def cross_entropies(logits: torch.Tensor, labels: torch.Tensor, reduction: str) -> torch.Tensor:
    """Cross entropies in float32 or wider, 0 at -100: their "sum", or with "none" one a position, in a row of all."""
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
    progress: Progress = unheard,
    intervention: str = "loss",
    steps: int | None = None,
    validation: Sequence[Row] = (),
    patience: int | None = None,
    history_file: Path | None = None,
) -> Numbers:
    """Train `model` in place on `rows`; returns the number of optimiser steps and the last epoch's mean loss.

    A row's first token has no context, so its label has to be -100 (see `packing`). `settings`: epochs,
    batch_size, accumulation, optimizer, learning_rate, muon_learning_rate, schedule, warmup_steps, warmup_ratio,
    weight_decay, steps (see `schedule.steps_of`), dtype, device, threads, checkpoint_steps. A checkpoint in `scratch`
    is resumed, on the CPU to the same weights bit for bit. `steps` trains for so many optimiser steps instead of what
    the settings come to. `intervention` says what happens to the rows' masked tokens, whose labels
    `interventions.prepare` has set. The loss is that of the plain forward pass under `clip` and `scale` too, where the
    mean multiplier over the microbatches with a masked token is returned as well. `steps_without_loss` counts
    optimiser steps without any label.

    With `patience` the loss on the `validation` rows is measured after each pass, training ends when it has not
    fallen for so many passes (the steps above are the most, and what the schedule counts on), and the weights of
    the best pass are kept; `epochs` (trained), `best_epoch` and `validation_perplexity` (of it) are returned as well.

    `history_file` gets the losses by step (see `core.history`).

    `settings.processes` of this machine share the training: each step has the same rows as in one process, and is
    divided by all their labels, so that the weights are those of one process up to rounding (where there is no
    dropout). `settings.parallel` says whether each of them holds the model (`ddp`) or a part of it (`fsdp2`, which
    takes neither Muon nor `clip` nor `patience`; the config refuses them). Each has `settings.threads`, and a GPU of
    its own or, without GPUs, a share of the CPU.

    Raises `StageError` when the loss is no longer a number, `InputError` when the model cannot block attention, no
    validation row has a label, a checkpoint is of another number of processes, there are fewer GPUs, or a launcher has
    started this process as one of several.
    """
    distributed.require_no_launcher()
    _check_layout(settings, scratch)
    arguments = (rows, padding, settings, seed, scratch, intervention, steps, validation, patience, history_file)
    if settings.processes == 1:
        return _fit(progress, model, *arguments)
    device = pick_device(settings.device)
    numbers, weights = distributed.run(
        fit_share, (model, *arguments), settings.processes, device, settings.threads, scratch, progress
    )
    _set_trained(model, weights)
    return numbers


def fit_share(progress: Progress, model: Any, *arguments: Any) -> tuple[Numbers, list[torch.Tensor]]:
    """What one process of several does; the numbers, and the trained weights on the CPU."""
    numbers = _fit(progress, model, *arguments)
    return numbers, [sharding.whole(parameter) for parameter in _trained(model)]


def _fit(
    progress: Progress,
    model: Any,
    rows: Sequence[Row],
    padding: int,
    settings: Any,
    seed: int,
    scratch: Path,
    intervention: str,
    steps: int | None,
    validation: Sequence[Row],
    patience: int | None,
    history_file: Path | None,
) -> Numbers:
    torch.set_num_threads(settings.threads)
    watch = None
    if patience is not None:
        if not learned_tokens(validation):
            hint = f"None of the {len(validation)} validation rows has a token to learn; give others, or no patience."
            raise InputError("no-validation", hint)
        watch = _Patience(patience, lambda: validation_loss(model, validation, padding, settings.batch_size), scratch)
    arguments = _arguments(settings, seed, scratch, steps_of(len(rows), settings) if steps is None else steps)
    if intervention in BLOCKING:
        require_blocking(model, max(len(row["input_ids"]) for row in rows))
    sharded = settings.processes > 1 and settings.parallel == "fsdp2"
    if sharded:
        sharding.shard(model, arguments.device)
    trainer = (_ShardedTrainer if sharded else _Trainer)(
        intervention,
        model=model,
        args=arguments,
        train_dataset=rows if settings.processes == 1 else torch.utils.data.ConcatDataset([rows, [empty(padding)]]),  # type: ignore[arg-type]
        data_collator=lambda batch: collate(batch, padding),
        callbacks=[_Progress(progress), *([watch] if watch else [])],
        optimizers=(_optimiser(model, settings), None),
    )
    trainer.remove_callback(PrinterCallback)
    if settings.processes > 1:
        torch.manual_seed((seed + arguments.process_index) % 2**32)  # each has dropout of its own
    with deferred() as asked_to_leave:
        trainer.add_callback(_Leaving(distributed.agreed(asked_to_leave)))
        trainer.add_callback(_Finished())
        with suppress(_IsFinished):
            trainer.train(resume_from_checkpoint=last_checkpoint(scratch))
    history = [entry for entry in trainer.state.log_history if "loss" in entry]
    losses = [entry["loss"] for entry in history]
    if not math.isfinite(sum(losses)):
        first = next(step for step, loss in enumerate(losses, start=1) if not math.isfinite(loss))
        hint = f"The training loss is not a number after step {first} of {len(losses)}; lower the learning rate."
        raise StageError("training-diverged", hint)
    if history_file and trainer.is_world_process_zero():
        write_history(trainer.state.log_history, history_file)
    epochs = len(watch.losses) if watch else settings.epochs
    last_epoch = losses[-math.ceil(len(losses) / epochs) :]
    numbers: Numbers = {
        "steps": trainer.state.global_step,
        "train_loss": math.fsum(last_epoch) / len(last_epoch),
        "steps_without_loss": sum(entry["labels"] == 0 for entry in history),
    }
    if intervention in WEAKENING:
        weakened_batches = sum(entry["weakened"] for entry in history)
        total = math.fsum(entry["multipliers"] for entry in history)
        numbers["weakened_microbatches"] = weakened_batches
        numbers["mean_multiplier"] = total / weakened_batches if weakened_batches else None
    if watch:
        watch.put_back(trainer.model)
        numbers |= {
            "epochs": epochs,
            "best_epoch": watch.best_epoch,
            "validation_perplexity": math.exp(min(watch.losses)),
        }
    return numbers


def validation_loss(model: Any, rows: Sequence[Row], padding: int, batch_size: int) -> float:
    """Mean negative log likelihood in nats a label of `rows`, without dropout."""
    total, training = 0.0, model.training
    by_length = sorted(rows, key=lambda row: len(row["input_ids"]))
    model.eval()
    with torch.no_grad():
        for start in range(0, len(rows), batch_size):
            batch = collate(by_length[start : start + batch_size], padding)
            inputs = {name: batch[name].to(model.device) for name in ("input_ids", "attention_mask")}
            total += float(masked_loss(model(**inputs).logits, batch["labels"].to(model.device), 1))
    model.train(training)
    return total / learned_tokens(rows)


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


def _check_layout(settings: Any, scratch: Path) -> None:
    """Refuse a checkpoint of another number of processes: its random states and parts of weights do not fit."""
    layout = {"processes": settings.processes, "parallel": settings.parallel if settings.processes > 1 else None}
    file = scratch / LAYOUT
    if last_checkpoint(scratch) is None:
        fs.write_json(file, layout)
    elif file.is_file() and (found := fs.read_json(file)) != layout:
        parallel = f" and parallel={found['parallel']}" if found["parallel"] else ""
        raise InputError(
            "other-processes",
            f"The checkpoint in {scratch} is of a training with processes={found['processes']}{parallel}; set them "
            "as they were to go on with it, or remove that folder to begin again.",
        )


class _Trainer(Trainer):
    """Applies an intervention, and logs with each step's loss what `fit` counts; checkpoints keep the log."""

    def __init__(self, intervention: str, **arguments: Any) -> None:
        super().__init__(compute_loss_func=self._step_loss, **arguments)
        self._intervention = intervention
        self._trained = _trained(arguments["model"])
        self._labels = 0
        self._multipliers = torch.zeros(2, device=self.args.device)  # their sum and number

    def compute_loss(self, model: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        self._masked = inputs.pop("masked")
        if self._intervention in BLOCKING:
            present = inputs["attention_mask"]
            inputs["attention_mask"] = blocked_attention(self.model, self._masked, present)
        return super().compute_loss(model, inputs, *args, **kwargs)

    def _get_train_sampler(self, *args: Any, **kwargs: Any) -> Any:
        if self.args.world_size == 1:
            return super()._get_train_sampler(*args, **kwargs)
        return _SharedOrder(self)

    def _save_rng_state(self, output_dir: str) -> None:
        """All processes have written their part of a checkpoint before its state file says that it is whole."""
        super()._save_rng_state(output_dir)
        self.accelerator.wait_for_everyone()

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


class _ShardedTrainer(_Trainer):
    """Trains a model that `sharding.shard` has shared out, which accelerate then has to leave as it is."""

    model: Any
    optimizer: Any
    lr_scheduler: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.accelerator.prepare_model(self.model, evaluation_mode=True)  # autocast alone, no DDP
        self.model._is_accelerate_prepared = True

    def save_model(self, *args: Any, **kwargs: Any) -> None:
        """The weights go with the optimiser's state."""

    def _load_from_checkpoint(self, *args: Any, **kwargs: Any) -> None:
        """As they were saved."""

    def _save_optimizer_and_scheduler(self, output_dir: str) -> None:
        sharding.save(self.model, self.optimizer.optimizer, Path(output_dir))
        torch.save(self.lr_scheduler.state_dict(), self._scheduler_file(output_dir))

    def _load_optimizer_and_scheduler(self, checkpoint: str | None) -> None:
        if checkpoint is not None:
            sharding.load(self.model, self.optimizer.optimizer, Path(checkpoint))
            self.lr_scheduler.load_state_dict(torch.load(self._scheduler_file(checkpoint), weights_only=True))

    def _scheduler_file(self, checkpoint: str) -> Path:
        return Path(checkpoint) / f"scheduler-{self.args.process_index}.pt"


class _SharedOrder(torch.utils.data.Sampler[int]):
    """The order of one process in each pass, then empty rows until all processes have as many full microbatches.

    The pass is read from the trainer's state: accelerate tells it to no sampler of a pass that is resumed.
    """

    def __init__(self, trainer: _Trainer) -> None:
        self._trainer = trainer
        self._rows = len(trainer.train_dataset) - 1  # type: ignore[arg-type]
        self._order = SeedableRandomSampler(range(self._rows), data_seed=trainer.args.data_seed)
        share = trainer.args.per_device_train_batch_size * trainer.args.world_size
        self._empty = -self._rows % share

    def __len__(self) -> int:
        return self._rows + self._empty

    def __iter__(self) -> Iterator[int]:
        self._order.set_epoch(int(self._trainer.state.epoch or 0))
        yield from self._order
        yield from [self._rows] * self._empty


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


def _arguments(settings: Any, seed: int, scratch: Path, steps: int) -> TrainingArguments:
    batch_size, accumulation = _share(settings)
    arguments = TrainingArguments(
        output_dir=str(scratch),
        max_steps=steps,
        per_device_train_batch_size=batch_size,
        gradient_accumulation_steps=accumulation,
        learning_rate=settings.learning_rate,
        lr_scheduler_type=settings.schedule,
        warmup_steps=warmup_of(steps, settings),
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


def _share(settings: Any) -> tuple[int, int]:
    """Batch size and accumulation of each process: they take turns at microbatches, or else split each of them."""
    if settings.accumulation % settings.processes == 0:
        return settings.batch_size, settings.accumulation // settings.processes
    return settings.batch_size // settings.processes, settings.accumulation


class _Progress(TrainerCallback):
    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.global_step % 10 == 0 or state.global_step == state.max_steps:
            self._progress(state.global_step, state.max_steps)


class _Leaving(TrainerCallback):
    """Ends training with a checkpoint when the process was asked to leave; where it ends anyway there is none."""

    def __init__(self, asked_to_leave: Callable[[], bool]) -> None:
        self._asked_to_leave = asked_to_leave

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self._asked_to_leave() and not control.should_training_stop:
            control.should_save = control.should_training_stop = True


class _IsFinished(Exception):
    """A checkpoint is of a training's last step."""


class _Finished(TrainerCallback):
    """Where the last pass is cut short the Trainer, resumed after the last step, would take one more."""

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.global_step >= state.max_steps:
            raise _IsFinished


class _Patience(TrainerCallback):
    """Measures the validation loss after each pass, keeps the weights of the best one, and ends training.

    The Trainer's log has the losses, so each checkpoint has those up to it; the weights that are best by them stay
    beside it. None is written at the step that ends training: resumed before it, a run ends there again.
    """

    def __init__(self, patience: int, measure: Callable[[], float], scratch: Path) -> None:
        self._patience, self._measure, self._scratch = patience, measure, scratch
        self.losses: list[float] = []

    @property
    def best_epoch(self) -> int:
        """The pass with the smallest loss, from 1; the first of equal ones."""
        return self.losses.index(min(self.losses)) + 1

    def put_back(self, model: Any) -> None:
        """Give the model the weights of the best pass."""
        _set_trained(model, self._best)

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self.losses = [entry["validation_loss"] for entry in state.log_history if "validation_loss" in entry]
        if self.losses:
            self._best = torch.load(self._file(), map_location="cpu", weights_only=True)

    def on_step_end(self, args: Any, state: Any, control: Any, model: Any, **kwargs: Any) -> None:
        if not float(state.epoch).is_integer() and state.global_step < state.max_steps:
            return
        loss = self._measure()
        if not math.isfinite(loss):
            hint = f"The validation loss is not a number after step {state.global_step}; lower the learning rate."
            raise StageError("training-diverged", hint)
        self.losses.append(loss)
        state.log_history.append({"validation_loss": loss, "step": state.global_step})
        passes = len(self.losses)
        if self.best_epoch == passes:
            self._best = [parameter.detach().cpu().clone() for parameter in _trained(model)]
            if state.is_world_process_zero:
                with fs.replacing(self._file()) as unfinished:
                    torch.save(self._best, unfinished)
        if passes - self.best_epoch >= self._patience:
            control.should_training_stop, control.should_save = True, False

    def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.is_world_process_zero and self.losses:
            for path in set(self._scratch.glob("best-*.pt")) - {self._file()}:
                path.unlink()

    def _file(self) -> Path:
        return self._scratch / f"best-{self.best_epoch}.pt"


def _set_trained(model: Any, weights: Sequence[torch.Tensor]) -> None:
    with torch.no_grad():
        for parameter, weight in zip(_trained(model), weights, strict=True):
            parameter.copy_(weight)


def _trained(model: Any) -> list[torch.nn.Parameter]:
    return [parameter for parameter in model.parameters() if parameter.requires_grad]
