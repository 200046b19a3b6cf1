"""From records to rows of a batch: documents packed into full rows, or one chat a row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sm_ops.masking.labels import IGNORED
from sm_ops.training.masked import Example


def pack(examples: Sequence[Example], separator: int, context: int, seed: int) -> list[dict[str, list[int]]]:
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
    labels = np.concatenate([labels, np.full(fill, IGNORED)]).reshape(-1, context).copy()
    labels[:, 0] = IGNORED
    return [
        {"input_ids": row.tolist(), "labels": learned.tolist()}
        for row, learned in zip(ids, labels, strict=True)
    ]


def rows(examples: Sequence[Example], context: int) -> list[dict[str, list[int]]]:
    """One row a record, cut to the context; for chats, whose records do not share a row."""
    result = []
    for example in examples:
        labels = example.labels[:context].copy()
        labels[:1] = IGNORED
        result.append({"input_ids": example.ids[:context].tolist(), "labels": labels.tolist()})
    return result


def collate(batch: Sequence[dict[str, list[int]]], padding: int):
    """Tensors of a batch, padded on the right; padding is neither attended to nor learned."""
    import torch

    width = max(len(row["input_ids"]) for row in batch)
    ids = torch.full((len(batch), width), padding, dtype=torch.long)
    labels = torch.full((len(batch), width), IGNORED, dtype=torch.long)
    attention = torch.zeros((len(batch), width), dtype=torch.long)
    for i, row in enumerate(batch):
        length = len(row["input_ids"])
        ids[i, :length] = torch.tensor(row["input_ids"])
        labels[i, :length] = torch.tensor(row["labels"])
        attention[i, :length] = 1
    return {"input_ids": ids, "attention_mask": attention, "labels": labels}
