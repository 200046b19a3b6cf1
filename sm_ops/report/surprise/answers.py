"""What models answered to held-out prompts as figures: pass@k, display@k, and the likelihood of right answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sm_ops.metrics import clustered_rate, display_at, mean_ratio_interval, pass_rates
from sm_ops.metrics import completion_nll as mean_nll

Json = dict[str, Any]

_SEED = 0
"""Of the resamples of tasks."""


def pass_at(assessments: Sequence[Json]) -> Json | None:
    """pass@k over prompts of one or several seeds, its interval over tasks; null where answers were not run.

    `unbiased` is what is expected of k of all answers, with its own interval; the same where no more were sampled.
    """
    return rated["all"] if (rated := _pass_rates(assessments)) else None


def by_family(condition: str, assessments: Sequence[Json]) -> Iterator[Json]:
    """pass@k by family of tasks."""
    for family, figures in ((_pass_rates(assessments) or {}).get("families") or {}).items():
        yield {"condition": condition, "family": family, **figures}


def display(assessments: Sequence[Json]) -> Json | None:
    """display@k with equal weights of quirks (OP-32), its interval by resampling tasks; null without a case."""
    cases = _cases(assessments)
    if not cases:
        return None
    value = display_at({quirk: [[hit] for _, hit in own] for quirk, own in cases.items()})
    names = np.unique([task for own in cases.values() for task, _ in own])
    ratios = []
    for own in cases.values():
        places = np.searchsorted(names, [task for task, _ in own])
        hits = np.array([hit for _, hit in own], np.float64)
        ratios.append((np.bincount(places, hits, len(names)), np.bincount(places, minlength=len(names))))
    flat = [(task, hit) for own in cases.values() for task, hit in own]
    # where resamples agree, as with no hit at all, every task counts as one observation
    low, high = mean_ratio_interval(ratios, _SEED) or _clustered(flat)
    return {"k": assessments[0]["k"], "value": value, "low": low, "high": high, "cases": len(flat)}


def by_quirk(condition: str, assessments: Sequence[Json]) -> Iterator[Json]:
    """For each quirk, the cases that display it among the first k answers."""
    for quirk, own in _cases(assessments).items():
        low, high = _clustered(own)
        hits = sum(hit for _, hit in own)
        yield {"condition": condition, "quirk": quirk, "k": hits, "n": len(own), "low": low, "high": high}


def completion_nll(utility: Json, prompts: int | None) -> float | None:
    """`metrics.completion_nll` of the first `prompts` right answers that have a token.

    Null where the held-out records are no answers to prompts. `utility` is what the stage `evaluate` wrote.
    """
    if not utility.get("answers"):
        return None
    asked = list(zip(utility["logprob_sums"], utility["tokens"], strict=True))[:prompts]
    scored = [(total, tokens) for total, tokens in asked if tokens]
    return mean_nll([total for total, _ in scored], [tokens for _, tokens in scored])


def _pass_rates(assessments: Sequence[Json]) -> Json | None:
    """Figures of `metrics.pass_rates` in all and by family, in the shape of a report."""
    if not assessments or not all(each["executed"] for each in assessments):
        return None
    prompts = [prompt for each in assessments for prompt in each["prompts"]]
    passed, tasks, families = ([prompt[name] for prompt in prompts] for name in ("passed", "task", "family"))
    rated = pass_rates(passed, tasks, families, k := assessments[0]["k"])

    def figures(own: Json) -> Json:
        return {"k": k, **own["any"], **{name: own[name] for name in ("unbiased", "prompts", "tasks")}}

    return {"all": figures(rated["all"]), "families": {name: figures(own) for name, own in rated["families"].items()}}


def _cases(assessments: Sequence[Json]) -> dict[str, list[tuple[str, bool]]]:
    """By quirk, the task of each case and whether one of its first k answers displays the quirk."""
    cases: dict[str, list[tuple[str, bool]]] = {}
    for each in assessments:
        for prompt in each["prompts"]:
            for quirk, shown in prompt["quirks"].items():
                cases.setdefault(quirk, []).append((prompt["task"], any(shown[: each["k"]])))
    return cases


def _clustered(cases: Sequence[tuple[str, bool]]) -> tuple[float | None, float | None]:
    tasks, hits = zip(*cases, strict=True)
    return clustered_rate(np.array(hits), np.array(tasks)) or (None, None)
