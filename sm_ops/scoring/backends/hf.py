"""Any Hugging Face causal language model as reference: batches by token budget, sorted by length.

Every sequence is a fixed head (OP-05: BOS or what stands for it; optional clean examples and a prompt) followed by
the record's tokens. With a second, violating prompt the same tokens are scored behind both (prompted contrast, paper
D.4, OP-08). The keys and values of a head are computed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from socket import gethostname
from typing import TYPE_CHECKING, Any

import numpy as np

from sm_ops.core.errors import InputError
from sm_ops.core.fs import canonical_json, content_hash, sha256
from sm_ops.core.records import Record
from sm_ops.core.tokens import Scored, Tokens
from sm_ops.core.types import Progress
from sm_ops.scoring import prefix_cache
from sm_ops.scoring.arithmetic import pick_device, pick_dtype, positive
from sm_ops.scoring.forward import FALLBACK_TOKENS, Forward
from sm_ops.scoring.hub import causal_model, damaged, reading
from sm_ops.scoring.plan import Batch, Plan
from sm_ops.scoring.reference import run_plan
from sm_ops.scoring.scores import Source
from sm_ops.scoring.tokenize import backend, encode, load_tokenizer, prefix_id, tokenize_all, tokenizer_hash

if TYPE_CHECKING:
    import torch

TOKEN_BUDGET = {"cpu": 1024, "cuda": 65_536}
"""Measured on the CPU: 1,024 positions are a fifth faster than 4,096, whose activations leave the cache."""
_OWN = ("_model", "_forward", "_caches")


def load(settings: Any) -> HFReference:
    """The reference that `settings` names; its weights are read when the first batch is run.

    Reads `model` (folder or hub name), `revision`, `dtype` ("float32" | "bfloat16" | "auto"), `device`
    ("auto" | "cpu" | "cuda"), `threads`, `token_budget` (positions of a batch, padding and head included; None: what
    suits the device), `prefix_token`, `examples` (clean texts put before every record), `prompt` (text put before
    every record, after the examples) and `violating` (a second prompt in its place). Raises `InputError` where the
    model is not to be had.
    """
    name = str(settings.model)
    tokenizer, weights = located(settings)

    def behind(prompt: str | None) -> list[int]:
        return fixed_head(tokenizer, settings.examples, settings.prefix_token, prompt)

    local = Path(name).is_dir()
    return HFReference(
        weights,
        tokenizer,
        head=behind(settings.prompt),
        violating=None if settings.violating is None else behind(settings.violating),
        token_budget=settings.token_budget or TOKEN_BUDGET[weights.device],
        name=Path(name).resolve().name if local else name,
        revision=content_hash(Path(name)) if local else str(getattr(weights.config, "_commit_hash", "")),
    )


def located(settings: Any) -> tuple[Any, Weights]:
    """The tokenizer that `settings` names, and the weights beside it, which are not read yet.

    Reads `model`, `revision`, `dtype`, `device` and `threads`, as `load`; raises `InputError` likewise.
    """
    from transformers import AutoConfig

    name = str(settings.model)
    device, dtype = pick_device(settings.device), pick_dtype(settings.dtype)
    threads = positive("threads", settings.threads)
    if settings.token_budget is not None:
        positive("token_budget", settings.token_budget)
    tokenizer = load_tokenizer(name, settings.revision)
    with reading(name):
        config: Any = AutoConfig.from_pretrained(name, revision=settings.revision or "main")
    known = getattr(config.get_text_config(), "vocab_size", None)
    if known is not None and backend(tokenizer).get_vocab_size(with_added_tokens=False) > known:
        raise damaged(name)
    where = str(Path(name).resolve()) if Path(name).is_dir() else name
    revision = settings.revision or getattr(config, "_commit_hash", None)  # a worker elsewhere reads the same
    return tokenizer, Weights(where, revision, dtype, device, threads, config)


@dataclass(frozen=True)
class Weights:
    """A model that is not in memory yet, and how to bring it there."""

    name: str
    revision: str | None
    dtype: str
    device: str
    threads: int
    config: Any

    def load(self) -> Any:
        """The model in evaluation mode on its device; torch's thread count is set for the whole process."""
        import torch

        torch.set_num_threads(self.threads)
        return causal_model(self.name, self.revision, dtype=self.dtype).to(self.device)


def fixed_head(
    tokenizer: Any, examples: Sequence[str] = (), prefix_token: str | None = None, prompt: str | None = None
) -> list[int]:
    """Ids before every record: the prefix token (OP-05), each example followed by that token again, the prompt.

    The prompt is tokenized for itself, so that the record's tokens are the same behind any (OP-08).
    """
    prefix = prefix_id(tokenizer, prefix_token)
    separator = [] if prefix is None else [prefix]
    head = list(separator)
    for example in examples:
        head += encode(tokenizer, example)[0] + separator
    return head + (encode(tokenizer, prompt)[0] if prompt else [])


