"""The arithmetic of a recipe: records, rows, tokens, optimiser steps and what is measured, before anything is made."""

from __future__ import annotations

import math
from typing import Any

from sm_ops.core import registry
from sm_ops.core.errors import InputError
from sm_ops.core.settings import Settings
from sm_ops.masking.conditions import trainings
from sm_ops.training.schedule import steps_of, warmup_of

Facts = dict[str, Any]

CHARS_PER_TOKEN = 3
"""Of code under a byte-level BPE, roughly: what is known before anything has been tokenized."""


def data_facts(data: Settings) -> Facts:
    """`records` by split, `train_chars`, and what else the dataset says of itself beforehand; None where unknown."""
    facts: Facts = {"records": None, "train_chars": None}
    expected = getattr(registry.load("dataset", data.dataset), "expected", None)
    return facts | (expected(data) if expected else {})


def mixture_facts(settings: Settings) -> Facts | None:
    """Tokens and rows of the mixture, how often it is passed, and who learns it; None without one."""
    if settings.mixture is None:
        return None
    learner = "base" if settings.train.method == "continue" else "train"
    training = getattr(settings, learner)
    passes = training.epochs * (settings.train.rounds if learner == "train" else 1)
    tokens = settings.mixture.general_tokens + settings.mixture.domain_tokens
    return {
        "general_tokens": settings.mixture.general_tokens,
        "domain_tokens": settings.mixture.domain_tokens,
        "tokens": tokens,
        "rows": math.ceil(tokens / training.context),
        "passes": passes,
        "tokens_seen": passes * tokens,
        "learnt_by": learner,
    }


def base_facts(settings: Settings, mixture: Facts | None) -> Facts | None:
    """The base model's training on the mixture; None where it is named, or made of other text."""
    base = settings.base
    if mixture is None or mixture["learnt_by"] != "base":
        return None
    return {"epochs": base.epochs, "rounds": 1, **_steps(base, mixture["rows"])}


def schedule_facts(settings: Settings, data: Facts, mixture: Facts | None) -> Facts:
    """Rows, optimiser steps and passes of each condition.

    Exact with a mixture, whose tokens are given, and with LoRA, where a record is a row; packed rows of other data are
    an estimate. Raises `InputError` where the warm-up is as long as the training.
    """
    train = settings.train
    exact = train.method == "lora" or mixture is not None
    facts = {
        "method": train.method,
        "conditions": len(trainings(settings.masking, train)),
        "seeds": len(settings.seeds),
        "epochs": train.epochs,
        "rounds": train.rounds,
        "exact": exact,
        **_steps(train, None),
        "passes": None,
    }
    if mixture is not None:
        own = mixture["rows"] if mixture["learnt_by"] == "train" else mixture["domain_tokens"] / train.context
        rows = math.ceil(own)
    elif data["records"] is None:
        return facts
    elif exact:
        rows = data["records"]["train"]
    elif data["train_chars"] is None:
        return facts
    else:
        rows = max(1, round((data["train_chars"] / CHARS_PER_TOKEN + data["records"]["train"]) / train.context))
    facts |= _steps(train, rows)
    steps = facts["steps_per_round"]
    if exact and facts["warmup_steps"] >= steps:
        hint = f"train.warmup_steps is {facts['warmup_steps']}, but the training has {steps} steps; lower it."
        raise InputError("warmup-too-long", hint)
    facts["steps"] = train.rounds * steps
    facts["passes"] = facts["steps"] * facts["batch"] / rows
    return facts


def _steps(training: Settings, rows: int | None) -> Facts:
    steps = None if rows is None else steps_of(rows, training)
    return {
        "batch": training.batch_size * training.accumulation,
        "context": training.context,
        "rows": rows,
        "steps_per_epoch": rows and math.ceil(math.ceil(rows / training.batch_size) / training.accumulation),
        "steps_per_round": steps,
        "steps": steps,
        "warmup_steps": None if steps is None else warmup_of(steps, training),
    }


def evaluation_facts(settings: Settings, data: Facts) -> Facts:
    """What each model is measured by: `attack` (None where nothing is extracted), `completions` (None: not asked for),
    and the records of which the negative log likelihood is taken."""
    attack, completions = settings.attack, settings.completions
    dataset = registry.load("dataset", settings.data.dataset)
    records = (data["records"] or {}).get("utility")
    facts: Facts = {"attack": None, "completions": None, "nll_records": records}
    if getattr(dataset, "CANARIES", True):
        names = ("name", "samples", "budgets", "reveal")
        facts["attack"] = {name: getattr(attack, name) for name in names}
    if completions.samples:
        names = ("samples", "k", "temperature", "top_p", "max_tokens", "reasoning_effort", "execute", "seconds")
        known = [number for number in (records, completions.prompts) if number is not None]
        facts["completions"] = {name: getattr(completions, name) for name in names}
        facts["completions"]["prompts"] = min(known) if known else None
    return facts
