"""Sentences of records by name, and how likely a model finds short texts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from sm_ops.core.records import Record
from sm_ops.core.types import Progress, unheard
from sm_ops.masking.intervals import sentence
from sm_ops.scoring.language_model import LanguageModel

_AT_A_TIME = 256


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence (OP-12): `case` is its record's id and its number there; `mention`: a span that counts touches it."""

    case: str
    record: str
    mention: bool
    text: str = field(repr=False)


def sentences_of(records: Iterable[Record], counts: Callable[[str], bool] = lambda label: True) -> list[Sentence]:
    """The sentences of records, in their order; `counts` says of a label whether its spans are mentions."""
    return [
        Sentence(
            case=f"{record.id}/{number}",
            record=record.id,
            mention=any(low < end and start < high and counts(label) for low, high, label in record.content_spans),
            text=record.content[start:end],
        )
        for record in records
        for number, (start, end) in enumerate(sentence.intervals(record))
    ]


def token_logprobs(model: LanguageModel, texts: Sequence[str], progress: Progress = unheard) -> list[np.ndarray]:
    """ln p in nats of each text's tokens behind the model's prefix; without a prefix, of all but the first (OP-60).

    A text that is longer than the context goes on in windows, whose tokens have at least half a context before them.
    """
    pieces: dict[tuple[int, ...], list[tuple[int, list[int]]]] = defaultdict(list)
    for number, text in enumerate(texts):
        for behind, own in _windows(model, model.encode(text)[0]):
            pieces[behind].append((number, own))
    total, done = sum(map(len, pieces.values())), 0
    found: list[list[np.ndarray]] = [[] for _ in texts]
    for behind, those in pieces.items():
        by_length = sorted(those, key=lambda piece: len(piece[1]))
        for first in range(0, len(by_length), _AT_A_TIME):
            batch = by_length[first : first + _AT_A_TIME]
            scored = model.continuation_logprobs(behind, [own for _, own in batch])
            for (number, _), logprobs in zip(batch, scored, strict=True):
                found[number].append(np.asarray(logprobs, np.float64))
            done += len(batch)
            progress(done, total)
    return [np.concatenate(parts) if parts else np.empty(0) for parts in found]


def _windows(model: LanguageModel, ids: list[int]) -> Iterator[tuple[tuple[int, ...], list[int]]]:
    """What stands before, and the ids to score behind it; each id once."""
    lead = model.prefix or tuple(ids[:1])
    own = ids if model.prefix else ids[1:]
    end = model.context - len(lead)
    if own:
        yield lead, own[:end]
    while end < len(own):
        start, end = end, end + max(1, model.context // 2)
        behind = own[max(0, end - model.context + len(lead)) : start]
        yield (*lead, *behind), own[start:end]
