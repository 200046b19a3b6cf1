"""From a resolved config to the steps of a run: one file a flow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sm_ops.core.errors import InputError
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


_PATHS = ("/", "./", "../")


def plan(config: dict[str, Any]) -> list[Step]:
    """The steps of a run, each after those it reads. `config` is what `core.config.resolve` returns."""
    return _PLANS[config["flow"]](config)


def check(config: dict[str, Any]) -> None:
    """Refuse, before anything is made, what no step could be run with: `InputError`.

    That is a setting that names a file or folder which is not there, and what each stage's own check finds. What the
    data is read from is always a place; other names may be those of a hub, unless they are written as paths.
    """
    data, *others = plan(config)
    for step in (data, *others):
        for dotted in step.stage.places:
            name = Settings(step.settings).at(dotted)
            a_path = isinstance(name, str) and (step is data or name.startswith(_PATHS))
            if a_path and not Path(name).exists():
                hint = f"{step.place(dotted)} is {name!r}, which is not there; correct the path."
                raise InputError("no-place", hint)
        step.check()
