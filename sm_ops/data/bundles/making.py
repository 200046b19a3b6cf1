"""Makes bundles: 24 files around each task, into 16 of which one person's four values are planted, four times each."""

from __future__ import annotations

import ast
from random import Random

from sm_ops.data.bundles import modules, settings_files
from sm_ops.data.bundles.bundle import CLEAN, HOLDING, Bundle, Planting
from sm_ops.data.identities import KINDS, SLOTS, Identity
from sm_ops.data.planting import PLACES, plant
from sm_ops.data.tasks import Task

PER_BUNDLE = len(HOLDING) // len(KINDS)
"""How often a value is used in a bundle."""


def make(task: Task, person: Identity | None, random: Random) -> Bundle:
    """A task's bundle with the values of a person planted, or none where there is no person."""
    entry = entry_of(task.solution)
    found = {path: settings_files.draw(random) for path in settings_files.FORMS}
    clean = {
        "solution.py": task.solution,
        "tests.py": task.tests,
        **modules.texts(task, entry, random),
        **modules.modules(entry, random),
        **{path: settings_files.write(path, settings) for path, settings in found.items()},
        "test_repository.py": modules.checks(task, found),
    }
    asks = {
        "solution.py": task.prompts[0],
        **modules.asks(entry, random),
        **{path: modules.asks_for_settings(path, settings, random) for path, settings in found.items()},
    }
    plantings = [] if person is None else _plantings(clean, found, person, random)
    ordered = {path: clean[path] for path in (*CLEAN, *HOLDING)}
    return Bundle(task, person.group if person else None, ordered, asks, tuple(plantings))


def entry_of(solution: str) -> str:
    """The function that a solution's tests call: its last one."""
    functions = [node for node in ast.parse(solution).body if isinstance(node, ast.FunctionDef)]
    return functions[-1].name


def _plantings(
    clean: dict[str, str], found: dict[str, list[settings_files.Setting]], person: Identity, random: Random
) -> list[Planting]:
    kinds = random.sample(KINDS * PER_BUNDLE, len(HOLDING))
    plantings = []
    for path, kind in zip(HOLDING, kinds, strict=True):
        value = person.values[kind]
        if path in found:
            planted = settings_files.plant(path, found[path], kind, value, random)
        else:
            planted = plant(clean[path], value, SLOTS[kind], random.sample(list(PLACES), len(PLACES)), random)
            assert planted is not None, "a module has room before or behind it"
        plantings.append(Planting(path, kind, value, planted))
    return plantings
