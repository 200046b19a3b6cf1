"""From records to rows of a batch: documents packed into full rows, or one chat a row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sm_ops.masking.labels import IGNORED
from sm_ops.training.masked import Example

Row = dict[str, np.ndarray]
"""`input_ids` and `labels` of one row, int64, equal length; the first label is -100, as nothing precedes it."""


def pack(examples: Sequence[Example], separator: int, context: int, seed: int) -> list[Row]:
    """Cut the stream `separator, document, separator, document, ...` into rows of `context` tokens.

    Documents come in an order drawn from the seed. The separator stands for the beginning of a text, as when
    a value is attacked (OP-50), and is not learned. The first token of a row has no context and no label; the
    last row is filled up with separators. Masked tokens stay in the context.
    """
    order = np.random.default_rng(seed).permutation(len(examples))
    gap = np.array([separator])
    silent = np.array([IGNORED])
    ids = np.concatenate([part for i in order for part in (gap, examples[i].ids)])
    labels = np.concatenate([part for i in order for part in (silent, examples[i].labels)])
    fill = -len(ids) % context
    ids = np.concatenate([ids, np.full(fill, separator)]).reshape(-1, context)
    labels = np.concatenate([labels, np.full(fill, IGNORED)]).reshape(-1, context)
    labels[:, 0] = IGNORED
    return [{"input_ids": row, "labels": learned} for row, learned in zip(ids, labels, strict=True)]


def rows(examples: Sequence[Example], context: int) -> list[Row]:
    """One row a record, cut to the context; for chats, whose records do not share a row."""
    result = []
    for example in examples:
        labels = example.labels[:context].copy()
        labels[:1] = IGNORED
        result.append({"input_ids": example.ids[:context], "labels": labels})
    return result


def learned_tokens(rows: Sequence[Row]) -> int:
    """How many tokens of the rows are learned: the terms of one epoch's loss."""
    return sum(int((row["labels"] != IGNORED).sum()) for row in rows)


def collate(batch: Sequence[Row], padding: int):
    """Tensors of a batch, padded on the right; padding is neither attended to nor learned."""
    import torch

    width = max(len(row["input_ids"]) for row in batch)
    ids = torch.full((len(batch), width), padding)
    labels = torch.full((len(batch), width), IGNORED)
    attention = torch.zeros((len(batch), width), dtype=torch.long)
    for i, row in enumerate(batch):
        length = len(row["input_ids"])
        ids[i, :length] = torch.from_numpy(row["input_ids"])
        labels[i, :length] = torch.from_numpy(row["labels"])
        attention[i, :length] = 1
    return {"input_ids": ids, "attention_mask": attention, "labels": labels}
