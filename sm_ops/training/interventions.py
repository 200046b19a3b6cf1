"""What training does about masked tokens: the interventions of paper E.1.

`loss` takes them out of the loss, `attention` hides them from later tokens and `both` does both; `clip` and `scale`
let them be learned with a weaker gradient; `drop` leaves out every record that has one. An empty mask makes each of
them plain training.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from sm_ops.core.errors import InputError
from sm_ops.training.masked import Example

BLOCKING = ("attention", "both")
WEAKENING = ("clip", "scale")
LEARNING = ("attention", *WEAKENING)
"""Interventions under which masked tokens stay in the loss."""

FACTOR = 0.25
"""Fixed in a pilot of the paper, and not chosen by extraction results (E.1)."""
LEAST_NORM = 1e-12


def prepare(examples: Sequence[Example], intervention: str) -> list[Example]:
    """The examples as the intervention trains on them: whose labels are what is to be learned.

    Raises `InputError` where `drop` leaves nothing.
    """
    if intervention == "drop":
        kept = [example for example in examples if not example.masked.any()]
        if not kept:
            raise InputError(
                "nothing-left",
                f"Each of the {len(examples)} records has a masked token, so train.intervention=drop leaves nothing to "
                "train on; choose another intervention, or a rule or baseline that masks less.",
            )
        return kept
    if intervention in LEARNING:
        return [replace(each, labels=np.where(each.masked, each.ids, each.labels)) for each in examples]
    return list(examples)


def effective_passes(steps: int, batch: int, records: int) -> float:
    """How often each record is seen: steps x batch / records (paper E.1: 76.79 after dropping, else two)."""
    return steps * batch / records


# ---- weaker gradients ----------------------------------------------------------------------------------


def weakened(
    others: torch.Tensor, selected: torch.Tensor, parameters: Sequence[torch.nn.Parameter], intervention: str
) -> tuple[torch.Tensor, torch.Tensor]:
    """A loss whose value is `others + selected` and whose gradient is g_B + m g_S, and the multiplier m.

    `others` and `selected` are scalar losses of the unselected and selected tokens, with one denominator. `scale`
    has m = 0.25, `clip` m = min(1, 0.25 |g_B| / max(|g_S|, 1e-12)) with one norm over all trained `parameters`
    (E.1, OP-30), for which it goes backward twice more.
    """
    multiplier = torch.full_like(selected, FACTOR)
    if intervention == "clip":
        bound = FACTOR * _gradient_norm(others, parameters)
        multiplier = (bound / _gradient_norm(selected, parameters).clamp(min=LEAST_NORM)).clamp(max=1)
    learned = others + multiplier * selected
    return learned + (others + selected - learned).detach(), multiplier


def _gradient_norm(loss: torch.Tensor, parameters: Sequence[torch.nn.Parameter]) -> torch.Tensor:
    gradients = torch.autograd.grad(loss, parameters, retain_graph=True, allow_unused=True)
    norms = [
        torch.linalg.vector_norm(each, dtype=torch.promote_types(each.dtype, torch.float32))
        for each in gradients
        if each is not None
    ]
    return torch.linalg.vector_norm(torch.stack(norms)).to(loss.dtype)


# ---- blocked attention ---------------------------------------------------------------------------------


def allowed(masked: torch.Tensor, present: torch.Tensor) -> torch.Tensor:
    """Which keys a query sees: those up to itself that are neither masked nor padding, and always itself (OP-31).

    `masked` and `present` (false at padding) are booleans (batch, length); the result is (batch, query, key).
    """
    length = masked.shape[1]
    square = torch.ones(length, length, dtype=torch.bool, device=masked.device)
    seen = (present & ~masked)[:, None, :] & square.tril()
    return seen | torch.eye(length, dtype=torch.bool, device=masked.device)


def blocked_attention(model: Any, masked: torch.Tensor, present: torch.Tensor) -> Any:
    """What `model` takes as `attention_mask` to block masked keys: additive, (batch, 1, length, length).

    A model whose layers differ in what they see gets one for each kind of layer. Check it once by `require_blocking`.
    """
    config = model.config.get_text_config()
    seen = allowed(masked, present.bool())
    window = getattr(config, "sliding_window", None)
    kinds = set(getattr(config, "layer_types", None) or ())
    if not kinds:
        return _additive(seen if window is None else _near(seen, window), model.dtype)
    masks = {"full_attention": seen}
    if window is not None:
        masks["sliding_attention"] = _near(seen, window)
    if not kinds <= set(masks):
        raise _cannot_block(model, f"it has layers of kind {', '.join(sorted(kinds - set(masks)))}")
    if kinds == {"full_attention"}:
        return _additive(seen, model.dtype)
    return {kind: _additive(masks[kind], model.dtype) for kind in kinds}


def require_blocking(model: Any, context: int) -> None:
    """Refuse, in words, a model that does not read a blocked attention mask as it is meant.

    Two small forward passes must agree with the plain one where nothing is blocked, and must not show, at any other
    position, which token stands at a blocked one.
    """
    config = model.config.get_text_config()
    if model.config._attn_implementation not in ("sdpa", "eager"):
        raise _cannot_block(model, f"its attention is {model.config._attn_implementation}, and not sdpa or eager")
    window = getattr(config, "sliding_window", None) or context
    length = min(context, 8 + (window if window < context else 8))
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(1, config.vocab_size, (1, length), generator=generator).expand(2, length).clone()
    hidden = length // 2
    ids[1, hidden] = ids[0, hidden] % (config.vocab_size - 1) + 1
    ids = ids.to(model.device)
    nothing, one, present = (torch.zeros_like(ids, dtype=torch.bool) for _ in range(3))
    one[:, hidden], present[:] = True, True
    training = model.training
    model.eval()
    with torch.no_grad():
        plain = model(input_ids=ids).logits.float()
    try:
        with torch.no_grad():
            open_ = model(input_ids=ids, attention_mask=blocked_attention(model, nothing, present)).logits.float()
            blocked = model(input_ids=ids, attention_mask=blocked_attention(model, one, present)).logits.float()
    except (ValueError, TypeError, RuntimeError, AttributeError, KeyError, IndexError):
        raise _cannot_block(model, "it takes no attention mask with a row for each query") from None
    finally:
        model.train(training)
    near = (0.05 if model.dtype in (torch.bfloat16, torch.float16) else 1e-4) * plain.std()
    others = torch.arange(length, device=ids.device) != hidden
    if (open_ - plain).abs().max() > near:
        raise _cannot_block(model, "it sees other tokens under such a mask than without one")
    if (blocked[0] - blocked[1])[others].abs().max() > near:
        raise _cannot_block(model, "a blocked token still reaches later ones")


def _near(seen: torch.Tensor, window: int) -> torch.Tensor:
    return seen & torch.ones(seen.shape[1:], dtype=torch.bool, device=seen.device).triu(1 - window)


def _additive(seen: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    lowest = torch.finfo(dtype).min
    return torch.zeros(seen.shape, dtype=dtype, device=seen.device).masked_fill(~seen, lowest)[:, None]


def _cannot_block(model: Any, why: str) -> InputError:
    name = type(model.get_base_model() if hasattr(model, "peft_config") else model).__name__
    return InputError(
        "attention-cannot-be-blocked",
        f"Attention to masked tokens cannot be blocked in {name}: {why}; "
        "use train.intervention=loss, or another model.",
    )
