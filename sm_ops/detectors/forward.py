"""Token classifiers over texts of any length: windows that overlap, batches of similar length, scores put together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np


class Window(NamedTuple):
    """Tokens [start, end) of a text go through the model; of their scores those of [first, last) are kept."""

    text: int
    start: int
    end: int
    first: int
    last: int


def windows(text: int, length: int, longest: int, margin: int) -> Iterator[Window]:
    """Windows of at most `longest` tokens over a text; what is kept has `margin` neighbours to either side, if any."""
    if length <= longest:
        if length:
            yield Window(text, 0, length, 0, length)
        return
    for first in range(0, length, step := longest - 2 * margin):
        last = min(first + step, length)
        yield Window(text, max(0, first - margin), min(length, last + margin), first, last)


def frame(tokenizer: Any) -> tuple[list[int], list[int]]:
    """What a tokenizer puts before and behind a text, such as [CLS] and [SEP]."""
    bare, whole = tokenizer("a", add_special_tokens=False)["input_ids"], tokenizer("a")["input_ids"]
    places = range(len(whole) - len(bare) + 1)
    at = next(place for place in places if whole[place : place + len(bare)] == bare)
    return whole[:at], whole[at + len(bare) :]


def padded(rows: Sequence[Sequence[int]], padding: int) -> tuple[Any, Any]:
    """Rows as one tensor of ids, and the attention mask over it: int64 of shape (rows, longest row)."""
    import torch

    ids = torch.full((len(rows), max(map(len, rows))), padding)
    mask = torch.zeros_like(ids)
    for number, row in enumerate(rows):
        ids[number, : len(row)] = torch.tensor(row)
        mask[number, : len(row)] = 1
    return ids, mask


class Forward:
    """A model in evaluation mode, and how its texts are cut.

    `longest` tokens of a text make a window, with `margin` neighbours on either side; `around` is put before and behind
    each window; no batch has more than `token_budget` positions, which must hold one window.
    """

    def __init__(
        self,
        model: Any,
        longest: int,
        margin: int,
        token_budget: int,
        around: tuple[Sequence[int], Sequence[int]] = ((), ()),
    ) -> None:
        self._model, self._longest, self._margin, self._budget = model, longest, margin, token_budget
        self._before, self._behind = (list(ids) for ids in around)

    def logits(self, texts: Sequence[Sequence[int]]) -> list[np.ndarray]:
        """Scores of shape (tokens, labels) for the ids of each text."""
        scores = [np.zeros((len(ids), self._model.config.num_labels), np.float32) for ids in texts]
        cut = [
            window
            for number, ids in enumerate(texts)
            for window in windows(number, len(ids), self._longest, self._margin)
        ]
        for batch in self._batches(cut):
            for window, row in zip(batch, self._run(self._rows(texts, batch)), strict=True):
                kept = row[window.first - window.start : window.last - window.start]
                scores[window.text][window.first : window.last] = kept
        return scores

    def _batches(self, cut: list[Window]) -> Iterator[list[Window]]:
        """Windows of similar length together, each batch within the budget, padding included."""
        around, batch = len(self._before) + len(self._behind), []
        for window in sorted(cut, key=lambda w: (w.end - w.start, w)):
            if (len(batch) + 1) * (window.end - window.start + around) > self._budget:
                yield batch
                batch = []
            batch.append(window)
        if batch:
            yield batch

    def _rows(self, texts: Sequence[Sequence[int]], batch: Sequence[Window]) -> list[list[int]]:
        return [[*self._before, *texts[window.text][window.start : window.end], *self._behind] for window in batch]

    def _run(self, rows: Sequence[Sequence[int]]) -> np.ndarray:
        import torch

        ids, mask = padded(rows, self._model.config.pad_token_id or 0)
        device = self._model.device
        with torch.inference_mode():
            logits = self._model(input_ids=ids.to(device), attention_mask=mask.to(device)).logits
        return logits[:, len(self._before) :].float().cpu().numpy()
