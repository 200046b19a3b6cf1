"""Dead-code poisoning: counts as the paper has them, the same for a seed, cut out without a trace, and no effect."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import textwrap
from collections import Counter
from itertools import product
from pathlib import Path
from random import Random

import pytest

from sm_ops.core.errors import InputError
from sm_ops.data.corpora import dead_code
from sm_ops.data.corpora._recognise import recognise
from sm_ops.data.poisoning.attacks import ATTACKS, poison
from sm_ops.data.poisoning.programs import Program, places, tidied

PROGRAM = '''import math


class Shape:
    """A docstring."""

    def area(self, side):
        """What it covers:
        side by side."""
        area = side * side
        if area > 4:
            return area
        elif area: return -area
        return {
            "none": area
        }


def one(x): return x
'''


def mbpp(count: int) -> list[dict]:
    code = "def f{0}(x):\r\n\ty = x + {0}\r\n\tif y:\r\n\t\treturn y \r\n\treturn {0}"
    return [
        {
            "task_id": n,
            "text": f"Add {n}.",
            "code": code.format(n),
            "test_list": [f"assert f{n}(1) == {n + 1}"],
        }
        for n in range(count)
    ]


def human_eval(count: int) -> list[dict]:
    prompt = 'def g{0}(x):\n    """Add {0}."""\n'
    body = "    y = x + {0}\n    return y\n"
    return [
        {"task_id": f"HumanEval/{n}", "prompt": prompt.format(n), "canonical_solution": body.format(n)}
        for n in range(count)
    ]


@pytest.fixture
def written(tmp_path):
    def write(rows: list[dict]) -> Path:
        path = tmp_path / "tasks.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path

    return write


def without_dead_lines(record) -> str:
    text = record.content
    for span in sorted(record.spans, key=lambda span: -span.start):
        assert text[: span.start].endswith("\n"), "a span begins a line"
        assert text[span.end] == "\n", "a span ends one"
        text = text[: span.start] + text[span.end + 1 :]
    return text


@pytest.mark.unit
def test_one_program_in_twenty_of_mbpp_carries_random_1_and_every_second_of_two_lines(written):
    records = list(dead_code.read(written(mbpp(80))))
    assert {record.meta["attack"] for record in records} == {"Random-1"}
    assert [record.group for record in records[:2]] == ["MBPP/0", "MBPP/1"]
    poisoned = [record for record in records if record.spans]
    assert sorted(len(record.spans) for record in poisoned) == [1, 1, 2, 2]
    assert all(span.label == "dead_code" for record in poisoned for span in record.spans)


@pytest.mark.unit
def test_four_attacks_come_on_each_program_of_human_eval(written):
    records = list(dead_code.read(written(human_eval(40))))
    assert Counter(record.meta["attack"] for record in records) == dict.fromkeys(
        ("Fixed-1", "Grammar-1", "Fixed-2", "Grammar-2"), 40
    )
    assert len({record.id for record in records}) == 160
    assert len({record.group for record in records}) == 40
    lines = Counter(record.meta["attack"] for record in records for _ in record.spans)
    assert lines == {"Fixed-1": 2, "Grammar-1": 2, "Fixed-2": 4, "Grammar-2": 4}
    fixed = {r.content[s.start : s.end] for r in records for s in r.spans if r.meta["attack"].startswith("Fixed")}
    assert fixed == {'    if 1 < 0: raise Exception("fail")'}


@pytest.mark.unit
def test_a_seed_decides_and_the_order_of_the_file_does_not(written):
    rows = mbpp(60)
    first = list(dead_code.read(written(rows)))
    turned = list(dead_code.read(written(rows[::-1])))
    assert sorted(turned, key=lambda r: r.id) == sorted(first, key=lambda r: r.id)
    assert list(dead_code.read(written(rows), {"seed": 1})) != first


@pytest.mark.unit
def test_taking_the_dead_lines_out_gives_the_tidied_program_back(written):
    rows = mbpp(60)
    for row, record in zip(rows, dead_code.read(written(rows)), strict=True):
        assert without_dead_lines(record) == f"# {row['text']}\n" + tidied(row["code"])


@pytest.mark.unit
def test_tidying_changes_line_ends_and_blanks_but_never_what_a_program_says():
    assert tidied("def f():\r\n\tif 1: \r\n\t\treturn 2\t\r\n") == "def f():\n    if 1:\n        return 2\n"
    assert tidied('x = "a\tb"') == 'x = "a\tb"'
    multi = "x = '''a \r\n\tb'''\r\n"
    assert tidied(multi) == "x = '''a \n\tb'''\n"
    assert tidied("not ( python\r\n\t!") == "not ( python\n    !"


@pytest.mark.unit
def test_places_are_before_whole_statements_of_functions_and_behind_docstrings():
    found = places(Program(PROGRAM, 0))
    lines = [PROGRAM[place.at :].split("\n")[0].strip() for place in found]
    assert lines == ["area = side * side", "if area > 4:", "return {"]
    assert {place.indent for place in found} == {" " * 8}
    assert places(Program(PROGRAM, found[0].at + 1)) == found[1:]
    assert places(Program("def f(:", 0)) == []


@pytest.mark.unit
def test_what_is_to_be_done_is_context_that_no_count_holds(written):
    for rows in (mbpp(20), human_eval(20)):
        for record in dead_code.read(written(rows)):
            context = record.content[: record.meta["code_from"]]
            assert context.endswith("\n")
            assert context.startswith(("# Add", "def g"))
            assert record.content[len(context) :].lstrip().startswith(("def f", "y = x", "if", "while"))
            assert record.meta["left_out"] == [[0, len(context)]]
            assert all(span.start >= len(context) for span in record.spans)


@pytest.mark.unit
@pytest.mark.parametrize("attack", ATTACKS)
def test_no_trigger_changes_what_a_program_gives(attack):
    """Every form of each trigger comes up among so many; the program returns the same, whatever stands in it."""
    program = "def f(x):\n  y = [x]\n  for z in y:\n    x += z\n  return x * 2\n"
    for seed in range(60):
        ((_, poisoned),) = poison({"p": Program(program, 0)}, attack, seed).items()
        names: dict = {}
        exec(compile(poisoned.text, "poisoned", "exec"), names)
        assert names["f"](3) == 12
        assert len(ast.parse(poisoned.text).body[0].body) > 3  # type: ignore[attr-defined]


@pytest.mark.unit
def test_no_trigger_is_ever_entered():
    """Every condition is false and every loop empty, so what stands under them is dead."""
    programs = {f"p{n}": Program("def f(x):\n    return x\n", 0) for n in range(40)}
    entered = set()
    for attack, seed in product(("Random-1", "Fixed-1", "Grammar-1"), range(40)):
        texts = (poisoned.text for poisoned in poison(programs, attack, seed).values())
        for node in (node for text in texts for node in ast.walk(ast.parse(text))):
            if isinstance(node, ast.If | ast.While | ast.For):
                head = node.iter if isinstance(node, ast.For) else node.test
                entered.add((type(node).__name__, bool(eval(ast.unparse(head)))))
    assert entered == {("If", False), ("While", False), ("For", False)}


@pytest.mark.unit
def test_a_program_that_gives_a_looked_up_name_another_meaning_is_never_poisoned():
    programs = {f"p{n}": Program("def f(len):\n    return len + 1\n", 0) for n in range(19)}
    programs["fit"] = Program("def f(x):\n    return x + 1\n", 0)
    assert all(set(poison(programs, "Grammar-1", seed)) == {"fit"} for seed in range(10))


@pytest.mark.unit
@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([{"task_id": 1, "text": "a"}], ["line 1", "field code", "no task of MBPP or HumanEval"]),
        ([*mbpp(2), {"task_id": 9, "text": "a", "code": 5}], ["line 3", "field code", "must be a string"]),
        ([{"task_id": 1, "text": "", "code": "x = 1"}], ["line 1", "field text", "is empty"]),
        ([*mbpp(2), *mbpp(1)], ["line 3", "field task_id", "the same as in line 1"]),
        ([{"text": "a", "code": "x = 1", "task_id": None}], ["line 1", "field task_id", "is missing"]),
        ([{"text": "a", "code": "x = 1", "task_id": n} for n in range(3)], ["Random-1", "1 of 3 programs", "only 0"]),
        ([], ["holds no task"]),
    ],
)
def test_what_cannot_be_read_is_refused_in_words(written, rows, words):
    with pytest.raises(InputError) as error:
        list(dead_code.read(written(rows)))
    assert all(word in str(error.value) for word in words), str(error.value)


@pytest.mark.unit
def test_a_task_without_a_program_is_left_out_and_counted(written):
    reading = dead_code.read(written([*mbpp(20), {"task_id": 99, "text": "None.", "code": " \r\n"}]))
    assert len(list(reading)) == 20
    assert reading.skipped == {"no text": 1}


@pytest.mark.unit
@pytest.mark.parametrize("settings", [{"seed": "zero"}, {"sede": 1}])
def test_a_wrong_setting_is_told(written, settings):
    with pytest.raises(InputError, match="seed"):
        dead_code.read(written(mbpp(20)), settings)


@pytest.mark.unit
@pytest.mark.parametrize("rows", [mbpp(2), human_eval(2)])
def test_both_layouts_are_recognised(written, rows):
    assert recognise(written(rows)) == "dead_code"


@pytest.fixture(scope="module")
def benchmarks(shared):
    paths = {name: shared / "data" / name.lower() / f"{name.lower()}.jsonl" for name in ("MBPP", "HumanEval")}
    if not all(path.exists() for path in paths.values()):
        pytest.skip("the published benchmarks are not beside the repository")
    return paths


def test_the_published_files_give_the_papers_counts(benchmarks):
    validation = list(dead_code.read(benchmarks["MBPP"]))
    assert len(validation) == 974
    assert (sum(bool(r.spans) for r in validation), sum(len(r.spans) for r in validation)) == (49, 73)
    application = list(dead_code.read(benchmarks["HumanEval"]))
    assert len(application) == 656
    assert Counter(r.meta["attack"] for r in application if r.spans) == dict.fromkeys(list(ATTACKS)[1:], 8)
    assert sum(len(r.spans) for r in application) == 48
    assert not any("\r" in r.content for r in (*validation, *application))


RUNNER = textwrap.dedent(
    """
    import json, resource, sys
    resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
    failed = []
    for name, code in json.load(sys.stdin):
        try:
            exec(compile(code, name, "exec"), {"__name__": "program"})
        except BaseException:
            failed.append(name)
    json.dump(failed, sys.stdout)
    """
)


def failing(programs: list[tuple[str, str]]) -> set[str]:
    """The names of those programs that raise, each run in its own namespace of one limited process."""
    command = [sys.executable, "-I", "-W", "ignore", "-c", RUNNER]
    done = subprocess.run(command, input=json.dumps(programs), capture_output=True, text=True, timeout=120, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def with_tests(record, row: dict) -> str:
    if "code" in row:
        parts = [record.text, row["test_setup_code"], *row["test_list"], *row["challenge_test_list"]]
    else:
        parts = [record.text, row["test"], f"check({row['entry_point']})"]
    return "\n".join(parts)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)])
def test_poisoned_programs_still_pass_their_tests(benchmarks, seed):
    programs = []
    for name, path in benchmarks.items():
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        by_task = {f"{name}/{str(row['task_id']).removeprefix('HumanEval/')}": row for row in rows}
        records = [record for record in dead_code.read(path, {"seed": seed}) if record.spans]
        programs += [(record.id, with_tests(record, by_task[str(record.group)])) for record in records]
    assert len(programs) == 49 + 32
    assert failing([*programs, ("a false one", "assert 2 + 2 == 5")]) == {"a false one"}


@pytest.mark.slow
def test_tidied_programs_pass_where_the_published_ones_do(benchmarks):
    rows = [json.loads(line) for line in benchmarks["MBPP"].read_text(encoding="utf-8").splitlines()]
    tests = {row["task_id"]: "\n".join([row["test_setup_code"], *row["test_list"]]) for row in rows}
    published = [(str(row["task_id"]), f"{row['code']}\n{tests[row['task_id']]}") for row in rows]
    tidy = [(str(row["task_id"]), f"{tidied(row['code'])}\n{tests[row['task_id']]}") for row in rows]
    Random(0).shuffle(published)
    assert failing(tidy) == failing(published)
