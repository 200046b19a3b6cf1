"""The steps of rewriting: units are scored by selectors, chosen by conditions, sent where an endpoint is named.

Without a rewriter the conditions that need one are chosen and not applied; without the benchmark's evaluator nothing
is judged. Which roles are named is thus seen in the plan, and a run without any sends nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sm_ops.core.fetched import located
from sm_ops.core.home import home_folder
from sm_ops.core.stage import Step
from sm_ops.detectors import named
from sm_ops.plans.references import is_fitted, places
from sm_ops.plans.steps import make_step, outputs_of
from sm_ops.rewriting.benchmarks import BENCHMARKS
from sm_ops.rewriting.units import UNITS
from sm_ops.stages import REWRITE_APPLY, REWRITE_DATA, REWRITE_FIT, REWRITE_JUDGE, REWRITE_SCORE, REWRITE_SELECT

PATTERNS = "regex"
"""The detector whose spans are masked at the end of an audit (paper, table 16)."""


def plan(config: dict[str, Any]) -> list[Step]:
    """The steps of a run, each after those it reads."""
    config = located(config, home_folder())
    prices = {"rewriter": {"prices": config["endpoints"]["rewriter"]["prices"]}}
    steps = [make_step(REWRITE_DATA, config, inputs={}, own={"endpoints": prices})]
    needed = dict.fromkeys(part for each in config["conditions"].values() for part in parts(config, each["selector"]))
    steps += _fits(config, list(needed))
    steps += [_score(config, name) for name in needed]
    for name, condition in config["conditions"].items():
        steps += _condition(config, name, condition)
    return steps


def parts(config: dict[str, Any], selector: str | None) -> list[str]:
    """The selectors that score for a selector: itself, or those that it is made of."""
    if selector is None:
        return []
    return list(config["selectors"][selector]["of"]) or [selector]


def is_applied(config: dict[str, Any], condition: dict[str, Any]) -> bool:
    """Whether a condition can be carried out: it sends nothing, or a rewriter is named."""
    return condition["kind"] in ("unmodified", "direct") or config["endpoints"]["rewriter"]["url"] is not None


def _fits(config: dict[str, Any], selectors: list[str]) -> list[Step]:
    used = dict.fromkeys(config["selectors"][name]["reference"] for name in selectors)
    return [
        make_step(
            REWRITE_FIT,
            config,
            inputs=outputs_of("rewrite_data", "clean.jsonl"),
            cell=(name,),
            own={"reference": reference},
            called={"reference": f"references.{name}"},
        )
        for name in used
        if name is not None and is_fitted(reference := config["references"][name])
    ]


def _score(config: dict[str, Any], name: str) -> Step:
    selector, data = config["selectors"][name], config["data"]
    seed = {"seed": data["seed"]} if selector["kind"] == "random" else {}
    own: dict[str, Any] = {"selector": selector, "reference": None, "data": seed}
    own |= {"windows": {unit: {} for unit in UNITS}, "backends": {}}
    inputs, stage = outputs_of("rewrite_data", "validation.jsonl", "records.jsonl"), REWRITE_SCORE
    own["detectors"] = {}
    if (detector := selector["detector"]) is not None:
        own["detectors"] = named.detectors(detector, selector["settings"], f"selectors.{name}.settings")
        files = named.places(detector, selector["settings"])
        stage = replace(stage, places=tuple(f"selector.settings.{each}" for each in files))
    called = {"selector": f"selectors.{name}"}
    if selector["reference"] is not None:
        reference = own["reference"] = config["references"][selector["reference"]]
        called["reference"] = f"references.{selector['reference']}"
        own |= {"backends": {reference["backend"]: {}}}
        own["aggregate"] = selector["aggregate"] or BENCHMARKS[data["benchmark"]].AGGREGATE
        stage = replace(stage, places=places(reference))
        if is_fitted(reference):
            inputs |= {"fitted": (f"rewrite_fit@{selector['reference']}", "model")}
    return make_step(stage, config, inputs, (name,), own, called)


def _condition(config: dict[str, Any], name: str, condition: dict[str, Any]) -> list[Step]:
    steps, data = [], config["data"]
    records, cell = outputs_of("rewrite_data", "records.jsonl"), (name,)
    inputs = dict(records)
    if condition["selector"] is not None:
        selectors = parts(config, condition["selector"])
        scores = {f"scores/{each}": (f"rewrite_score@{each}", "scores.json") for each in selectors}
        own = {"condition": condition, "selectors": selectors}
        steps.append(make_step(REWRITE_SELECT, config, scores, cell, own))
        inputs |= outputs_of(f"rewrite_select@{name}", "selection.json")
    if not is_applied(config, condition):
        return steps
    asked = _asked(config, "rewriter") if condition["kind"] in ("route", "rewrite") else {}
    own = {
        "condition": condition,
        "data": {"benchmark": data["benchmark"]},
        "endpoints": asked,
        "patterns": PATTERNS if condition["style"] == "audit" else None,
    }
    steps.append(make_step(REWRITE_APPLY, config, inputs, cell, own))
    judge = BENCHMARKS[data["benchmark"]].EVALUATOR
    if config["endpoints"][judge]["url"] is not None:
        inputs = records | outputs_of(f"rewrite_apply@{name}", "rewritten.jsonl")
        told = {each: data[each] for each in ("benchmark", "population", "people")}
        own = {"data": told, "endpoints": _asked(config, judge)}
        steps.append(make_step(REWRITE_JUDGE, config, inputs, cell, own))
    return steps


def _asked(config: dict[str, Any], role: str) -> dict[str, Any]:
    """A role's endpoint; an answer does not depend on what it costs."""
    return {role: {name: value for name, value in config["endpoints"][role].items() if name != "prices"}}
