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
from typing import TYPE_CHECKING, Any

import numpy as np

from sm_ops.core.errors import InputError
from sm_ops.core.fs import canonical_json, content_hash, sha256
from sm_ops.core.records import Record
from sm_ops.core.tokens import Scored, Tokens
from sm_ops.scoring import prefix_cache
from sm_ops.scoring.blocks import token_logprobs
from sm_ops.scoring.hub import check_reachable, not_found
from sm_ops.scoring.plan import Batch, Plan, Progress
from sm_ops.scoring.reference import run_plan
from sm_ops.scoring.scores import Source
from sm_ops.scoring.tokenize import encode, load_tokenizer, prefix_id, tokenize_all, tokenizer_hash

if TYPE_CHECKING:
    import torch

_FALLBACK_TOKENS = 1024
_TOKEN_BUDGET = {"cpu": 1024, "cuda": 65_536}
"""Measured on the CPU: 1,024 positions are a fifth faster than 4,096, whose activations leave the cache."""
_OWN = ("_model", "_plain_head", "_caches")


def load(settings: Any) -> HFReference:
    """The reference that `settings` names; its weights are read when the first batch is run.

    Reads `model` (folder or hub name), `revision`, `dtype` ("float32" | "bfloat16" | "auto"), `device`
    ("auto" | "cpu" | "cuda"), `threads`, `token_budget` (positions of a batch, padding and head included; None: what
    suits the device), `prefix_token`, `examples` (clean texts put before every record), `prompt` (text put before
    every record, after the examples) and `violating` (a second prompt in its place). Raises `InputError` where the
    model is not to be had.
    """
    from transformers import AutoConfig

    name = str(settings.model)
    check_reachable(name, settings.revision)
    try:
        tokenizer = load_tokenizer(name, settings.revision)
        config: Any = AutoConfig.from_pretrained(name, revision=settings.revision or "main")
    except (OSError, ValueError) as error:
        raise not_found(name, error) from None

    def behind(prompt: str | None) -> list[int]:
        return fixed_head(tokenizer, settings.examples, settings.prefix_token, prompt)

    local = Path(name).is_dir()
    device = _device(settings.device)
    weights = Weights(name, settings.revision, settings.dtype, device, settings.threads, config)
    return HFReference(
        weights,
        tokenizer,
        head=behind(settings.prompt),
        violating=None if settings.violating is None else behind(settings.violating),
        token_budget=settings.token_budget or _TOKEN_BUDGET[device],
        name=Path(name).resolve().name if local else name,
        revision=content_hash(Path(name)) if local else str(getattr(config, "_commit_hash", "")),
    )


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
        from transformers import AutoModelForCausalLM

        torch.set_num_threads(self.threads)
        try:
            model: Any = AutoModelForCausalLM.from_pretrained(
                self.name, revision=self.revision or "main", dtype=self.dtype
            )
        except (OSError, ValueError) as error:
            raise not_found(self.name, error) from None
        return model.to(self.device).eval()


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
        self.context: int = getattr(model.config.get_text_config(), "max_position_embeddings", None) or 2**31
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

    def settle(self, worker: int) -> None:
        """Make the GPU of this worker's number the one that `cuda` means in this process."""
        import torch

        if torch.cuda.is_available():
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
                values[scored] = self._forward(ids, scored, batch.head).cpu().numpy()
        return values[wanted]

    def __getstate__(self) -> dict[str, Any]:
        """Without what a process loads for itself."""
        return {name: value for name, value in self.__dict__.items() if name not in _OWN}

    @cached_property
    def _model(self) -> Any:
        return self._given.load() if isinstance(self._given, Weights) else self._given

    @cached_property
    def _plain_head(self) -> bool:
        return _head_is_plain(self._model)

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

    def _forward(self, ids: np.ndarray, scored: np.ndarray, head: int) -> torch.Tensor:
        """ln p of the tokens at `scored`, row by row.

        Rows are padded at their right end and models look to the left alone, so no attention mask is needed.
        """
        import torch

        model, device = self._model, self._model.device
        given = torch.from_numpy(ids[:, :-1]).to(device)
        if self._plain_head:
            hidden = model.base_model(input_ids=given, **self._past(head, len(ids))).last_hidden_state.flatten(0, 1)
            places = torch.from_numpy(np.flatnonzero(scored[:, 1:])).to(device)
            targets, output = torch.from_numpy(ids[scored]).to(device), model.get_output_embeddings()
            return token_logprobs(hidden[places], output.weight, output.bias, targets)
        parts = []
        step = max(1, _FALLBACK_TOKENS // ids.shape[1])
        for top in range(0, len(ids), step):
            rows = slice(top, top + step)
            logits = model(input_ids=given[rows], **self._past(head, len(ids[rows]))).logits.flatten(0, 1)
            places = torch.from_numpy(np.flatnonzero(scored[rows, 1:])).to(device)
            own = torch.from_numpy(ids[rows][scored[rows]]).to(device)
            for place, target in zip(places.split(128), own.split(128), strict=True):
                parts.append(logits[place].float().log_softmax(1).gather(1, target[:, None])[:, 0])
        return torch.cat(parts)

    def _past(self, head: int, rows: int) -> dict[str, Any]:
        """The head's keys and values for as many rows."""
        cache = self._caches[head]
        if cache is None:
            return {"use_cache": False}
        return {"use_cache": True, prefix_cache.argument(self._model): prefix_cache.repeated(cache, rows)}


def _leading_control(tokenizer: Any, head: Sequence[int]) -> int | None:
    """The prefix token that a head begins with; a head without one begins with plain text, or is empty."""
    added = tokenizer.added_tokens_decoder
    return head[0] if head and head[0] in added and added[head[0]].special else None


def _device(name: str) -> str:
    import torch

    return ("cuda" if torch.cuda.is_available() else "cpu") if name == "auto" else name


def _arithmetic(model: Any) -> dict[str, str | int]:
    import torch

    if isinstance(model, Weights):
        return {"device": model.device, "threads": model.threads}
    return {"device": model.device.type, "threads": torch.get_num_threads()}


def _dtype(model: Any) -> str:
    chosen = model.config.dtype if isinstance(model, Weights) and model.dtype == "auto" else model.dtype
    return str(chosen).removeprefix("torch.")


def _head_is_plain(model: Any) -> bool:
    """Whether logits are exactly one linear layer over the base model's last hidden state.

    One tiny forward pass is watched: soft-capping, scaling or a wrapped head makes the answer no.
    """
    import torch

    head, base = model.get_output_embeddings(), model.base_model
    if not isinstance(head, torch.nn.Linear) or base is model:
        return False
    seen: dict[str, Any] = {}
    hooks = [
        base.register_forward_hook(lambda _m, _i, out: seen.update(hidden=getattr(out, "last_hidden_state", None))),
        head.register_forward_hook(lambda _m, inputs, _out: seen.update(input=inputs[0])),
    ]
    ids = torch.arange(min(16, head.out_features), device=model.device)[None]
    try:
        with torch.inference_mode():
            logits = model(input_ids=ids, use_cache=False).logits
    finally:
        for hook in hooks:
            hook.remove()
    if seen.get("hidden") is None or "input" not in seen:
        return False
    with torch.inference_mode():
        expected = torch.nn.functional.linear(seen["hidden"], head.weight, head.bias)
    return torch.equal(seen["input"], seen["hidden"]) and torch.equal(expected.float(), logits.float())
