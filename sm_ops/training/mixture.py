"""General text with the domain's documents among it, in exact numbers of tokens (paper C.1, C.2).

One long stream, first all general tokens and then all of the domain's, is cut into rows; the trainer draws their order.
A separator counts as a token of the document that it stands before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import cycle
from typing import Any

import numpy as np

from sm_ops.masking.labels import IGNORED
from sm_ops.training.masked import Example
from sm_ops.training.packing import Row, stream
from sm_ops.training.token_file import TokenFile

Counts = dict[str, Any]


class Mixed(Sequence[Row]):
    """Rows of `context` tokens, of which those of the general text are read when they are asked for.

    Separators are not learned, nor is a row's first token, which has no context; general text has no mask. The row
    between the sources may hold both, the last one is filled up with separators.
    """

    def __init__(self, general: TokenFile, domain: Row, context: int) -> None:
        self._general, self._domain, self._context = general, domain, context
        self._tokens = len(general) + len(domain["input_ids"])

    def __len__(self) -> int:
        return -(-self._tokens // self._context)

    def __getitem__(self, index: Any) -> Row:
        number = range(len(self))[index]
        start, border = number * self._context, len(self._general)
        own = slice(max(0, start - border), max(0, start + self._context - border))
        general = self._general.read(start, start + self._context)
        ids = np.concatenate([general, self._domain["input_ids"][own]])
        learned = np.where(general == self._general.separator, IGNORED, general)
        labels = np.concatenate([learned, self._domain["labels"][own]])
        masked = np.concatenate([np.zeros(len(general), bool), self._domain["masked"][own]])
        labels[0] = IGNORED
        filling = (0, self._context - len(ids))
        return {
            "input_ids": np.pad(ids, filling, constant_values=self._general.separator),
            "labels": np.pad(labels, filling, constant_values=IGNORED),
            "masked": np.pad(masked, filling),
        }


def mixed(
    general: TokenFile, examples: Sequence[Example], tokens: int, context: int, seed: int
) -> tuple[Mixed, Counts]:
    """The rows of all general tokens and so many of the domain, and the counts of both.

    The seed draws the order of the domain's documents, as it does in `packing.pack`.
    """
    chosen, counts = budgeted(examples, tokens)
    rows = Mixed(general, stream(chosen, general.separator, seed), context)
    return rows, {"general_tokens": len(general), "general_documents": general.documents, **counts}


def budgeted(examples: Sequence[Example], tokens: int) -> tuple[list[Example], Counts]:
    """Documents in their order, over and over, until they and a separator before each are so many tokens.

    The last one is cut. Which ones they are depends on the examples (at least one) alone, on no seed. Counts:
    `domain_tokens`, `domain_documents`, `domain_tokens_there` (of one pass), and of these `domain_tokens_left_out`,
    or beyond them `domain_tokens_repeated`.
    """
    there = sum(len(example.ids) + 1 for example in examples)
    chosen, left = [], tokens
    for example in cycle(examples):
        if left <= 0:
            break
        chosen.append(_first(example, left - 1))
        left -= len(chosen[-1].ids) + 1
    return chosen, {
        "domain_tokens": tokens,
        "domain_documents": len(chosen),
        "domain_tokens_there": there,
        "domain_tokens_left_out": max(0, there - tokens),
        "domain_tokens_repeated": max(0, tokens - there),
    }


def _first(example: Example, tokens: int) -> Example:
    if len(example.ids) <= tokens:
        return example
    cut = {name: getattr(example, name)[:tokens] for name in ("ids", "labels", "masked")}
    return replace(example, **cut)
