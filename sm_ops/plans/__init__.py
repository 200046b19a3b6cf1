"""From a resolved config to the steps of a run: one file a flow.

A flow's module has `plan`, and may name in `LATER` the places that a config may name before anything is there.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sm_ops.core.errors import InputError
from sm_ops.core.settings import Settings
from sm_ops.core.stage import Step
from sm_ops.plans import audit, pii, ranking, rewriting, sanitize, surprise

_FLOWS = {
    "surprise": surprise,
    "pii": pii,
    "audit": audit,
    "sanitize": sanitize,
    "ranking": ranking,
    "rewriting": rewriting,
}
_WORD = r"[A-Za-z0-9_][A-Za-z0-9_.-]*"
_OF_A_HUB = re.compile(rf"{_WORD}(/{_WORD})?")
_ENDINGS = (".csv", ".json", ".jsonl", ".parquet", ".pt", ".toml", ".txt")


def plan(config: dict[str, Any]) -> list[Step]:
    """The steps of a run, each after those it reads. `config` is what `core.config.resolve` returns."""
    return _FLOWS[config["flow"]].plan(config)


def check(config: dict[str, Any]) -> None:
    """Refuse, before anything is made, what no step could be run with: `InputError`.

    That is a setting that names a file or folder which is not there, and what each stage's own check finds.
    """
    later = getattr(_FLOWS[config["flow"]], "LATER", ())
    steps = plan(config)
    for dotted, name, of_data in _named(steps):
        if dotted not in later and (of_data or _is_path(name)) and not Path(name).exists():
            raise InputError("no-place", f"{dotted} is {name!r}, which is not there; correct the path.")
    for step in steps:
        step.check()


def places(config: dict[str, Any]) -> set[str]:
    """Files and folders that the settings of any step name. Raises `InputError` for what a job could not get."""
    named = _named(plan(config))
    for dotted, name, _ in named:
        if not Path(name).exists():
            hint = (
                f"{dotted} names {name}, which is no file or folder here, and a job has no network; name a folder, or "
                "fetch it (sm-ops init)."
            )
            raise InputError("no-place", hint)
    return {name for _, name, _ in named}


def _is_path(name: str) -> bool:
    """Whether it can be no model of a hub, which is called NAME or OWNER/NAME, and by no file's ending."""
    return not _OF_A_HUB.fullmatch(name) or name.endswith(_ENDINGS)


def _named(steps: list[Step]) -> list[tuple[str, str, bool]]:
    """What settings that may name a file or folder are called, what they name, and whether the data is read from it.

    What the data is read from, by the first step, is always a place.
    """
    found = {
        (step.place(dotted), name, step is steps[0])
        for step in steps
        for dotted in step.stage.places
        if isinstance(name := Settings(step.settings).at(dotted), str)
    }
    return sorted(found)
