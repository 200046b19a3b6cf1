"""Completions of many prompts at once, drawn by a Hugging Face causal model.

Prompts are batched by length and padded at their left end; all completions of a prompt begin from the same keys and
values. Each completion is drawn by inverse transform of uniform numbers of its own, so it depends on the batch only
through the last bits of the arithmetic (see `sm_ops/scoring/models/hf.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sm_ops.core.errors import InputError
from sm_ops.core.types import Progress, unheard
from sm_ops.scoring.backends.hf import positions
from sm_ops.scoring.forward import Forward

if TYPE_CHECKING:
    import torch

_NUCLEUS = 256
"""Ids among which the nucleus of `top_p` is looked for before the whole vocabulary is sorted."""


class Completion(NamedTuple):
    """Ids that a model wrote, without the one that ended them; `cut` where none did."""

    ids: list[int]
    cut: bool


def complete(
    model: Any,
    prompts: Sequence[Sequence[int]],
    chances: Callable[[int], np.ndarray],
    *,
    samples: int,
    ends: Sequence[Collection[int]],
    temperature: float,
    top_p: float,
    batch_size: int,
    progress: Progress = unheard,
) -> list[list[Completion]]:
    """`samples` completions of each prompt (ids), in their order.

    `chances(i)` gives the uniform numbers of prompt i, (samples, length) in [0, 1): a completion has at most `length`
    ids, and no more than its prompt leaves of the model's positions. `ends` are the ids that end one, by prompt. About
    `batch_size` completions are written at once. Raises `InputError` for a prompt that fills the context.
    """
    room = positions(model)
    for index, prompt in enumerate(prompts):
        if len(prompt) >= room:
            raise InputError(
                "prompt-too-long",
                f"Prompt {index} has {len(prompt)} tokens, but the model has {room} positions, so nothing can follow "
                "it; use a model with a larger context.",
            )
    writer = _Writer(model, room, temperature, top_p)
    order = sorted(range(len(prompts)), key=lambda i: (-len(prompts[i]), i))
    found: list[list[Completion]] = [[] for _ in prompts]
    together = max(1, batch_size // samples)
    for first in range(0, len(order), together):
        batch = order[first : first + together]
        points = np.concatenate([chances(i) for i in batch])
        written = writer.write([prompts[i] for i in batch], [ends[i] for i in batch], points)
        for place, i in enumerate(batch):
            found[i] = written[place * samples : (place + 1) * samples]
        progress(first + len(batch), len(order))
    return found


class _Writer:
    def __init__(self, model: Any, room: int, temperature: float, top_p: float) -> None:
        self._forward = Forward(model.eval())
        self._device, self._room = model.device, room
        self._temperature, self._top_p = temperature, top_p

    def write(
        self, prompts: Sequence[Sequence[int]], ends: Sequence[Collection[int]], chances: np.ndarray
    ) -> list[Completion]:
        """Equally many completions of each prompt, one for each row of `chances`; prompts in the order of rows.

        Rows that are done leave the batch once they are half of it.
        """
        import torch

        count, length = chances.shape
        copies = count // len(prompts)
        limits = [min(length, self._room - len(prompt)) for prompt in prompts for _ in range(copies)]
        ends = [own for own in ends for _ in range(copies)]
        points = torch.from_numpy(chances).to(self._device)
        written: list[list[int]] = [[] for _ in range(count)]
        ended, rows = [False] * count, list(range(count))
        with torch.inference_mode():
            ids, mask = _padded_left(prompts, self._device)
            places = (mask.cumsum(1) - 1).clamp(min=0)
            states, cache = self._forward.states(ids, keep=True, attention_mask=mask, position_ids=places)
            cache.batch_repeat_interleave(copies)
            logits = self._forward.logits(states[:, -1]).repeat_interleave(copies, 0)
            mask, place = mask.repeat_interleave(copies, 0), places[:, -1:].repeat_interleave(copies, 0)
            for step in range(max(limits)):
                chosen = draw(logits, points[rows, step, None], self._temperature, self._top_p)
                for row, token in zip(rows, chosen[:, 0].tolist(), strict=True):
                    if ended[row] or step >= limits[row]:
                        continue
                    if token in ends[row]:
                        ended[row] = True
                    else:
                        written[row].append(token)
                going = [number for number, row in enumerate(rows) if not ended[row] and step + 1 < limits[row]]
                if not going:
                    break
                if 2 * len(going) <= len(rows):
                    kept = torch.tensor(going, device=self._device)
                    cache.batch_select_indices(kept)
                    chosen, mask, place = chosen[kept], mask[kept], place[kept]
                    rows = [rows[number] for number in going]
                mask = torch.cat([mask, mask.new_ones(len(rows), 1)], 1)
                place = (place + 1).clamp(max=self._room - 1)  # of rows that are done
                states, cache = self._forward.states(chosen, cache, keep=True, attention_mask=mask, position_ids=place)
                logits = self._forward.logits(states[:, -1])
        return [Completion(own, not done) for own, done in zip(written, ended, strict=True)]


def draw(logits: torch.Tensor, points: torch.Tensor, temperature: float, top_p: float) -> torch.Tensor:
    """Ids (n, 1) by inverse transform of `points` (n, 1) from the float32 logits (n, V), temperature before top-p.

    Under `top_p` below 1 only the likeliest ids whose mass before them is less than `top_p` have a chance, as in
    transformers.
    """
    import torch

    levels, ids = logits / temperature, None
    if top_p < 1:
        levels, ids = _nucleus(levels, top_p)
    mass = levels.double().softmax(-1).cumsum(-1)
    place = torch.searchsorted(mass, points * mass[:, -1:], right=True).clamp(max=levels.shape[1] - 1)
    return place if ids is None else ids.gather(1, place)


def _nucleus(levels: torch.Tensor, top_p: float) -> tuple[torch.Tensor, torch.Tensor]:
    """The largest levels and their ids, what lies outside the nucleus at minus infinity."""
    total = levels.logsumexp(1, keepdim=True)
    values, ids = levels.topk(min(_NUCLEUS, levels.shape[1]))
    if bool(((values - total).exp().sum(1) < top_p).any()):
        values, ids = levels.sort(dim=1, descending=True)
    shares = (values - total).exp()
    return values.masked_fill(shares.cumsum(1) - shares >= top_p, -float("inf")), ids


def _padded_left(rows: Sequence[Sequence[int]], device: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Ids of rows, padded at their left end, and which of them are no padding."""
    import torch

    width = max(map(len, rows))
    ids = torch.tensor([[0] * (width - len(row)) + list(row) for row in rows], device=device)
    mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows], device=device)
    return ids, mask
