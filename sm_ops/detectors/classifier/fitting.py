"""Fine-tune an encoder to tag the targets of labelled records (the paper's DeBERTa row of table 14)."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record
from sm_ops.detectors.classifier import encoders
from sm_ops.detectors.classifier.settings import ABOUT, FORMAT, check
from sm_ops.detectors.classifier.tags import IGNORED, labels_of, tags
from sm_ops.detectors.detector import check_texts, missing_package
from sm_ops.detectors.forward import frame, padded, windows
from sm_ops.scoring.arithmetic import pick_device
from sm_ops.scoring.tokenize import encode

_WARM_UP = 0.1


class Example(NamedTuple):
    """A window: what the model reads, and the label number of each position (`IGNORED`: not learned)."""

    ids: list[int]
    labels: list[int]


def fit(records: Sequence[Record], folder: Path, settings: Mapping[str, Any]) -> dict[str, float]:
    """Train on the records' spans and write the model, its tokenizer and `classifier.json` into an empty `folder`.

    `settings` as in `classifier.settings`. What `meta.left_out` names is not learned. Every token is learned in one
    window. Gives the numbers of `records`, `targets`, `tokens` and the last epoch's mean `loss` in nats. Raises
    `InputError` where no record has a span, where the encoder is not to be had or a setting does not fit.
    """
    values = check(settings)
    check_texts([record.content for record in records])
    categories = sorted({label for record in records for _, _, label in record.content_spans})
    if not categories:
        raise InputError("no-targets", "No record has a span, so there is nothing to learn; label some records.")
    try:
        import torch
    except ModuleNotFoundError as error:
        raise missing_package("classifier", error) from None
    device, labels = pick_device(values["device"]), labels_of(categories)
    torch.set_num_threads(values["threads"])
    with torch.random.fork_rng():
        torch.manual_seed(values["seed"])
        model, tokenizer = _encoder(records, folder, values, labels)
        encoders.check_window(model, tokenizer, values["window"])
        examples = list(_examples(records, tokenizer, values["window"], labels))
        loss = _train(model.to(device), examples, values)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    about = {"format": FORMAT, "window": values["window"], "categories": categories, "encoder": values["encoder"]}
    (folder / ABOUT).write_text(json.dumps(about, indent=1, ensure_ascii=False), encoding="utf-8")
    return {
        "records": len(records),
        "targets": sum(len(record.spans) for record in records),
        "tokens": sum(label != IGNORED for example in examples for label in example.labels),
        "loss": loss,
    }


def margin(window: int) -> int:
    """How many neighbours a token has to either side, at least, where its text is longer than a window."""
    return window // 4


def _encoder(
    records: Sequence[Record], folder: Path, values: Mapping[str, Any], labels: Sequence[str]
) -> tuple[Any, Any]:
    if values["encoder"] is not None:
        return encoders.named(str(values["encoder"]), values["revision"], labels)
    return encoders.small((record.content for record in records), dict(values), labels, folder)


def _examples(records: Sequence[Record], tokenizer: Any, window: int, labels: Sequence[str]) -> Iterator[Example]:
    before, behind = frame(tokenizer)
    for number, record in enumerate(records):
        ids, offsets = encode(tokenizer, record.content)
        own = tags(record, [(start, end) for start, end in record.meta.get("left_out", [])], offsets, labels)
        for cut in windows(number, len(ids), window, margin(window)):
            learned = np.full(cut.end - cut.start, IGNORED)
            learned[cut.first - cut.start : cut.last - cut.start] = own[cut.first : cut.last]
            yield Example(
                [*before, *ids[cut.start : cut.end], *behind],
                [IGNORED] * len(before) + learned.tolist() + [IGNORED] * len(behind),
            )


def _train(model: Any, examples: list[Example], values: Mapping[str, Any]) -> float:
    """AdamW with a linear warm-up and decay; every token of a step weighs the same. The last epoch's mean loss."""
    import torch
    from transformers import get_linear_schedule_with_warmup

    rate = values["learning_rate"] or (2e-3 if values["encoder"] is None else 5e-5)
    optimiser = torch.optim.AdamW(model.parameters(), lr=rate)
    rng = random.Random(values["seed"])
    plan = [_batches(examples, values["batch_tokens"], rng) for _ in range(values["epochs"])]
    steps = sum(map(len, plan))
    schedule = get_linear_schedule_with_warmup(optimiser, int(_WARM_UP * steps), steps)
    padding, total, count = model.config.pad_token_id or 0, 0.0, 0
    model.train()
    for epoch in plan:
        total, count = 0.0, 0
        for batch in epoch:
            ids, mask = padded([example.ids for example in batch], padding)
            labels = torch.full_like(ids, IGNORED)
            for row, example in enumerate(batch):
                labels[row, : len(example.labels)] = torch.tensor(example.labels)
            learned = int((labels != IGNORED).sum())
            if not learned:
                continue
            logits = model(input_ids=ids.to(model.device), attention_mask=mask.to(model.device)).logits
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), labels.to(model.device).flatten())
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            schedule.step()
            optimiser.zero_grad()
            total, count = total + float(loss.detach()) * learned, count + learned
    model.eval()
    return total / max(count, 1)


def _batches(examples: list[Example], tokens: int, rng: random.Random) -> list[list[Example]]:
    """All examples in batches of similar length and up to so many positions, in random order."""
    shuffled = sorted(rng.sample(examples, len(examples)), key=lambda example: len(example.ids))
    found: list[list[Example]] = [[]]
    for example in shuffled:
        if found[-1] and (len(found[-1]) + 1) * len(example.ids) > tokens:
            found.append([])
        found[-1].append(example)
    return rng.sample(found, len(found))
