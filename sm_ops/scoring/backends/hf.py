"""Any Hugging Face causal language model as reference: batches by token budget, sorted by length.

Every sequence is a fixed head (OP-05: BOS or what stands for it, and optional clean examples) followed by the
record's tokens; a text longer than the model's context is scored in overlapping chunks (OP-06). The head's keys
and values are computed once. What is cut into which batch depends on the data and the token budget alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sm_ops.core.errors import InputError
from sm_ops.core.fs import content_hash
from sm_ops.core.records import Record
from sm_ops.core.tokens import Scored, Tokens
from sm_ops.scoring import prefix_cache
from sm_ops.scoring.blocks import token_logprobs
from sm_ops.scoring.grid import to_grid
from sm_ops.scoring.reference import Progress
from sm_ops.scoring.tokenize import encode, load_tokenizer, prefix_id, tokenize_all, tokenizer_hash

if TYPE_CHECKING:
    import torch

_FALLBACK_TOKENS = 1024


def load(settings: Any) -> HFReference:
    """Load the reference that `settings` names.

    Reads `model` (folder or hub name), `revision`, `dtype` ("float32" | "bfloat16" | "auto"), `device`
    ("auto" | "cpu" | "cuda"), `token_budget` (tokens of a batch, padding and head included), `prefix_token`
    and `examples` (clean texts put before every record). Raises `InputError` where the model is not to be had.
    """
    import torch
    from transformers import AutoModelForCausalLM

    device = settings.device
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    name = str(settings.model)
    _check_reachable(name, settings.revision)
    try:
        tokenizer = load_tokenizer(name, settings.revision)
        model: Any = AutoModelForCausalLM.from_pretrained(
            name, revision=settings.revision or "main", dtype=settings.dtype
        )
    except (OSError, ValueError) as error:
        raise _not_found(name, error) from None
    local = Path(name).is_dir()
    return HFReference(
        model.to(device).eval(),
        tokenizer,
        head=fixed_head(tokenizer, settings.examples, settings.prefix_token),
        token_budget=settings.token_budget,
        name=Path(name).resolve().name if local else name,
        revision=content_hash(Path(name)) if local else str(getattr(model.config, "_commit_hash", "")),
    )


def fixed_head(tokenizer: Any, examples: Sequence[str] = (), prefix_token: str | None = None) -> list[int]:
    """Ids before every record: the prefix token (OP-05), and each example followed by that token again."""
    prefix = prefix_id(tokenizer, prefix_token)
    separator = [] if prefix is None else [prefix]
    head = list(separator)
    for example in examples:
        head += encode(tokenizer, example)[0] + separator
    return head


@dataclass(frozen=True, slots=True)
class Chunk:
    """Tokens `first:stop` of a record in one forward pass, of which `fresh:stop` get their score there."""

    record: int
    first: int
    fresh: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.first


def chunks(record: int, length: int, context: int, head: int) -> Iterator[Chunk]:
    """OP-06: cut `length` tokens for a model of `context` positions, `head` of which a fixed head takes."""
    room, overlap = context - head, context // 2
    stop = min(length, room)
    yield Chunk(record, 0, 0, stop)
    while stop < length:
        first, fresh = stop - overlap, stop
        stop = min(length, first + room)
        yield Chunk(record, first, fresh, stop)


def batches(pieces: Sequence[Chunk], token_budget: int, head: int) -> Iterator[list[Chunk]]:
    """Longest first, equal lengths in data order; rows times (head + longest) stay within the budget."""
    batch: list[Chunk] = []
    for piece in sorted(pieces, key=lambda piece: -len(piece)):
        if batch and (len(batch) + 1) * (head + len(batch[0])) > token_budget:
            yield batch
            batch = []
        batch.append(piece)
    if batch:
        yield batch


class HFReference:
    """A loaded causal language model with a fixed head, as a `Reference`."""

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        head: Sequence[int],
        token_budget: int = 8192,
        name: str = "",
        revision: str = "",
    ) -> None:
        """Take a model in evaluation mode; `head` are the ids before every record, possibly none."""
        self.name, self.revision = name, revision
        self.tokenizer, self.tokenizer_hash = tokenizer, tokenizer_hash(tokenizer)
        self.context: int = getattr(model.config.get_text_config(), "max_position_embeddings", None) or 2**31
        self.head, self.token_budget = list(head), token_budget
        overlap = self.context // 2
        if self.context - len(self.head) - overlap < 1:
            raise InputError(
                "head-too-long",
                f"The fixed head (prefix token and examples) has {len(self.head)} tokens, but the model's context "
                f"of {self.context} leaves room for {self.context - overlap - 1}; give fewer or shorter examples.",
            )
        self._model = model
        self._plain_head = _head_is_plain(model)
        self._cache = self._prefill()

    def score(self, records: Sequence[Record], progress: Progress | None = None) -> list[Scored]:
        """Scores of `records` in their order; see `Reference.score`."""
        tokens = tokenize_all(records, self.tokenizer)
        logprobs = [np.full(len(each), np.nan) for each in tokens]
        bodies = [self._body(each) for each in tokens]
        pieces = [
            chunk
            for index, (start, each) in enumerate(zip(bodies, tokens, strict=True))
            for chunk in chunks(index, len(each) - start, self.context, len(self.head))
        ]
        done = 0
        for batch in batches(pieces, self.token_budget, len(self.head)):
            for piece, values in zip(batch, self._score_batch(batch, tokens, bodies), strict=True):
                start = bodies[piece.record]
                logprobs[piece.record][start + piece.fresh : start + piece.stop] = values
                done += piece.stop == len(tokens[piece.record]) - start
            if progress is not None:
                progress(done, len(records))
        for each, values in zip(tokens, logprobs, strict=True):
            values[each.special] = np.nan
        return [
            Scored(record.id, record.group, each, to_grid(values))
            for record, each, values in zip(records, tokens, logprobs, strict=True)
        ]

    def _body(self, tokens: Tokens) -> int:
        """Where the record begins after the head: a template's own BOS is the head's, not a second one."""
        doubled = self.head and len(tokens) and tokens.special[0] and tokens.ids[0] == self.head[-1]
        return 1 if doubled else 0

    def _score_batch(self, batch: list[Chunk], tokens: list[Tokens], bodies: list[int]) -> list[np.ndarray]:
        """ln p of each chunk's fresh tokens; NaN for a first token that nothing precedes."""
        import torch

        lead = self.head[-1:]
        rows = [
            np.concatenate([lead, tokens[p.record].ids[bodies[p.record] + p.first : bodies[p.record] + p.stop]])
            for p in batch
        ]
        width = max(1, *map(len, rows))
        ids = np.zeros((len(rows), width), dtype=np.int64)
        present = np.zeros((len(rows), width), dtype=bool)
        wanted = np.zeros((len(rows), width), dtype=bool)  # positions whose own token gets a score
        for i, (piece, row) in enumerate(zip(batch, rows, strict=True)):
            ids[i, : len(row)], present[i, : len(row)] = row, True
            wanted[i, len(lead) + piece.fresh - piece.first : len(row)] = True
        values = np.full(ids.shape, np.nan)
        scored = wanted.copy()
        scored[:, 0] = False
        if scored.any():
            device = self._model.device
            with torch.inference_mode():
                found = self._forward(
                    torch.from_numpy(ids).to(device),
                    torch.from_numpy(present).to(device),
                    torch.from_numpy(scored).to(device),
                )
            values[scored] = found.double().cpu().numpy()
        return [row[want] for row, want in zip(values, wanted, strict=True)]

    def _forward(self, ids: torch.Tensor, present: torch.Tensor, scored: torch.Tensor) -> torch.Tensor:
        """ln p of the tokens at `scored`, row by row."""
        import torch

        if self._plain_head:
            output = self._model.base_model(input_ids=ids[:, :-1], **self._inputs(present[:, :-1]))
            hidden = output.last_hidden_state[scored[:, 1:]]
            head = self._model.get_output_embeddings()
            return token_logprobs(hidden, head.weight, head.bias, ids[scored])
        step = max(1, _FALLBACK_TOKENS // ids.shape[1])
        parts = []
        for rows in torch.arange(len(ids)).split(step):
            logits = self._model(input_ids=ids[rows, :-1], **self._inputs(present[rows, :-1])).logits
            kept = logits[scored[rows, 1:]]
            for block, target in zip(kept.split(128), ids[rows][scored[rows]].split(128), strict=True):
                parts.append(block.float().log_softmax(1).gather(1, target[:, None])[:, 0])
        return torch.cat(parts)

    def _inputs(self, present: torch.Tensor) -> dict[str, Any]:
        """Attention mask, and the head's keys and values for as many rows."""
        from torch.nn.functional import pad

        if self._cache is None:
            return {"attention_mask": present.long(), "use_cache": False}
        return {
            "attention_mask": pad(present.long(), (len(self.head) - 1, 0), value=1),
            "use_cache": True,
            prefix_cache.argument(self._model): prefix_cache.repeated(self._cache, len(present)),
        }

    def _prefill(self) -> Any:
        import torch

        if len(self.head) < 2:
            return None
        with torch.inference_mode():
            return prefix_cache.prefill(self._model, self.head[:-1])[0]


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


def _check_reachable(model: str, revision: str | None) -> None:
    """Ask one quick question before the library retries for minutes: is there a folder, a cached copy, a hub?"""
    from huggingface_hub import HfApi, try_to_load_from_cache

    if Path(model).is_dir():
        return
    try:
        if not try_to_load_from_cache(model, "config.json", revision=revision):
            HfApi().model_info(model, revision=revision, timeout=5)
    except Exception as error:  # whatever the HTTP library of the day raises
        raise _not_found(model, error) from None


def _not_found(model: str, error: Exception) -> InputError:
    return InputError(
        "model-not-found",
        f"The model {model!r} is neither a complete local folder nor to be had from the hub here "
        f"({type(error).__name__}); name a folder that holds config.json, the weights and tokenizer.json.",
    )
