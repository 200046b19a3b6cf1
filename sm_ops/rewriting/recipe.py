"""A rewriting config before it runs: what it will score and choose, whom it names to send texts to, and a dry trial.

Nothing is sent, and no key is asked for: whether an endpoint answers is seen at the first call of a run.
"""

from __future__ import annotations

import os
from itertools import islice
from typing import Any

from sm_ops.core.settings import Settings
from sm_ops.rewriting.benchmarks import BENCHMARKS

Facts = dict[str, Any]


def check(config: dict[str, Any]) -> Facts:
    """What a resolved config amounts to; `InputError` where its files cannot be read.

    Sections: `data` (documents of both sides), `conditions` by kind, `roles` (for each who is named, and whether its
    key is there).
    """
    settings = Settings(config)
    data, benchmark = settings.data, BENCHMARKS[settings.data.benchmark]
    validation, application, _ = benchmark.generate(data.seed, data)
    if data.validation is not None:
        validation = list(benchmark.read(data.validation, data))
    if data.path is not None:
        application = list(islice(benchmark.read(data.path, data), data.documents))
    kinds = [each["kind"] for each in config["conditions"].values()]
    return {
        "name": settings.name,
        "data": {
            "benchmark": data.benchmark,
            "validation": len(validation),
            "application": len(application),
            "generated": data.path is None,
        },
        "conditions": {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)},
        "roles": {
            role: _role(config["endpoints"][role]) for role in ("rewriter", benchmark.EVALUATOR)
        },
    }


def describe(facts: Facts) -> list[str]:
    """The facts in plain lines."""
    data = facts["data"]
    kinds = ", ".join(f"{count} {kind}" for kind, count in facts["conditions"].items())
    origin = "generated" if data["generated"] else "read"
    return [
        f"{facts['name']}: {data['benchmark']}, {data['application']} texts ({origin}), {data['validation']} of "
        f"validation; conditions: {kinds}",
        *(_told(role, own) for role, own in facts["roles"].items()),
    ]


def _role(endpoint: dict[str, Any]) -> Facts:
    key = endpoint["calls"]["key"]
    return {
        "url": endpoint["url"],
        "model": endpoint["model"],
        "key": None if key is None else {"variable": key, "set": bool(os.environ.get(key, "").strip())},
    }


def _told(role: str, own: Facts) -> str:
    if own["url"] is None:
        return f"{role}: none is named, so nothing is sent to one"
    key = own["key"]
    if key is None:
        said = "without a key"
    else:
        said = f"key from {key['variable']}" + ("" if key["set"] else ", which is not set")
    return f"{role}: {own['model']} at {own['url']}, {said}"
