"""Steps of a pipeline in this very process: what some of them write, without a store and without workers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sm_ops.core.config import built, resolve
from sm_ops.core.settings import Settings
from sm_ops.core.stage import Context, Step
from sm_ops.plans import plan


def steps_of(values: dict[str, Any]) -> dict[str, Step]:
    """The steps of a config in the order in which they can be made."""
    return {step.name: step for step in plan(resolve(built(values, "test")))}


def make(steps: dict[str, Step], folder: Path, *wanted: str, without: tuple[str, ...] = ()) -> dict[str, Path]:
    """Make the wanted steps and all that they need below `folder`: `STEP/OUTPUT` -> path.

    A step whose folder is there is not made again. The outputs of those in `without` are empty files.
    """
    needed, todo = set(), list(wanted)
    while todo:
        name = todo.pop()
        needed.add(name)
        todo += steps[name].upstream - needed
    found = {}
    for name, step in steps.items():
        if name not in needed:
            continue
        outputs = {output.key: folder / name / output.name for output in step.stage.outputs}
        if not (folder / name).exists():
            (folder / name).mkdir(parents=True)
            if name in without:
                for path in outputs.values():
                    path.touch()
            else:
                inputs = {key: folder / source / output for key, (source, output) in step.inputs.items()}
                scratch = folder / "scratch" / name
                scratch.mkdir(parents=True, exist_ok=True)
                step.stage.load()(Settings(step.settings), Context(inputs, outputs, scratch))
        found |= {f"{name}/{path.name}": path for path in outputs.values()}
    return found
