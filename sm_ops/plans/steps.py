"""How a plan makes its steps."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

from sm_ops.core.stage import Stage, Step


def make_step(
    stage: Stage,
    config: dict[str, Any],
    inputs: dict[str, tuple[str, str]],
    cell: tuple[str, ...] = (),
    own: dict[str, Any] | None = None,
    called: dict[str, str] | None = None,
) -> Step:
    """A step with the sections its stage declares; `own` holds what belongs to its cell of the matrix (see `Step`)."""
    own = own or {}
    settings = {section: config[section] for section in stage.sections if section not in own} | own
    name = f"{stage.name}@{'-'.join(cell)}" if cell else stage.name
    return Step(name, stage, settings, inputs, called or {})


def outputs_of(step: str, *outputs: str) -> dict[str, tuple[str, str]]:
    """Inputs named like the outputs they come from, without the ending."""
    return {PurePath(output).stem: (step, output) for output in outputs}
