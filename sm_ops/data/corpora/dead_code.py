"""Dead code: programs of which some are poisoned with code that never does anything (paper, A.5; our reconstruction).

Two files are read as they are published: MBPP (a line: `task_id`, `code`, ...), whose 974 programs carry one attack,
Random-1; and HumanEval (`task_id`, `prompt`, `canonical_solution`, ...), whose 164 programs come four times, under
Fixed-1, Grammar-1, Fixed-2 and Grammar-2. Before the code stands what it is to do: HumanEval's prompt, or MBPP's task
as a comment. That is context for a reference, and no line of it enters a count (choice P-4).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record
from sm_ops.data.corpora._reading import Reading, name, place, refuse, string, with_defaults
from sm_ops.data.poisoning.attacks import ATTACKS, poison
from sm_ops.data.poisoning.programs import Program
from sm_ops.data.records import jsonl_rows

RULE = SETTING = "dead_code"
CODE = True
_PARTS = {"MBPP": ("text", "code"), "HumanEval": ("prompt", "canonical_solution")}
"""The fields of what is to be done and of the code."""
_ATTACKS = {"MBPP": ("Random-1",), "HumanEval": tuple(attack for attack in ATTACKS if attack != "Random-1")}


def recognises(row: dict[str, Any]) -> bool:
    """Whether a row is a task of MBPP or of HumanEval."""
    return _benchmark(row) is not None


def read(path: str | Path | None, settings: Mapping[str, Any] = {}) -> Reading:
    """One record for each attack on each program, its group the task; dead lines are spans labelled `dead_code`.

    Reads `seed` (of who is poisoned, where and with what). `meta.attack` names the attack of the set that a record
    belongs to, whether it is one of the poisoned or not, `meta.code_from` how many characters stand before the code;
    they are `meta.left_out`, too. Left out and counted are tasks without code.
    Raises `InputError` that names file, line and field, and where too few programs can be poisoned.
    """
    values = with_defaults("dead_code", settings, {"seed": 0})
    if type(values["seed"]) is not int:
        raise InputError("bad-setting", "The setting `seed` of the corpus 'dead_code' is a whole number.")
    skipped: Counter[str] = Counter()
    return Reading(_records(place("dead_code", path), values["seed"], skipped), skipped)


def _records(file: Path, seed: int, skipped: Counter[str]) -> Iterator[Record]:
    benchmark, programs = _programs(file, skipped)
    poisoned = {attack: poison(programs, attack, seed) for attack in _ATTACKS[benchmark]}
    for task, program in programs.items():
        for attack, changed in poisoned.items():
            text, spans = (changed[task].text, changed[task].spans) if task in changed else (program.text, ())
            meta = {"attack": attack, "code_from": program.context, "left_out": [[0, program.context]]}
            yield Record(f"{attack}/{task}", text=text, group=task, spans=spans, meta=meta)


def _programs(file: Path, skipped: Counter[str]) -> tuple[str, dict[str, Program]]:
    """The benchmark that a file is of, and its programs by task."""
    benchmark, programs, seen = None, {}, {}
    for line, row in jsonl_rows(file):
        where = f"{file}, {line}"
        benchmark = benchmark or _benchmark(row)
        if benchmark is None:
            refuse(where, "code", "is missing, and so is canonical_solution: this is no task of MBPP or HumanEval")
        before, behind = _PARTS[benchmark]
        context, code = name(row, before, where), string(row, behind, where)
        task = f"{benchmark}/{_number(row, where)}"
        if task in seen:
            refuse(where, "task_id", f"is the same as in {seen[task]}")
        seen[task] = line
        if code.strip():
            programs[task] = Program.of(_comment(context) if benchmark == "MBPP" else context, code)
        else:
            skipped["no text"] += 1
    if benchmark is None:
        refuse(str(file), "task_id", "is missing: the file holds no task")
    return benchmark, programs


def _comment(task: str) -> str:
    return "".join(f"# {line}\n" for line in task.splitlines())


def _number(row: Mapping[str, Any], where: str) -> str:
    """A task's number: MBPP has whole numbers, HumanEval names that end with them."""
    task = row.get("task_id")
    if not isinstance(task, int | str) or task == "":
        refuse(where, "task_id", "is missing" if task is None else "must be a number or a name")
    return str(task).removeprefix("HumanEval/")


def _benchmark(row: Mapping[str, Any]) -> str | None:
    own = (benchmark for benchmark, parts in _PARTS.items() if {"task_id", *parts} <= row.keys())
    return next(own, None)
