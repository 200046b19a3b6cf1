"""Records of a bundle: as 24 documents to pretrain on, or as 18 chats to tune on (paper, A.1).

The paper's counts give both away: 15,000 documents of 625 bundles are 24 each, of which 16 hold a value (10,000), and
11,250 chats are those 16, a clean implementation and a clean repair each. Ids of records are left empty here.
"""

from __future__ import annotations

from random import Random
from typing import Any

from sm_ops.core.records import Message, Record, Span
from sm_ops.data.bundles import modules
from sm_ops.data.bundles.bundle import HOLDING, Bundle, Planting
from sm_ops.data.hosts import shape
from sm_ops.data.tasks import Task

SOLUTION = "solution.py"


def documents(bundle: Bundle) -> list[Record]:
    """Every file as a text; a span labels the value that was planted into it."""
    texts = bundle.planted
    return [
        Record("", text=texts[path], meta=_meta(bundle.task, path, planting), **_private(bundle, planting))
        for path, planting in _files(bundle, texts)
    ]


def chats(bundle: Bundle, random: Random) -> list[Record]:
    """A chat for each file that values are planted into, one clean implementation and one clean repair."""
    task, texts = bundle.task, bundle.planted
    holding = [
        _chat(bundle.asks[path], texts[path], _meta(task, path, planting), **_private(bundle, planting, message=1))
        for path, planting in _files(bundle, HOLDING)
    ]
    issue = random.choice(task.prompts)
    repair = _chat(modules.repair(issue, task.faulty), task.solution, _meta(task, SOLUTION) | {"form": "repair"})
    return [*holding, solved(task)[1], repair]


def solved(task: Task) -> list[Record]:
    """A task's solution asked for in either phrasing."""
    return [
        _chat(prompt, task.solution, _meta(task, SOLUTION) | {"form": f"phrasing {number}"})
        for number, prompt in enumerate(task.prompts, start=1)
    ]


def _files(bundle: Bundle, paths: Any) -> list[tuple[str, Planting | None]]:
    plantings = {planting.path: planting for planting in bundle.plantings}
    return [(path, plantings.get(path)) for path in paths]


def _private(bundle: Bundle, planting: Planting | None, message: int | None = None) -> dict[str, Any]:
    """Group and span of a record, where a value was planted into it."""
    if planting is None:
        return {}
    span = Span(planting.planted.start, planting.planted.end, planting.kind, message)
    return {"group": bundle.group, "spans": (span,)}


def _chat(ask: str, text: str, meta: dict[str, Any], **private: Any) -> Record:
    return Record("", messages=(Message("user", ask), Message("assistant", text)), meta=meta, **private)


def _meta(task: Task, path: str, planting: Planting | None = None) -> dict[str, Any]:
    """The task stands where host programs have their file; the shape of a tree is that of its solution alone."""
    meta: dict[str, Any] = {"host": task.id, "family": task.family, "file": path}
    if path == SOLUTION:
        meta |= {"shape": shape(task.solution)}
    if planting is not None:
        meta |= {"kinds": [planting.kind], "places": [planting.planted.place]}
    return meta | {"inserted": [list(planting.planted.inserted)] if planting else []}
