"""From records to rows of a batch: documents packed into full rows, or one chat a row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from sm_ops.core.errors import InputError
from sm_ops.masking.labels import IGNORED
from sm_ops.training.masked import Example

Row = dict[str, np.ndarray]
"""`input_ids`, `labels` (int64) and `masked` (bool) of one row, of equal length; the first label is -100, as nothing
precedes it."""


def pack(examples: Sequence[Example], separator: int, context: int, seed: int) -> list[Row]:
    """Cut the stream `separator, document, separator, document, ...` into rows of `context` tokens.

    Documents come in an order drawn from the seed. The separator stands for the beginning of a text, as when
    a value is attacked (OP-50), and is not learned. The first token of a row has no context and no label; the
    last row is filled up with separators. Masked tokens stay in the context.
    """
    whole = stream(examples, separator, seed)

    def cut_up(column: np.ndarray, filling: int) -> np.ndarray:
        fill = np.full(-len(column) % context, filling, column.dtype)
        return np.concatenate([column, fill]).reshape(-1, context)

    labels = cut_up(whole["labels"], IGNORED)
    labels[:, 0] = IGNORED
    ids, masked = cut_up(whole["input_ids"], separator), cut_up(whole["masked"], False)
    return [_row(*columns) for columns in zip(ids, labels, masked, strict=True)]


def stream(examples: Sequence[Example], separator: int, seed: int) -> Row:
    """`separator, document, separator, document, ...` as one long row, documents in an order drawn from the seed."""
    order = np.random.default_rng(seed).permutation(len(examples))

    def joined(between: int, parts: list[np.ndarray]) -> np.ndarray:
        gap = np.array([between], parts[0].dtype)
        return np.concatenate([part for i in order for part in (gap, parts[i])])

    ids = joined(separator, [example.ids for example in examples])
    labels = joined(IGNORED, [example.labels for example in examples])
    return _row(ids, labels, joined(False, [example.masked for example in examples]))


def rows(examples: Sequence[Example], context: int) -> list[Row]:
    """One row a record, cut to the context; for chats, whose records do not share a row."""
    result = []
    for example in examples:
        labels = example.labels[:context].copy()
        labels[:1] = IGNORED
        result.append(_row(example.ids[:context], labels, example.masked[:context]))
    return result


def texts(examples: Sequence[Example], separator: int, context: int) -> list[Row]:
    """One row a text, between two separators and cut to the context; its end is learned, so that samples end too."""
    between = np.array([separator])
    result = []
    for example in examples:
        ids = np.concatenate([between, example.ids, between])
        labels = np.concatenate([[IGNORED], example.labels, between])
        masked = np.concatenate([[False], example.masked, [False]])
        result.append(_row(ids[:context], labels[:context], masked[:context]))
    return result


def empty(padding: int) -> Row:
    """A row that teaches nothing."""
    return _row(np.array([padding]), np.array([IGNORED]), np.array([False]))


def within(examples: Sequence[Example], context: int, emptied: str) -> list[Example]:
    """The examples of which `rows` keeps a supervised token, where they have one at all.

    The others lose all that they could teach to the cut. `emptied`: `drop` leaves them out, `refuse` raises an
    `InputError` that counts them.
    """
    kept = [each for each in examples if each.supervised[1:context].any() or not each.supervised[1:].any()]
    if emptied == "refuse" and len(kept) < len(examples):
        raise InputError(
            "nothing-left-in-context",
            f"In {len(examples) - len(kept)} of {len(examples)} records every supervised token lies beyond "
            f"train.context = {context} tokens; raise it, or leave those records out with train.truncated=drop.",
        )
    return kept


def cut(examples: Sequence[Example], context: int) -> int:
    """How many examples are longer than the context, so that `rows` takes off their end."""
    return sum(len(example.ids) > context for example in examples)


def learned_tokens(rows: Sequence[Row]) -> int:
    """How many tokens of the rows are learned: the terms of one epoch's loss."""
    return sum(int((row["labels"] != IGNORED).sum()) for row in rows)


def without_loss(labels: Iterable[np.ndarray]) -> int:
    """How many of the label arrays, of records or of rows, teach nothing."""
    return sum(not (each != IGNORED).any() for each in labels)


def collate(batch: Sequence[Row], padding: int):
    """Tensors of a batch, padded on the right; padding is neither attended to nor learned."""
    import torch

    width = max(len(row["input_ids"]) for row in batch)
    ids = torch.full((len(batch), width), padding)
    labels = torch.full((len(batch), width), IGNORED)
    attention = torch.zeros((len(batch), width), dtype=torch.long)
    masked = torch.zeros((len(batch), width), dtype=torch.bool)
    for i, row in enumerate(batch):
        length = len(row["input_ids"])
        ids[i, :length] = torch.from_numpy(row["input_ids"])
        labels[i, :length] = torch.from_numpy(row["labels"])
        masked[i, :length] = torch.from_numpy(row["masked"])
        attention[i, :length] = 1
    return {"input_ids": ids, "attention_mask": attention, "labels": labels, "masked": masked}


def _row(ids: np.ndarray, labels: np.ndarray, masked: np.ndarray) -> Row:
    return {"input_ids": ids, "labels": labels, "masked": masked}
