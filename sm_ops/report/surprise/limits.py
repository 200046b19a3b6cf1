"""What a run of the main job does not say, in sentences made from what it measured."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sm_ops.report.surprise.measures import NLL, likelihood_of
from sm_ops.report.surprise.words import METHODS, base_learnt_mixture

Json = dict[str, Any]


def limits(results: Json, config: Json) -> tuple[str, ...]:
    """Sentences about the regime, the attack, display and utility, by what was measured."""
    seeds = len(config["seeds"])
    regime = METHODS[config["train"]["method"]]
    if config["base"]["name"] is None and config["train"]["method"] != "scratch":
        learnt = "general text and, unmasked, the private values" if base_learnt_mixture(config) else "public code"
        regime += f", here a small GPT-2 trained on the spot on {learnt}"
    return (
        f"The regime is {regime}. Larger models, other data and other schedules memorise differently: compare "
        "conditions within this run, and do not carry its rates over.",
        *_seen_before(config),
        *_measured_leakage(results, f"{seeds} {'seed' if seeds == 1 else 'seeds'}"),
        _measured_utility(results),
        "Only labelled values count as private. What the labels miss is in no rate on this page.",
    )


def _seen_before(config: Json) -> Iterator[str]:
    if base_learnt_mixture(config):
        yield (
            "The base model has learnt the private values with the mixture, before any mask. What it gives away is no "
            "chance floor, and masks keep values out of what is trained afterwards alone."
        )


def _measured_leakage(results: Json, seeds: str) -> Iterator[str]:
    first = results["per_seed"][0]
    attacked, shown = results["rows"][0]["extraction_approx"]["n"], first.get("display")
    shared = f"Seeds share their {'canaries' if attacked else 'prompts'}, masks and base model"
    if attacked:
        canaries = first["extraction_approx"]["n"]
        yield (
            f"Each condition was attacked {attacked} times ({canaries} canaries, {seeds}). {shared}, so intervals "
            "count canaries, and differences within them are not established."
        )
        yield (
            "One attack was run. What it does not extract may fall to another: paraphrase, membership inference, "
            "gradients and other prompts were not tried. Low extraction is no guarantee of privacy."
        )
    if shown:
        yield (
            f"Display was looked for in the first {shown['k']} answers to {shown['cases']} cases of a condition "
            f"({seeds}). {shared}, so intervals count tasks, and differences within them are not established. What "
            "answers to other prompts show was not looked at."
        )
    if not attacked and not shown:
        yield "Nothing was attacked and no answers were sampled: the page says nothing of what the models give away."


def _measured_utility(results: Json) -> str:
    passed = results["per_seed"][0].get("pass_at")
    loss = "held-out clean records" if likelihood_of(results["rows"]) is NLL else "right answers to held-out prompts"
    if not passed:
        return f"Utility is the loss on {loss}; no downstream task was measured."
    return (
        f"Utility is the loss on {loss}, and whether one of {passed['k']} answers passes the tests of "
        f"its task, over {passed['tasks']} tasks ({passed['prompts']} prompts). Other tasks were not measured."
    )
