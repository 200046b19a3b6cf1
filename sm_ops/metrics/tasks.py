"""What a model can still do, and what a method costs: task success, completions, dollars (spec section 11)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sm_ops.core.errors import InputError


def pass_at(successes: Sequence[Sequence[bool]]) -> float | None:
    """pass@k: the share of tasks with a success among their k attempts; one row a task. `None` without tasks."""
    return sum(map(any, successes)) / len(successes) if successes else None


def display_at(quirks: Mapping[str, Sequence[Sequence[bool]]]) -> float | None:
    """display@k: the mean over quirks of the share of applicable tasks with a hit among k attempts.

    Quirks weigh equally, whatever their number of tasks. Raises `InputError` for a quirk without an applicable
    task (OP-32). `None` without quirks.
    """
    empty = [name for name, tasks in quirks.items() if not tasks]
    if empty:
        raise InputError("no-applicable-task", f"No task applies to {', '.join(empty)}; add tasks or drop the quirk.")
    shares = [pass_at(tasks) or 0.0 for tasks in quirks.values()]
    return float(np.mean(shares)) if shares else None


def completion_nll(completions: Sequence[np.ndarray]) -> float | None:
    """Mean over completions of the mean negative log probability of their tokens, in nats (OP-33).

    One array of log probabilities a completion: short and long ones weigh equally. `None` without a completion.
    Raises `InputError` for one without tokens.
    """
    if any(len(logprobs) == 0 for logprobs in completions):
        raise InputError("empty-completion", "A completion has no scored token; drop it or score its tokens.")
    return -float(np.mean([np.mean(logprobs) for logprobs in completions])) if len(completions) else None


def usd_per_million(
    *,
    source_tokens: int,
    input_tokens: int,
    cached_tokens: int,
    output_tokens: int,
    input_price: float,
    cached_price: float,
    output_price: float,
    selector_usd: float = 0.0,
) -> float | None:
    """US dollars per million source tokens of a rewriting method (paper F.4); `None` without source tokens.

    `input_tokens` include the cached ones; prices are dollars per token; `selector_usd` is what choosing the
    text to rewrite cost in all.
    """
    if source_tokens == 0:
        return None
    uncached = input_price * (input_tokens - cached_tokens)
    cost = uncached + cached_price * cached_tokens + output_price * output_tokens + selector_usd
    return 1e6 * cost / source_tokens
