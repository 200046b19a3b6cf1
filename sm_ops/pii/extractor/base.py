"""The base model made on the spot: it learns to copy strings, then to list what is marked in texts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np

from sm_ops.core.seeds import derive
from sm_ops.core.types import Progress, unheard
from sm_ops.pii.extractor import copying, marking, tiny
from sm_ops.pii.extractor.supervision import examples
from sm_ops.pii.extractor.windows import windows
from sm_ops.scoring.tokenize import separator_id
from sm_ops.training import packing, trainer

Numbers = dict[str, float | int | str | None]


def make(
    texts: Sequence[str],
    settings: Any,
    folder: Path,
    scratch: Path,
    progress: Progress = unheard,
) -> tuple[Any, Numbers]:
    """A model that lists what is marked in a text, from texts (in NFC) without any label; its tokenizer in `folder`.

    `settings`: layers, width, heads, vocab_size, context, window, think, strings, texts (how many windows are marked;
    None: each once), seed, and how to train (see `trainer.fit`).
    """
    tokenizer = tiny.train_tokenizer(texts, settings.vocab_size, folder)
    end = separator_id(tokenizer)
    model = tiny.new_model(settings, len(tokenizer), settings.context, end, settings.seed)
    random = np.random.default_rng(derive(settings.seed, "copying"))
    syllables = copying.syllables(texts)
    numbers: Numbers = {"parameters": model.num_parameters(), "vocabulary": len(tokenizer)}
    pieces = [text[start:end] for text in texts for start, end in windows(text, settings.window)]
    pieces = list(islice(cycle(pieces), settings.texts or len(pieces)))
    lessons = {
        "strings": [copying.string(random, syllables) for _ in range(settings.strings)],
        "texts": [copying.task(text, random, syllables) for text in pieces],
    }
    for number, (name, tasks) in enumerate(lessons.items()):
        documents = [
            {"id": name, "source_text": marking.marked(task), "target_tsv": marking.answer(task, settings.think)}
            for task in tasks
        ]
        rows = packing.rows(examples(documents, tokenizer, settings.context), settings.context)

        def told(done: int, total: int, number: int = number) -> None:
            progress(number * total + done, len(lessons) * total)

        result = trainer.fit(model, rows, end, settings, settings.seed, scratch / name, told)
        numbers |= {f"{name}_steps": result["steps"], "train_loss": result["train_loss"]}
    return model, numbers
