"""From a resolved config to the steps of a run: one file a flow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sm_ops.core.settings import Settings
from sm_ops.core.stage import Step
from sm_ops.plans import audit, pii, ranking, rewriting, sanitize, surprise

_PLANS = {
    "surprise": surprise.plan,
    "pii": pii.plan,
    "audit": audit.plan,
    "sanitize": sanitize.plan,
    "ranking": ranking.plan,
    "rewriting": rewriting.plan,
}


def plan(config: dict[str, Any]) -> list[Step]:
    """The steps of a run, each after those it reads. `config` is what `core.config.resolve` returns."""
    return _PLANS[config["flow"]](config)


def absent_places(config: dict[str, Any]) -> list[str]:
    """The data's settings that name a file or folder which is not there."""
    named = {dotted: Settings(config).at(dotted) for dotted in plan(config)[0].stage.places}
    return [dotted for dotted, place in named.items() if place is not None and not Path(place).exists()]
