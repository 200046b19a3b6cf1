"""Forward passes of a Hugging Face causal model whose vocabulary-wide part is made for chosen positions alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sm_ops.scoring import prefix_cache
from sm_ops.scoring.blocks import token_logprobs

if TYPE_CHECKING:
    import torch

FALLBACK_TOKENS = 1024
"""Positions of one pass of a model whose logits cannot be put off: each holds a whole vocabulary."""
_ROWS = 128


class Forward:
    """What a model's passes give: states (B, L, width), from which logits or log probabilities are made.

    States are the last hidden states where the head is one `plain` linear layer over them; else the logits.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.plain = _head_is_plain(model)
        self.cache = prefix_cache.argument(model)

    def states(
        self, ids: torch.Tensor, past: Any = None, keep: bool = False, **padded: torch.Tensor
    ) -> tuple[torch.Tensor, Any]:
        """States of `ids` (B, L) behind the keys and values of `past`, and all keys and values with `keep`.

        Rows are padded at their right end and models look to the left alone, so no attention mask is needed. Rows
        that are `padded` at their left end bring their `attention_mask` and `position_ids`.
        """
        cached = {} if past is None else {self.cache: past}
        run = self.model.base_model if self.plain else self.model
        output = run(input_ids=ids, use_cache=keep or past is not None, **cached, **padded)
        states = output.last_hidden_state if self.plain else output.logits
        return states, output[self.cache] if keep else None

    def logits(self, states: torch.Tensor) -> torch.Tensor:
        """Float32 logits (N, V) of the states (N, width)."""
        return (self.model.get_output_embeddings()(states) if self.plain else states).float()

    def logprobs(self, states: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """ln p (float32, N) of `targets` (N,) at the states (N, width)."""
        import torch

        if self.plain:
            output = self.model.get_output_embeddings()
            return token_logprobs(states, output.weight, output.bias, targets)
        parts = [
            rows.float().log_softmax(1).gather(1, own[:, None])[:, 0]
            for rows, own in zip(states.split(_ROWS), targets.split(_ROWS), strict=True)
        ]
        return torch.cat(parts)


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
