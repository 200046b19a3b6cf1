"""The setting of a run and of the paper as facts, and where they differ in words: computed, never asserted."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sm_ops.core.home import Run
from sm_ops.masking.conditions import ORACLE, UNMASKED
from sm_ops.report.words import rule_name

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Fact:
    topic: str
    label: str


_FACTS = {
    "programs": _Fact("data", "programs"),
    "form": _Fact("data", "form of the records"),
    "records": _Fact("data", "training records"),
    "calibration": _Fact("data", "validation records"),
    "canaries": _Fact("values", "private values"),
    "uses": _Fact("values", "uses of each value"),
    "reference": _Fact("masking", "reference model"),
    "rule": _Fact("masking", "rule"),
    "model": _Fact("training", "model"),
    "vocabulary": _Fact("training", "vocabulary of the model"),
    "method": _Fact("training", "what is trained"),
    "rank": _Fact("training", "rank of the adapters"),
    "alpha": _Fact("training", "alpha of the adapters"),
    "dropout": _Fact("training", "dropout of the adapters"),
    "trainable": _Fact("training", "trainable parameters"),
    "general_tokens": _Fact("training", "tokens of general text in the mixture"),
    "domain_tokens": _Fact("training", "tokens of the domain in the mixture"),
    "first_steps": _Fact("training", "steps before any mask"),
    "steps": _Fact("training", "steps"),
    "passes": _Fact("training", "passes"),
    "batch": _Fact("training", "rows a step"),
    "learning_rate": _Fact("training", "learning rate"),
    "schedule": _Fact("training", "schedule"),
    "warmup_ratio": _Fact("training", "share of the steps that warm up"),
    "context": _Fact("training", "context in tokens"),
    "dtype": _Fact("training", "precision"),
    "seeds": _Fact("training", "seeds"),
    "samples": _Fact("attack", "samples for each value"),
    "reveal": _Fact("attack", "rounding of the revealed prefix"),
    "pass_prompts": _Fact("pass", "prompts of pass@k"),
    "pass_tasks": _Fact("pass", "tasks of pass@k"),
    "pass_temperature": _Fact("pass", "temperature of the answers"),
    "pass_top_p": _Fact("pass", "top p of the answers"),
    "pass_effort": _Fact("pass", "reasoning effort"),
    "pass_seconds": _Fact("pass", "seconds that an answer may run"),
    "display_cases": _Fact("display", "cases of display@k"),
    "display_samples": _Fact("display", "answers to each prompt"),
    "display_temperature": _Fact("display", "temperature of the answers"),
    "display_top_p": _Fact("display", "top p of the answers"),
    "nll_records": _Fact("nll", "held-out records of the NLL"),
}
_METHODS = {
    "lora": "adapters on the linear layers",
    "continue": "all weights of a trained model",
    "scratch": "all weights, from random ones",
}
_PROGRAMS = {
    "code_pii": "functions of Python's standard library, never executed",
    "executable_code_pii": "executable programs over ExStruct and plain Python, written by rules",
    "code_quirks": "executable programs over ExStruct and plain Python, written by rules",
}
NOT_MEASURED = "not measured"


def facts_of(run: Run, results: Json) -> Json:
    """What a run's config and its steps' numbers say under the names of `published.RECIPES`; None: not measured.

    A fact that the run does not have at all (adapters where none are trained) is left out.
    """
    config, rows = run.config, {row["condition"]: row for row in results["rows"]}
    found = {
        **_data(run, rows),
        **_masking(config),
        **_training(run, results),
        "samples": config["attack"].get("samples") if rows[UNMASKED]["extraction_approx"]["n"] else None,
        "reveal": config["attack"].get("reveal"),
        **_answers(config, results["per_seed"][0]),
        "nll_records": _held_out(run, results["per_seed"][0]),
    }
    return {name: found[name] for name in _FACTS if name in found}


def differences(ours: Json, paper: Json, topics: Iterable[str]) -> list[str]:
    """A sentence for each fact of these topics that both have and that is not the same."""
    return [
        f"{_FACTS[name].label}: {_told(name, here)} here, {_told(name, there)} in the paper"
        for name, here, there in _compared(ours, paper, topics)
        if here != there
    ]


def agreements(ours: Json, paper: Json, topics: Iterable[str]) -> list[str]:
    """What is as in the paper, with its value."""
    return [
        f"{_FACTS[name].label}: {_told(name, here)}"
        for name, here, there in _compared(ours, paper, topics)
        if here == there
    ]


def _compared(ours: Json, paper: Json, topics: Iterable[str]) -> Iterator[tuple[str, Any, Any]]:
    topics = set(topics)
    for name, fact in _FACTS.items():
        if fact.topic in topics and name in ours and name in paper:
            yield name, ours[name], paper[name]


def _told(name: str, value: Any) -> str:
    if value is None:
        return NOT_MEASURED
    if name == "method":
        return _METHODS[value]
    return f"{value:,}" if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else value


def _data(run: Run, rows: Json) -> Json:
    data = run.config["data"]
    programs = _PROGRAMS[data["dataset"]]
    if data["dataset"] == "code_pii" and data.get("hosts"):
        programs = "functions of code of one's own, never executed"
    canaries = rows[UNMASKED]["extraction_approx"]["n"] // rows[UNMASKED]["seeds"]
    occurrences = sum((rows[ORACLE]["occurrences"] or {}).values())
    facts = {
        "programs": programs,
        "form": data.get("form"),
        "records": _number(run, "synthesize", "records_train"),
        "calibration": _number(run, "synthesize", "records_calibration"),
        "canaries": canaries,
        "uses": _rounded(occurrences / canaries, 1) if canaries else None,
    }
    trained = _numbers(run, "train")
    if trained.get("domain_tokens_left_out"):  # what was made is not what a pass is of, and nobody counted uses there
        facts |= {"records": trained["domain_documents"]}
        del facts["uses"]
    return facts


def _masking(config: Json) -> Json:
    masking = config["masking"]
    reference = config.get("references", {}).get(masking["reference"], {})
    own = _NAMES.get(reference.get("backend")) or ("the base model" if config["base"]["name"] is None else None)
    local = f" radius {masking['radius']}" if masking["select"] == "local" else ""
    copies = masking.get("propagate", "none")
    spread = ", copies stay" if copies == "none" else f", copies within the {copies}"
    named = reference.get("model") or (None if own else config["base"]["name"])
    return {"reference": _public(named) if named else own, "rule": rule_name(masking) + local + spread}


_NAMES = {"ngram": "an n-gram", "file": "a file of scores"}


def _training(run: Run, results: Json) -> Json:
    base, train = run.config["base"], run.config["train"]
    numbers = _numbers(run, "train")
    lora = train.get("lora", {}) if train["method"] == "lora" else {}
    mixture = run.config.get("mixture")
    passes = numbers.get("effective_passes")
    facts = {
        "model": _public(base["name"]) if base["name"] else _made(base),
        "method": train["method"],
        "steps": numbers.get("steps"),
        "passes": None if passes is None else _rounded(passes, 1),
        "batch": train.get("batch_size", 1) * train.get("accumulation", 1),
        **{name: train[name] for name in ("learning_rate", "schedule", "context", "dtype") if name in train},
        **_warmup(train, numbers.get("steps")),
        "seeds": len(run.config["seeds"]),
        **{name: lora[name] for name in ("rank", "alpha", "dropout") if name in lora},
    }
    if results["lora"]:
        facts["trainable"] = results["lora"].get("trainable_parameters")
    if base["name"] is None:
        facts["vocabulary"] = base.get("vocab_size")
        facts["first_steps"] = _number(run, "base", "steps")
        facts |= {name: mixture[name] if mixture else 0 for name in ("general_tokens", "domain_tokens")}
    return facts


def _warmup(train: Json, steps: int | None) -> Json:
    """As set, or the steps' share of a round's steps that were made."""
    if train.get("warmup_ratio") is not None:
        return {"warmup_ratio": train["warmup_ratio"]}
    if steps and "warmup_steps" in train:
        return {"warmup_ratio": round(min(1.0, train["warmup_steps"] * train.get("rounds", 1) / steps), 4)}
    return {}


def _answers(config: Json, row: Json) -> Json:
    """How answers are sampled, run and looked at, by one seed's row; one None where they are not."""
    asked = config.get("completions") or {"samples": 0}
    passed, shown = row.get("pass_at"), row.get("display")
    facts: Json = {"pass_prompts": None, "display_cases": None}
    if passed:
        facts |= {"pass_prompts": passed.get("prompts"), "pass_tasks": passed.get("tasks")}
        facts |= {"pass_effort": asked.get("reasoning_effort") or "none", "pass_seconds": asked.get("seconds")}
        facts |= {f"pass_{name}": asked.get(name) for name in ("temperature", "top_p")}
    if shown:
        facts |= {"display_cases": shown.get("cases"), "display_samples": asked["samples"]}
        facts |= {f"display_{name}": asked.get(name) for name in ("temperature", "top_p")}
    return facts


def _held_out(run: Run, row: Json) -> int | None:
    """Records whose likelihood is the utility: of answers to prompts the first that are asked for."""
    records = _number(run, "evaluate", "records")
    asked = (run.config.get("completions") or {}).get("prompts")
    return min(records, asked) if records and asked and row.get("completion_nll") is not None else records


def _made(base: Json) -> str:
    return f"GPT-2 of {base['layers']} layers, width {base['width']}, {base['heads']} heads"


def _public(name: str) -> str:
    """A hub name; of a folder only that it is one."""
    return name if re.fullmatch(r"\w[\w.-]*(/\w[\w.-]*)?", name) and not Path(name).exists() else "a model of one's own"


def _number(run: Run, step: str, name: str) -> Any:
    return _numbers(run, step).get(name)


def _numbers(run: Run, step: str) -> Json:
    """Of a step, or of the first of its seeds without a mask."""
    known = run.steps.get(step) or run.steps.get(f"{step}@{UNMASKED}-{run.config['seeds'][0]}")
    return known["numbers"] if known else {}


def _rounded(value: float, digits: int) -> float | int:
    """A whole number where it is one to this many digits."""
    close = round(value, digits)
    return int(close) if close == int(close) else close
