"""A ranking's recipe before it runs: where its outputs come from, and every score rule on a few generated pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

from sm_ops.core.records import Record
from sm_ops.core.settings import Settings
from sm_ops.core.tokens import Scored, Tokens
from sm_ops.ranking.generated import generate
from sm_ops.ranking.measuring import Side, measure
from sm_ops.ranking.pairs import outputs

Facts = dict[str, Any]


def check(config: dict[str, Any]) -> Facts:
    """What a resolved config amounts to; raises `InputError` where it cannot work.

    `trial` is the number of generated outputs that every score ranked, with random numbers in place of a reference.
    """
    settings = Settings(config)
    records = list(outputs(generate().pairs))
    names = {score["reference"] for score in config["scores"].values()}
    side = Side(records, {name: [_random(record, number) for number, record in enumerate(records)] for name in names})
    scores = {name: Settings(score) for name, score in config["scores"].items()}
    measure(side, side, scores, settings.acceptable_collateral, settings.coverage)
    references = {name: settings.references.at(name)["backend"] for name in sorted(names)}
    return {
        "name": settings.name,
        "pairs": config["pairs"],
        "scores": config["scores"],
        "references": references,
        "trial": len(records),
    }


def describe(facts: Facts) -> list[str]:
    """The facts in plain lines."""
    pairs = facts["pairs"]
    sides = f"{pairs['share']:g} of the pairs" if pairs["application"] is None else "a file of its own"
    scores = ", ".join(f"{name} ({own['rule']} under {own['reference']})" for name, own in facts["scores"].items())
    return [
        f"{facts['name']}: pairs from {pairs['source']}, controls {pairs['controls']}; for validation {sides}",
        f"scores: {scores}",
        f"trial: every score ranked {facts['trial']} generated outputs",
    ]


def _random(record: Record, seed: int) -> Scored:
    """A token a character with random log probabilities behind two prompts."""
    size = len(record.content)
    places = np.arange(size)
    supervised = np.zeros(size, bool)
    for start, end in record.supervised_intervals:
        supervised[start:end] = True
    tokens = Tokens(places, places, places + 1, np.zeros(size, bool), supervised)
    first, second = -np.random.default_rng(seed).exponential(size=(2, size))
    return Scored(record.id, record.group, tokens, first, second)
