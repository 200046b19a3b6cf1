"""The one trainer: transformers' Trainer with the masked loss of OP-29, checkpoints and exact resumption."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_utils import get_last_checkpoint

from sm_ops.masking.labels import IGNORED
from sm_ops.training.packing import collate


def masked_loss(logits: torch.Tensor, labels: torch.Tensor, kept: torch.Tensor | int) -> torch.Tensor:
    """Summed cross entropy over the labels that are not -100, divided by `kept` (OP-29).

    `logits` (batch, length, vocabulary); `labels` (batch, length), unshifted: position i predicts label i + 1.
    `kept` counts the kept labels of the whole optimiser step, over accumulation and ranks; with none kept the
    loss is 0 and has zero gradient, where plain cross entropy gives NaN.
    """
    total = torch.nn.functional.cross_entropy(
        logits[:, :-1].float().flatten(0, 1),
        labels[:, 1:].flatten(),
        ignore_index=IGNORED,
        reduction="sum",
    )
    return total / torch.as_tensor(kept, device=total.device).clamp(min=1)


class MaskedTrainer(Trainer):
    """Trainer whose loss is the mean over the kept positions of one optimiser step."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.model_accepts_loss_kwargs = True  # let the Trainer count kept labels over accumulation

    def compute_loss(
        self, model: Any, inputs: dict, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """The masked loss of one microbatch; the sum over a step's microbatches is the step's mean."""
        labels = inputs["labels"]
        outputs = model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"])
        kept = (labels != IGNORED).sum() if num_items_in_batch is None else num_items_in_batch
        loss = masked_loss(outputs.logits, labels, kept)
        return (loss, outputs) if return_outputs else loss


class _Progress(TrainerCallback):
    def __init__(self, progress: Callable[[int, int], None]) -> None:
        self._progress = progress

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.global_step % 10 == 0 or state.global_step == state.max_steps:
            self._progress(state.global_step, state.max_steps)


def fit(
    model: Any,
    rows: Sequence[dict[str, list[int]]],
    padding: int,
    settings: Any,
    seed: int,
    scratch: Path,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> dict[str, float]:
    """Train `model` in place on `rows`; returns the number of steps and the final mean loss.

    `settings`: epochs, batch_size, accumulation, learning_rate, schedule, warmup_steps, weight_decay, dtype,
    device, threads, checkpoint_steps. A checkpoint in `scratch` is resumed, on the CPU to the same weights bit
    for bit.
    """
    torch.set_num_threads(settings.threads)
    arguments = TrainingArguments(
        output_dir=str(scratch),
        num_train_epochs=settings.epochs,
        per_device_train_batch_size=settings.batch_size,
        gradient_accumulation_steps=settings.accumulation,
        learning_rate=settings.learning_rate,
        lr_scheduler_type=settings.schedule,
        warmup_steps=settings.warmup_steps,
        weight_decay=settings.weight_decay,
        bf16=settings.dtype == "bfloat16",
        use_cpu=settings.device == "cpu" or not torch.cuda.is_available(),
        seed=seed % 2**32,
        data_seed=seed % 2**32,
        save_strategy="steps",
        save_steps=settings.checkpoint_steps,
        save_total_limit=1,
        logging_strategy="no",
        report_to=[],
        disable_tqdm=True,
        remove_unused_columns=False,
        dataloader_pin_memory=False,
        average_tokens_across_devices=True,
    )
    trainer = MaskedTrainer(
        model=model,
        args=arguments,
        train_dataset=list(rows),  # type: ignore[arg-type]
        data_collator=lambda batch: collate(batch, padding),
        callbacks=[_Progress(progress)],
    )
    trainer.remove_callback(_printer())
    last = get_last_checkpoint(str(scratch)) if scratch.is_dir() else None
    result = trainer.train(resume_from_checkpoint=last)
    return {"steps": result.global_step, "train_loss": result.training_loss}


def _printer() -> type:
    from transformers import PrinterCallback

    return PrinterCallback
