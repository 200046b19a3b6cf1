"""Teach a model to list private values: by LoRA or in all weights, on verified chats of which answers are learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from sm_ops.core.seeds import derive
from sm_ops.core.types import Progress, unheard
from sm_ops.pii.extractor import marking
from sm_ops.pii.extractor.supervision import examples
from sm_ops.pii.extractor.varying import Variations
from sm_ops.pii.extractor.windows import Piece, in_windows
from sm_ops.scoring.tokenize import separator_id
from sm_ops.training import lora, packing, trainer

Numbers = dict[str, float | int | str | None]


def tune(
    model: Any,
    tokenizer: Any,
    documents: Sequence[Mapping[str, Any]],
    reading: Any,
    settings: Any,
    seed: int,
    scratch: Path,
    progress: Progress = unheard,
    history_file: Path | None = None,
) -> tuple[Any, Numbers]:
    """The tuned model and what was done; the whole of the data is verified before the first step.

    `reading`: window (see `windows`), think (see `marking`). `settings`: method (`lora`, `full`), lora, context,
    variations (of each window, see `varying`), and how to train (see `trainer.fit`, also for `history_file`).
    """
    pieces = _pieces(documents, reading)
    variations = Variations(pieces, derive(seed, "variations"))
    varied = [variations.draw(piece) for _ in range(settings.variations) for piece in pieces]
    rows = _rows([*pieces, *varied], tokenizer, reading, settings.context)
    numbers: Numbers = {
        "documents": len(documents),
        "windows": len(pieces),
        "variations": len(varied),
        "documents_empty": sum(not document["target_tsv"] for document in documents),
        "learned_tokens": packing.learned_tokens(rows),
        "longest": max(len(row["input_ids"]) for row in rows),
    }
    torch.manual_seed(seed % 2**32)
    if settings.method == "lora":
        model = lora.wrap(_prepared(model), settings.lora)
        numbers |= {f"lora_{name}": count for name, count in lora.coverage(model).items()}
    padding = separator_id(tokenizer)
    return model, numbers | trainer.fit(
        model, rows, padding, settings, seed, scratch, progress, history_file=history_file
    )


def _pieces(documents: Sequence[Mapping[str, Any]], reading: Any) -> list[Piece]:
    return [piece for document in documents for piece in in_windows(document, reading.window)]


def _rows(pieces: Sequence[Piece], tokenizer: Any, reading: Any, context: int) -> list[packing.Row]:
    """A verified row for each text."""
    answers = [marking.answer(piece, reading.think) for piece in pieces]
    chats = [
        {"id": str(number), "source_text": piece.text, "target_tsv": answer}
        for number, (piece, answer) in enumerate(zip(pieces, answers, strict=True))
    ]
    return packing.rows(examples(chats, tokenizer, context), context)


def _prepared(model: Any) -> Any:
    """A quantized model made fit for training through it; any other as it is."""
    if not getattr(model, "is_quantized", False):
        return model
    from peft import prepare_model_for_kbit_training

    return prepare_model_for_kbit_training(model)


def validation_loss(
    model: Any, tokenizer: Any, documents: Sequence[Mapping[str, Any]], reading: Any, settings: Any
) -> float:
    """Mean negative log likelihood in nats a learned token, in rows of `settings.batch_size`."""
    padding, total, count = separator_id(tokenizer), 0.0, 0
    rows = _rows(_pieces(documents, reading), tokenizer, reading, settings.context)
    rows.sort(key=lambda row: len(row["input_ids"]))
    model.eval()
    with torch.inference_mode():
        for start in range(0, len(rows), settings.batch_size):
            batch = packing.collate(rows[start : start + settings.batch_size], padding)
            inputs = {name: batch[name].to(model.device) for name in ("input_ids", "attention_mask")}
            labels = batch["labels"].to(model.device)
            total += float(trainer.masked_loss(model(**inputs).logits, labels, 1))
            count += int((labels != packing.IGNORED).sum())
    return total / count
