"""The history of a training: its loss by optimiser step, numbers of whole batches and therefore not restricted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sm_ops.core import fs
from sm_ops.core.errors import InputError

FORMAT = "history/1"
CURVES = ("loss", "validation_loss")

History = dict[str, list[tuple[int, float]]]
"""By curve: (optimiser step from 1, value). Losses are means in nats a learned token of the step's batch."""


def write_history(log: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write what transformers' Trainer has logged (`state.log_history`)."""
    curves = {name: [(entry["step"], entry[name]) for entry in log if name in entry] for name in CURVES}
    content = {"format": FORMAT, "curves": {name: points for name, points in curves.items() if points}}
    fs.write_atomic(path, fs.canonical_json(content))


def read_history(path: Path) -> History:
    """Read a history; `InputError` for another version of the format."""
    found = fs.read_json(path)
    if found.get("format") != FORMAT:
        hint = f"{path} has format {found.get('format')!r}, this version reads {FORMAT!r}."
        raise InputError("history-format", hint)
    return {name: [(step, value) for step, value in points] for name, points in found["curves"].items()}


def thinned(points: Sequence[tuple[int, float]], most: int) -> list[tuple[int, float]]:
    """At most so many points: each the mean over a block of neighbours, at the block's last step."""
    size = -(-len(points) // most) if points else 1
    blocks = [points[start : start + size] for start in range(0, len(points), size)]
    return [(block[-1][0], sum(value for _, value in block) / len(block)) for block in blocks]
