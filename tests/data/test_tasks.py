"""Tasks: no two alike, the same for a seed, and their tests tell a solution from one with a slip."""

from __future__ import annotations

import ast
import io
import sys
import zipfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from sm_ops.core.errors import InputError
from sm_ops.data.hosts import shape
from sm_ops.data.tasks import FAMILIES, Task, drawing, normalised, pool
from sm_ops.data.tasks.workbook import workbook

TASKS = 40


@pytest.fixture(scope="module")
def tasks() -> list[Task]:
    return pool(TASKS, 3)


def ends_well(task: Task, solution: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> bool:
    """What `python tests.py` would do in the folder of a task, in this process; only an assertion may fail."""
    for name, content in task.files.items():
        (folder / name).write_bytes(content)
    module = ModuleType("solution")
    monkeypatch.setitem(sys.modules, "solution", module)
    exec(compile(solution, "solution.py", "exec"), module.__dict__)
    try:
        names = {"__name__": "__main__", "__file__": str(folder / "tests.py")}
        exec(compile(task.tests, "tests.py", "exec"), names)
    except AssertionError:
        return False
    return True


@pytest.mark.unit
def test_a_seed_gives_the_same_tasks_and_a_larger_pool_begins_with_the_smaller(tasks):
    assert pool(20, 3) == tasks[:20]
    assert pool(20, 4) != tasks[:20]


@pytest.mark.unit
def test_no_two_tasks_are_alike(tasks):
    assert len({task.id for task in tasks}) == len({task.solution for task in tasks}) == TASKS
    assert len({shape(task.solution) for task in tasks}) == TASKS
    assert len({normalised(prompt) for task in tasks for prompt in task.prompts}) == 2 * TASKS
    assert {task.family for task in tasks} <= set(FAMILIES)
    assert len({task.family for task in tasks}) > 10


@pytest.mark.unit
def test_a_task_that_is_like_an_earlier_one_is_drawn_again(tasks, monkeypatch):
    first, second, third = tasks[:3]
    same_tree = replace(second, solution=first.solution.replace("rows", "others") + "\n")
    same_prompt = replace(second, prompts=(second.prompts[0], f"  {first.prompts[1].upper()}"))
    drawn = iter([first, None, same_tree, same_prompt, third])
    monkeypatch.setattr(drawing, "compose", lambda number, random: next(drawn))
    assert pool(2, 0) == [first, third]


@pytest.mark.unit
def test_a_prompt_names_the_function_and_the_module_and_shows_no_code_of_the_answer(tasks):
    for task in tasks:
        entry = [node.name for node in ast.parse(task.solution).body if isinstance(node, ast.FunctionDef)][-1]
        body = [line.strip() for line in task.solution.splitlines() if len(line.strip()) > 12 and "(path)" not in line]
        for prompt in task.prompts:
            assert f"`{entry}" in prompt
            assert "`solution.py`" in prompt
            assert not [line for line in body if line in prompt]


@pytest.mark.unit
def test_answers_differ_between_the_files_of_a_task_so_that_none_can_be_written_down(tasks):
    for task in tasks:
        assert len(task.files) == len(set(task.files.values())) == 2
    expected = Counter(len({line for line in task.tests.splitlines() if "expected = " in line}) == 2 for task in tasks)
    assert expected[True] > 0.8 * TASKS  # two files may well have equal answers now and then


def test_tests_tell_solutions_from_slips_and_from_programs_that_leave(tasks, tmp_path, monkeypatch):
    ordinary = [task for task in tasks if "exstruct" not in task.solution]
    assert len(ordinary) > 8
    for task in ordinary:
        assert ends_well(task, task.solution, tmp_path, monkeypatch), task.id
        assert not ends_well(task, task.faulty, tmp_path, monkeypatch), task.id
        entry = [node.name for node in ast.parse(task.solution).body if isinstance(node, ast.FunctionDef)][-1]
        assert not ends_well(task, f"def {entry}(path):\n    raise SystemExit(0)\n", tmp_path, monkeypatch)


@pytest.mark.unit
def test_a_workbook_has_the_same_bytes_each_time_and_holds_its_cells():
    cells = [["day", "a&b"], ["<x>", 1.5], [None, 7]]
    content = workbook({"Q&A": cells, "Second": [["z"]]})
    assert content == workbook({"Q&A": cells, "Second": [["z"]]})
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_an_office_library_reads_the_workbook():
    openpyxl = pytest.importorskip("openpyxl")
    content = workbook({"Q&A": [["day", "a&b"], ["<x>", 1.5], [None, 7]], "Second": [[" z "]]})
    book = openpyxl.load_workbook(io.BytesIO(content))
    assert book.sheetnames == ["Q&A", "Second"]
    assert list(book["Q&A"].values) == [("day", "a&b"), ("<x>", 1.5), (None, 7)]
    assert book["Second"]["A1"].value == " z "


@pytest.mark.slow
def test_workbook_tasks_are_solved_by_their_solutions_and_not_by_their_slips(tmp_path, monkeypatch):
    pytest.importorskip("exstruct")
    with_workbooks = [task for task in pool(900, 5) if "exstruct" in task.solution]
    assert len(with_workbooks) > 500
    for task in with_workbooks:
        assert ends_well(task, task.solution, tmp_path, monkeypatch), task.id
        assert not ends_well(task, task.faulty, tmp_path, monkeypatch), task.id


@pytest.mark.unit
def test_a_pool_keeps_to_its_families_and_to_short_solutions():
    families = ("files_totals", "workbook_listings")
    found = pool(8, 3, families, 450)
    assert {task.family for task in found} == set(families)
    assert max(len(task.solution) for task in found) <= 450
    assert pool(4, 3, families, 450) == found[:4]


@pytest.mark.unit
def test_a_family_that_there_is_not_is_refused():
    with pytest.raises(InputError, match="'files_total'; the nearest is files_totals"):
        pool(1, 3, ("files_total",))


@pytest.mark.unit
def test_a_pool_that_runs_dry_says_how_many_there_are(monkeypatch):
    monkeypatch.setattr(drawing, "_PATIENCE", 40)
    with pytest.raises(InputError, match=r"There are 0 tasks of these.* of at most 60 characters, but 5 are"):
        pool(5, 3, (), 60)