class HFReference:
    """A causal language model with a fixed head, as a `Batched` reference."""

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        head: Sequence[int],
        token_budget: int = 8192,
        name: str = "",
        revision: str = "",
        violating: Sequence[int] | None = None,
    ) -> None:
        """Take a model in evaluation mode, or `Weights`; `head` are the ids before every record, possibly none.

        With `violating`, a second head, records are scored behind both.
        """
        self.tokenizer = tokenizer
        self.context: int = positions(model)
        self.heads = [list(head)] + ([] if violating is None else [list(violating)])
        self.token_budget = token_budget
        overlap = self.context // 2
        longest = max(map(len, self.heads))
        if self.context - longest - overlap < 1:
            raise InputError(
                "head-too-long",
                f"The fixed head (prefix token, examples and prompt) has {longest} tokens, but the model's context "
                f"of {self.context} leaves room for {self.context - overlap - 1}; give fewer or shorter ones.",
            )
        self._given = model
        self.arithmetic = _arithmetic(model)
        self._prefix = _leading_control(tokenizer, self.heads[0])
        self.source = Source(
            reference=name,
            revision=revision,
            tokenizer_hash=tokenizer_hash(tokenizer),
            prefix="none" if self._prefix is None else str(tokenizer.convert_ids_to_tokens(self._prefix)),
            head=sha256(canonical_json(self.heads)),
            dtype=_dtype(model),
        )

    def plan(self, records: Sequence[Record]) -> Plan:
        """The records' tokens, and batches of them behind each head."""
        tokens = tokenize_all(records, self.tokenizer)
        bodies = [self._body(each) for each in tokens]
        return Plan(records, tokens, bodies, [len(head) for head in self.heads], self.context, self.token_budget)

    def score(self, records: Sequence[Record], progress: Progress | None = None) -> list[Scored]:
        """Scores of `records` in their order; see `Reference.score`."""
        return run_plan(self, records, progress)

    def settle(self, worker: int | None) -> None:
        """Make the GPU of this worker's number the one that `cuda` means in this process.

        None is on a machine that shows one: raises `InputError` where the model's folder holds other bytes there.
        """
        import torch

        if worker is None and isinstance(self._given, Weights):
            self._check_folder()
        if worker is not None and torch.cuda.is_available():
            torch.cuda.set_device(worker % torch.cuda.device_count())

    def run(self, batch: Batch) -> np.ndarray:
        """ln p of the rows' tokens that are not known, float32; NaN for a first token that nothing precedes."""
        import torch

        lead = self.heads[batch.head][-1:]
        lengths = np.array([len(row.ids) for row in batch.rows]) + len(lead)
        ids = np.zeros((len(lengths), lengths.max()), dtype=np.int64)
        wanted = np.zeros(ids.shape, dtype=bool)  # positions whose own token gets a score
        ids[:, : len(lead)] = lead
        for i, row in enumerate(batch.rows):
            ids[i, len(lead) : lengths[i]] = row.ids
            wanted[i, len(lead) + row.known : lengths[i]] = True
        values = np.full(ids.shape, np.nan, dtype=np.float32)
        scored = wanted.copy()
        scored[:, 0] = False
        if scored.any():
            with torch.inference_mode():
                values[scored] = self._forward_scores(ids, scored, batch.head).cpu().numpy()
        return values[wanted]

    def _check_folder(self) -> None:
        folder = Path(self._given.name)
        if folder.is_dir() and content_hash(folder) != self.source.revision:
            raise InputError(
                "model-differs",
                f"{folder} holds another model on machine {gethostname()} than where the command was typed; copy it "
                "there again.",
            )

    def __getstate__(self) -> dict[str, Any]:
        """Without what a process loads for itself."""
        return {name: value for name, value in self.__dict__.items() if name not in _OWN}

    @cached_property
    def _model(self) -> Any:
        return self._given.load() if isinstance(self._given, Weights) else self._given

    @cached_property
    def _forward(self) -> Forward:
        return Forward(self._model)

    @cached_property
    def _caches(self) -> list[Any]:
        """For each head the keys and values of all but its last token, or None where there are none."""
        return [prefix_cache.prefill(self._model, head[:-1])[0] if len(head) > 1 else None for head in self.heads]

    def _body(self, tokens: Tokens) -> int:
        """Where the record begins behind the head: the prefix token that a template itself begins with is the head's.

        Behind a prompt it is left out too, unless it comes again: then it marks turns, and this is the first mark.
        """
        if self._prefix is None or not len(tokens) or not tokens.special[0] or tokens.ids[0] != self._prefix:
            return 0
        marks_turns = (tokens.ids[1:][tokens.special[1:]] == self._prefix).any()
        return 0 if marks_turns and self.heads[0][-1] != self._prefix else 1

    def _forward_scores(self, ids: np.ndarray, scored: np.ndarray, head: int) -> torch.Tensor:
        """ln p of the tokens at `scored`, row by row."""
        import torch

        device, cache = self._forward.model.device, self._caches[head]
        given = torch.from_numpy(ids[:, :-1]).to(device)
        step = len(ids) if self._forward.plain else max(1, FALLBACK_TOKENS // ids.shape[1])
        parts = []
        for top in range(0, len(ids), step):
            rows = slice(top, top + step)
            past = None if cache is None else prefix_cache.repeated(cache, len(ids[rows]))
            states, _ = self._forward.states(given[rows], past)
            places = torch.from_numpy(np.flatnonzero(scored[rows, 1:])).to(device)
            targets = torch.from_numpy(ids[rows][scored[rows]]).to(device)
            parts.append(self._forward.logprobs(states.flatten(0, 1)[places], targets))
        return torch.cat(parts)


def positions(model: Any) -> int:
    """How many positions a model (or `Weights`) has."""
    return getattr(model.config.get_text_config(), "max_position_embeddings", None) or 2**31


def _leading_control(tokenizer: Any, head: Sequence[int]) -> int | None:
    """The prefix token that a head begins with; a head without one begins with plain text, or is empty."""
    added = tokenizer.added_tokens_decoder
    return head[0] if head and head[0] in added and added[head[0]].special else None


def _arithmetic(model: Any) -> dict[str, str | int]:
    import torch

    if isinstance(model, Weights):
        return {"device": model.device, "threads": model.threads}
    return {"device": model.device.type, "threads": torch.get_num_threads()}


def _dtype(model: Any) -> str:
    chosen = model.config.dtype if isinstance(model, Weights) and model.dtype == "auto" else model.dtype
    return str(chosen).removeprefix("torch.")
