"""A sanitization's recipe before it runs: its references and detectors, and every scorer on a few generated records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sm_ops.core import registry
from sm_ops.core.records import Record
from sm_ops.core.settings import Settings
from sm_ops.core.tokens import Scored, Tokens
from sm_ops.sanitizing.rules import rule_of
from sm_ops.training.shapes import looked_at

Facts = dict[str, Any]

TEXTS = ("host = 'db'\nport = 5432\n\npassword = 'made up'\n", "Nobody lives here. Nothing is said of anybody.\n")


def check(config: dict[str, Any]) -> Facts:
    """What a resolved config amounts to; raises `InputError` where it cannot work.

    `references` have `class` and `parameters` of a causal model (None where that is unknown without a network), and a
    random two-layer model of the class has read a text; `intervals` counts what the scorers said of generated texts.
    """
    references = {name: _reference(Settings(each)) for name, each in config["references"].items()}
    intervals, own = {}, config["filters"]
    for name, each in own.items():
        if each["detector"] is None:
            contrast = config["references"][each["reference"]]["violating"] is not None
            intervals[name] = _intervals(each, contrast)
        else:
            registry.load("detector", each["detector"])
    corpus = config["corpus"]
    filters = {name: each["detector"] or f"{each['kind']} under {each['reference']}" for name, each in own.items()}
    return {
        "name": config["name"],
        "corpus": {name: corpus[name] for name in ("name", "validation", "records", "folds")},
        "references": references,
        "filters": filters,
        "intervals": intervals,
        "unit": config["unit"],
    }


def describe(facts: Facts) -> list[str]:
    """The facts in plain lines."""
    corpus = facts["corpus"]
    validation = corpus["validation"] or "generated records"
    cut = f"in {corpus['folds']} folds" if corpus["folds"] else f"then {corpus['records'] or 'generated records'}"
    filters = (name if name == what else f"{name} ({what})" for name, what in facts["filters"].items())
    return [
        f"{facts['name']}: corpus {corpus['name']}: {validation}, {cut}; thresholds on {facts['unit']}",
        f"filters: {', '.join(filters)}",
        *(_said(name, each) for name, each in facts["references"].items()),
        f"trial: {len(facts['intervals'])} scorers gave levels to {len(TEXTS)} generated texts",
    ]


def _said(name: str, each: Facts) -> str:
    if each["backend"] != "hf":
        return f"reference {name}: backend {each['backend']}, {each['model'] or 'fitted on the spot'}"
    if each["class"] is None:
        return f"reference {name}: {each['model']}, whose class is known when it is fetched"
    size = f"{each['parameters']:,} parameters, {each['weight_bytes'] / 2**30:.1f} GiB of weights"
    return f"reference {name}: {each['model']} ({each['class']}), {size}; a small one of its class read a text"


def _reference(reference: Settings) -> Facts:
    facts: Facts = {"backend": reference.backend, "model": reference.model, "class": None, "parameters": None}
    found = looked_at(reference.model, reference.revision) if reference.backend == "hf" else None
    if found is None:
        return facts
    width = 2 if reference.dtype == "bfloat16" else 4
    return facts | found | {"weight_bytes": found["parameters"] * width}


class _Random:
    """A reference of a token a character, with random log probabilities."""

    def score(self, records: Sequence[Record]) -> list[Scored]:
        return [_scored(record, seed) for seed, record in enumerate(records)]


def _scored(record: Record, seed: int) -> Scored:
    size = len(record.content)
    places = np.arange(size)
    tokens = Tokens(places, places, places + 1, np.zeros(size, bool), np.ones(size, bool))
    return Scored(record.id, record.group, tokens, -np.random.default_rng(seed).exponential(size=size))


def _intervals(filter_: dict[str, Any], contrast: bool) -> int:
    records = [Record(str(number), text=text) for number, text in enumerate(TEXTS)]
    settings = Settings({**filter_["settings"], "rule": rule_of(filter_["rule"], None, contrast)})
    rows = registry.load("scorer", filter_["kind"]).rows(iter(records), _Random(), settings)
    return sum(len(row.levels) for row in rows)
