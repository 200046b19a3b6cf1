"""Any Hugging Face causal language model under attack: shared key-value caches, batches by length.

Numbers equal those of one text in one forward pass up to the last bits of the arithmetic (4e-6 nats in float32), and
so do samples, unless a uniform number falls so near an edge between two ids that these bits move it across.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sm_ops.core.errors import InputError
from sm_ops.scoring import prefix_cache
from sm_ops.scoring.backends.hf import TOKEN_BUDGET, located, positions
from sm_ops.scoring.forward import FALLBACK_TOKENS, Forward
from sm_ops.scoring.language_model import LanguageModel, common_prefix
from sm_ops.scoring.tokenize import encode, prefix_id

if TYPE_CHECKING:
    import torch

_CACHED_POSITIONS = 4096
"""Copies of a shared prefix in the caches of one batch, where the token budget is smaller: 300 MB for GPT-2 small."""

_TIES = 16
"""Logits that are taken beside the k largest, for what ties with the last of these: bfloat16 has many ties."""


DEFAULTS = {"revision": None, "dtype": "float32", "device": "auto", "threads": 1, "token_budget": None}
"""What `load` reads beside the model's name."""


def load(settings: Any) -> HFModel:
    """The model that `settings` names, in evaluation mode on its device.

    Reads `model` (folder or hub name), `revision`, `dtype` ("float32" | "bfloat16" | "auto"), `device`
    ("auto" | "cpu" | "cuda"), `threads` and `token_budget` (positions of a forward pass, padding included; None: what
    suits the device). Raises `InputError` where the model is not to be had.
    """
    tokenizer, weights = located(settings)
    return HFModel(weights.load(), tokenizer, settings.token_budget)


