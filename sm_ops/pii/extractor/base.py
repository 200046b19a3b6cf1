"""The base model made on the spot: it learns to copy strings, then to list what is marked in texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sm_ops.core.seeds import derive
from sm_ops.core.settings import Settings
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
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> tuple[Any, Numbers]:
    """A model that lists what is marked in a text, from texts (in NFC) without any label; its tokenizer in `folder`.

    `settings`: layers, width, heads, vocab_size, context, window, think, strings, seed, and how to train (see
    `trainer.fit`), `epochs` being the passes over the texts, with new marks each.
    """
    tokenizer = tiny.train_tokenizer(texts, settings.vocab_size, folder)
    end = separator_id(tokenizer)
    model = tiny.new_model(settings, len(tokenizer), settings.context, end, settings.seed)
    random = np.random.default_rng(derive(settings.seed, "copying"))
    syllables = copying.syllables(texts)
    numbers: Numbers = {"parameters": model.num_parameters(), "vocabulary": len(tokenizer)}
    texts = [text[start:end] for text in texts for start, end in windows(text, settings.window)]
    lessons = {
        "strings": [copying.string(random, syllables) for _ in range(settings.strings)],
        "texts": [copying.task(text, random, syllables) for _ in range(settings.epochs) for text in texts],
    }
    once = Settings({**settings.plain(), "epochs": 1})
    for number, (name, pieces) in enumerate(lessons.items()):
        documents = [
            {"id": name, "source_text": marking.marked(piece), "target_tsv": marking.answer(piece, settings.think)}
            for piece in pieces
        ]
        rows = packing.rows(examples(documents, tokenizer, settings.context), settings.context)

        def told(done: int, total: int, number: int = number) -> None:
            progress(number * total + done, len(lessons) * total)

        result = trainer.fit(model, rows, end, once, settings.seed, scratch / name, told)
        numbers |= {f"{name}_steps": result["steps"], "train_loss": result["train_loss"]}
    return model, numbers
