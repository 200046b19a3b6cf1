"""What a model can still do, and what a method costs: task success, completions, dollars (spec section 11)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import comb
from typing import Any

import numpy as np

from sm_ops.core.errors import InputError
from sm_ops.metrics.intervals import clustered_rate


def pass_at(successes: Sequence[Sequence[bool]]) -> float | None:
    """pass@k: the share of tasks with a success among their k attempts; one row a task. `None` without tasks."""
    return sum(map(any, successes)) / len(successes) if successes else None


def pass_at_unbiased(successes: Sequence[Sequence[bool]], k: int) -> float | None:
    """pass@k as expected of k attempts drawn from each task's n >= k: the mean of 1 - C(n - c, k) / C(n, k), c hits.

    Unbiased for attempts drawn independently (Chen et al. 2021, section 2.1); for n = k it is `pass_at`. `None`
    without tasks. Raises `InputError` for a task with fewer than k attempts.
    """
    shares = [_expected(attempts, k) for attempts in successes]
    return float(np.mean(shares)) if shares else None


def pass_rates(
    successes: Sequence[Sequence[bool]], tasks: Sequence[str], families: Sequence[str], k: int
) -> dict[str, Any]:
    """Both readings of pass@k, in all and by family of tasks, with 95 % intervals over tasks.

    One row of attempts, one task and one family a prompt; prompts that are phrasings of one task share its name and
    count as one cluster. `any` takes the first k recorded attempts, `unbiased` all of them. Each value is
    `{"value", "low", "high"}` beside the numbers of `prompts` and `tasks`; null without prompts. Raises `InputError`
    for a prompt with fewer than k attempts.
    """
    rows = [(any(attempts[:k]), _expected(attempts, k)) for attempts in successes]
    shares = np.array(rows, np.float64).reshape(-1, 2)
    names, family = np.array(tasks, str), np.array(families, str)
    return {
        "k": k,
        "all": _rates(shares, names),
        "families": {str(each): _rates(shares[family == each], names[family == each]) for each in np.unique(family)},
    }


def _rates(shares: np.ndarray, tasks: np.ndarray) -> dict[str, Any]:
    counts = {"prompts": len(tasks), "tasks": len(np.unique(tasks))}
    return counts | {name: _rate(shares[:, column], tasks) for column, name in enumerate(("any", "unbiased"))}


def _rate(shares: np.ndarray, tasks: np.ndarray) -> dict[str, float | None]:
    low, high = clustered_rate(shares, tasks) or (None, None)
    return {"value": float(shares.mean()) if len(shares) else None, "low": low, "high": high}


def _expected(attempts: Sequence[bool], k: int) -> float:
    """The chance that k of these attempts, drawn without replacement, hold a success."""
    if not 1 <= k <= len(attempts):
        raise InputError("too-few-attempts", f"pass@{k} asks for {k} attempts; a prompt has {len(attempts)}.")
    return 1 - comb(len(attempts) - sum(map(bool, attempts)), k) / comb(len(attempts), k)


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


def completion_nll(logprob_sums: Sequence[float], tokens: Sequence[int]) -> float | None:
    """Mean over completions of the mean negative log probability of their tokens, in nats (OP-33).

    One sum of log probabilities and one number of tokens a completion: short and long ones weigh equally. `None`
    without a completion. Raises `InputError` for one without tokens.
    """
    if not all(tokens):
        raise InputError("empty-completion", "A completion has no scored token; drop it or score its tokens.")
    means = [-total / count for total, count in zip(logprob_sums, tokens, strict=True)]
    return float(np.mean(means)) if means else None


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