class HFModel(LanguageModel):
    """A loaded model and its fast tokenizer. The weights stay as they are while this object is in use."""

    def __init__(self, model: Any, tokenizer: Any, token_budget: int | None = None) -> None:
        first = prefix_id(tokenizer)
        self.context = positions(model)
        self.prefix = () if first is None else (first,)
        self.end: int | None = tokenizer.eos_token_id
        self.tokenizer = tokenizer
        self._forward = Forward(model.eval())
        self._device = model.device
        self._budget = token_budget or TOKEN_BUDGET.get(model.device.type, TOKEN_BUDGET["cpu"])
        if not self._forward.plain:
            self._budget = min(self._budget, FALLBACK_TOKENS)
        self._last: tuple[tuple[int, ...], Any, Any] = ((), None, None)

    def encode(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """See `LanguageModel`."""
        return encode(self.tokenizer, text)

    def decode(self, ids: Sequence[int]) -> str:
        """See `LanguageModel`."""
        return self.tokenizer.decode(list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False)

    def next_logprobs(self, contexts: Sequence[Sequence[int]]) -> np.ndarray:
        """See `LanguageModel`; float64, normalised in float64 from float32 logits."""
        import torch

        self._check_fits(max(map(len, contexts), default=0))
        rows: list[Any] = [None] * len(contexts)
        with torch.inference_mode():
            for batch in self._batches([len(context) for context in contexts]):
                ids, lengths = _padded([contexts[i] for i in batch])
                states, _ = self._forward.states(ids.to(self._device))
                last = states[torch.arange(len(batch)), lengths - 1]
                for i, row in zip(batch, self._forward.logits(last).double().log_softmax(1).cpu(), strict=True):
                    rows[i] = row
        return torch.stack(rows).numpy()

    def continuation_logprobs(self, prefix: Sequence[int], continuations: Sequence[Sequence[int]]) -> list[np.ndarray]:
        """See `LanguageModel`; what the continuations begin with alike is run once (float64 of float32 values)."""
        import torch

        self._check_fits(len(prefix) + max(map(len, continuations), default=0))
        known = tuple(prefix)
        trunk = known if self._held(known) else (*known, *common_prefix(continuations))
        shared = trunk[len(known) :]
        with torch.inference_mode():
            found = np.empty(0, np.float32)
            if shared:
                states = self._run(trunk)[len(known) - 1 : -1]
                found = self._forward.logprobs(states, torch.tensor(shared, device=self._device)).cpu().numpy()
            after = self._tails(trunk, [own[len(shared) :] for own in continuations])
        return [np.concatenate([found, own]).astype(np.float64) for own in after]

    def sample(
        self, prefix: Sequence[int], chances: np.ndarray, *, top_k: int = 0, temperature: float = 1.0
    ) -> list[list[int]]:
        """See `LanguageModel`; calls with the same prefix share its keys and values."""
        import torch

        points = torch.from_numpy(chances).to(self._device)

        def choose(logits: torch.Tensor, rows: list[int], step: int) -> torch.Tensor:
            return _draw(logits, points[rows, step, None], top_k, temperature)

        return self._decode(prefix, len(chances), chances.shape[1], choose)

    def greedy(self, prefix: Sequence[int], length: int) -> list[int]:
        """See `LanguageModel`."""
        return self._decode(prefix, 1, length, lambda logits, rows, step: logits.argmax(dim=1, keepdim=True))[0]

    def _check_fits(self, needed: int) -> None:
        if needed > self.context:
            raise InputError(
                "beyond-context",
                f"{needed} positions are needed, but the model has {self.context}; shorten the texts.",
            )

    def _held(self, ids: tuple[int, ...]) -> bool:
        return self._last[0] == ids

    def _after(self, ids: tuple[int, ...]) -> tuple[Any, torch.Tensor]:
        """Keys and values of one row of `ids`, and its last state (1, width); kept until others are asked for."""
        if not self._held(ids):
            self._run(ids)
        return self._last[1:]

    def _run(self, ids: tuple[int, ...]) -> torch.Tensor:
        """The states (L, width) of one row of `ids`, whose keys and values are kept."""
        import torch

        self._last = ((), None, None)  # frees the old ones first
        states, cache = self._forward.states(torch.tensor([ids], device=self._device), keep=True)
        self._last = (ids, cache, states[0, -1:].clone())
        return states[0]

    def _tails(self, trunk: tuple[int, ...], tails: Sequence[Sequence[int]]) -> list[np.ndarray]:
        """ln p (float32) of each tail's ids behind the trunk."""
        import torch

        found = [np.empty(len(tail), np.float32) for tail in tails]
        nonempty = [i for i, tail in enumerate(tails) if len(tail)]
        if not nonempty:
            return found
        cache, state = self._after(trunk)
        opening = self._forward.logits(state).log_softmax(1)[0].cpu().numpy()
        for i in nonempty:
            found[i][0] = opening[tails[i][0]]
        for batch in self._batches([len(tail) - 1 for tail in tails], len(trunk)):
            ids, lengths = _padded([tails[i] for i in batch])
            states, _ = self._forward.states(ids[:, :-1].to(self._device), prefix_cache.repeated(cache, len(batch)))
            real = torch.arange(ids.shape[1] - 1) < lengths[:, None] - 1
            own = self._forward.logprobs(states[real.to(self._device)], ids[:, 1:][real].to(self._device))
            for i, values in zip(batch, own.cpu().split((lengths - 1).tolist()), strict=True):
                found[i][1:] = values.numpy()
        return found

    def _batches(self, lengths: Sequence[int], cached: int = 0) -> list[list[int]]:
        """Numbers of the rows that are run together, the longest first; rows of length 0 are left out."""
        order = sorted((i for i, length in enumerate(lengths) if length > 0), key=lambda i: -lengths[i])
        batches: list[list[int]] = []
        for i in order:
            longest = lengths[batches[-1][0]] if batches else 0
            rows = len(batches[-1]) + 1 if batches else 0
            copied = rows * (cached + longest) if cached else 0
            if not rows or rows * longest > self._budget or copied > max(_CACHED_POSITIONS, self._budget):
                batches.append([])
            batches[-1].append(i)
        return batches

    def _decode(
        self,
        prefix: Sequence[int],
        count: int,
        length: int,
        choose: Callable[[torch.Tensor, list[int], int], torch.Tensor],
    ) -> list[list[int]]:
        """`count` rows prolonged by what `choose` takes (n, 1) of the float32 logits (n, V) of some rows at a step.

        Rows that ended leave the batch once they are half of it.
        """
        import torch

        self._check_fits(len(prefix) + length - 1)
        continuations: list[list[int]] = [[] for _ in range(count)]
        rows, ended = list(range(count)), [False] * count
        with torch.inference_mode():
            cache, state = self._after(tuple(prefix))
            logits = self._forward.logits(state).expand(count, -1)
            cache = prefix_cache.repeated(cache, count)
            for step in range(length):
                chosen = choose(logits, rows, step)
                for row, token in zip(rows, chosen[:, 0].tolist(), strict=True):
                    ended[row] |= token == self.end
                    if not ended[row]:
                        continuations[row].append(token)
                going = [place for place, row in enumerate(rows) if not ended[row]]
                if step + 1 == length or not going:
                    break
                if 2 * len(going) <= len(rows):
                    kept = torch.tensor(going, device=self._device)
                    cache.batch_select_indices(kept)
                    chosen, rows = chosen[kept], [rows[place] for place in going]
                states, cache = self._forward.states(chosen, cache, keep=True)
                logits = self._forward.logits(states[:, -1])
        return continuations


def _draw(logits: torch.Tensor, points: torch.Tensor, top_k: int, temperature: float) -> torch.Tensor:
    """Ids (n, 1) as `language_model.draw` takes them; with `top_k` the vocabulary is read once, never normalised."""
    import torch

    ids = None
    if 0 < top_k < logits.shape[1]:
        logits, ids = _largest(logits, top_k)
    mass = (logits.double() / temperature).softmax(-1).cumsum(-1)
    place = torch.searchsorted(mass, points * mass[:, -1:], right=True)
    return place if ids is None else ids.gather(1, place)


def _largest(logits: torch.Tensor, top_k: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The `top_k` largest of each row and what ties with the last (OP-56), with their ids, in the order of ids.

    What is below, taken along with other rows' ties, is minus infinity.
    """
    values, ids = logits.topk(min(top_k + _TIES, logits.shape[1]))
    last = values[:, top_k - 1, None]
    if bool((values[:, -1:] == last).any()):  # perhaps more are tied than were taken
        values, ids = logits.topk(int((logits >= last).sum(dim=1).max()))
    ids, order = ids.sort(dim=1)
    return values.masked_fill(values < last, -float("inf")).gather(1, order), ids


def _padded(rows: Sequence[Sequence[int]]) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows of ids, padded at their right end, and their lengths."""
    import torch
    from torch.nn.utils.rnn import pad_sequence

    return pad_sequence([torch.tensor(row) for row in rows], batch_first=True), torch.tensor([*map(len, rows)])
