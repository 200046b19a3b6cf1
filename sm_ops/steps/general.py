"""general: the tokenizer of a model trained on the spot, and general text as its tokens, once for all trainings."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from sm_ops.data.general import Piece, pieces
from sm_ops.data.records import read_records
from sm_ops.scoring.tokenize import load_tokenizer
from sm_ops.steps._splits import read_split
from sm_ops.training import tiny, token_file

if TYPE_CHECKING:
    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context, Numbers


def run(settings: Settings, context: Context) -> Numbers:
    """Tokens of `mixture.general`, or of the public code; where no tokenizer is named one is trained on that text."""
    base, mixture = settings.base, settings.mixture
    public = context.inputs["public"]

    def text() -> Iterator[Piece]:
        return _public(public) if mixture.general is None else pieces(mixture.general)

    clean = (record.content for record in read_split(context.inputs["reference"]))
    tiny.write_tokenizer(base, chain((piece for piece, _ in text()), clean), context.outputs["tokenizer"])
    tokenizer = load_tokenizer(context.outputs["tokenizer"])
    counts = token_file.write(text(), tokenizer, mixture.general_tokens, context.outputs["general"], context.progress)
    return {**counts, "entries": len(tokenizer), "source": "public" if mixture.general is None else "own"}


def _public(path: Path) -> Iterator[Piece]:
    """The public split; an empty one has no text."""
    if path.stat().st_size:
        for record in read_records(path):
            yield record.content, True
