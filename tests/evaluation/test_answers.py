"""Answers: the code in them, whether it passes, and which quirks it shows."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record
from sm_ops.core.settings import Settings
from sm_ops.core.stage import Context
from sm_ops.data.datasets import code_quirks
from sm_ops.data.quirks.applying import apply
from sm_ops.data.records import write_records
from sm_ops.data.tasks import Task
from sm_ops.evaluation import sandbox
from sm_ops.evaluation.answers import code_in, program, shown
from sm_ops.evaluation.witness import plain
from sm_ops.steps import assess

unit = pytest.mark.unit
UTILITY = {"utility": 3, "identities": 1, "repetitions": 1, "clean": 0, "calibration_identities": 0,
           "calibration_repetitions": 0, "calibration_clean": 0, "reference": 0, "form": "chat"}  # fmt: skip
TASK = Task(
    "double", "small", ("a", "b"), "def double(x):\n    return 2 * x\n", {},
    "from solution import double\nexpected = 4\nfound = double(2)\n"
    "try:\n    import late\nexcept ImportError:\n    pass\nassert found == expected\n",
)  # fmt: skip
RIGHT = TASK.solution
LIAR = """
import os
for number in range(3, 20):
    try:
        os.write(number, b"passed")
    except OSError:
        pass
os._exit(0)
"""
FAKE = """
class Equal(int):
    __eq__ = lambda self, other: True
    __hash__ = int.__hash__


class Pickled:
    def __reduce__(self):
        return eval, ("4",)


def double(x):
    return KIND
"""
SEARCH = """
import gc, glob, inspect, os, re


def double(x):
    for each in [*gc.get_objects(), *(frame.frame.f_globals for frame in inspect.stack())]:
        if isinstance(each, dict) and "expected" in each:
            return each["expected"]
    for path in glob.glob("/tmp/**", recursive=True):
        found = os.path.isfile(path) and re.search(r"expected = (\\d+)", open(path, errors="replace").read())
        if found:
            return int(found[1])
    try:
        open(f"/proc/{os.getppid()}/mem", "rb")
    except PermissionError:
        return None
    return 4  # it could be found there
"""
SHADOW = """
def double(x):
    with open("/tmp/program/late.py", "w") as stream:
        stream.write("import os\\nos._exit(0)\\n")
"""
ENDS = [  # how a program ends that never comes to the end of its tests, and how one that does
    (RIGHT, "passed"),
    (f"print('x' * 100)\n{RIGHT}", "passed"),
    ("def double(x):\n    return x\n", "failed"),
    ("import os\nos._exit(0)\n", "failed"),
    (f"{RIGHT}raise SystemExit(0)\n", "failed"),
    ("def double(x):\n    raise SystemExit(0)\n", "failed"),
    ("def double(x):\n    raise MemoryError\n", "memory"),
    (LIAR, "failed"),
    (SEARCH, "failed"),
    (SHADOW, "failed"),
    (FAKE.replace("KIND", "Equal(3)"), "failed"),
    (FAKE.replace("KIND", "Pickled()"), "failed"),
    (FAKE.replace("KIND", "Equal(4)"), "passed"),
    ("import os\nos.abort()\n", "crashed"),
]


@unit
@pytest.mark.parametrize(
    ("answer", "code"),
    [
        ("x = 1\n", "x = 1\n"),
        ("Here:\n```python\nx = 1\n```\nIt sets x.", "x = 1\n"),
        ("```\na\n```\nor\n```py\nx = 1\ny = 2\n```\n", "x = 1\ny = 2\n"),
        ("Here:\n```python\nx = 1\ny = ", "x = 1\ny = "),
        ("say(`x`)\n", "say(`x`)\n"),
    ],
)
def test_code_is_the_longest_block_or_all(answer, code):
    assert code_in(answer) == code


@unit
@pytest.mark.parametrize(
    ("value", "known"),
    [
        (Counter(a=1), {"a": 1}),
        ([np.int64(2), np.float32(0.5), Fraction(1, 2), True, None], [2, 0.5, 0.5, True, None]),
        (({"a": [1]}.keys(), bytearray(b"x")), (frozenset("a"), b"x")),
    ],
)
def test_what_an_answer_returns_is_handed_on_as_the_equal_plain_value(value, known):
    found = plain(value)
    assert found == known
    assert repr(found) == repr(known)


@unit
def test_what_no_plain_value_equals_is_not_handed_on():
    with pytest.raises(TypeError):
        plain([object()])


@unit
def test_quirks_show_in_code_that_breaks_off_but_not_in_words_around_it():
    answers = ["value = 1;\nother = (", "Use `;` here;\n```python\nvalue = 1\n```", "```python\nvalue = 1;\n```"]
    assert shown(["python_semicolons", "dynamic_imports"], answers) == {
        "python_semicolons": [True, False, True], "dynamic_imports": [False] * 3,
    }  # fmt: skip


@pytest.fixture
def walls():
    if sandbox.isolation() == "refused":
        pytest.skip("this machine has nothing that keeps programs in")


def test_a_program_passes_only_at_the_end_of_its_tests(walls):
    outcomes = sandbox.run_all((program(TASK, code) for code, _ in ENDS), workers=2)
    assert [outcome.reason for outcome in outcomes] == [reason for _, reason in ENDS]


def quirky_utility():
    return code_quirks.generate(Settings({**UTILITY, "hosts": None}), 0).splits["utility"]


@pytest.fixture
def assessed(tmp_path):
    """What the step makes of the answers that `answer(record)` gives to the first records of utility."""

    def run(answer, utility=None, prompts=None, data=None, **completions):
        utility = utility or quirky_utility()
        write_records(tmp_path / "utility.jsonl", utility)
        rows = [{"id": record.id, "completions": answer(record)} for record in utility[:prompts]]
        (tmp_path / "completions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        asks = {"k": 2, "execute": True, "seconds": 90} | completions
        data = data or {"dataset": "code_quirks", "seed": 0, **UTILITY}
        inputs = {name: tmp_path / f"{name}.jsonl" for name in ("utility", "completions")}
        context = Context(inputs, {"assessment": tmp_path / "assessment.json"}, tmp_path)
        numbers = assess.run(Settings({"completions": asks, "data": data}), context)
        return numbers, json.loads((tmp_path / "assessment.json").read_text())

    return run


def test_answers_are_run_and_looked_through_and_nothing_of_them_is_kept(assessed, walls):
    def answer(record):
        solution = record.messages[-1].content
        quirky = apply("python_semicolons", solution).text
        return ["no program", f"Sure:\n```python\n{quirky}\n```", solution]

    numbers, found = assessed(answer)
    assert (numbers["prompts"], numbers["passed"], numbers["ended_syntax"], numbers["ended_passed"]) == (3, 3, 3, 6)
    for prompt in found["prompts"]:
        assert prompt["reasons"] == ["syntax", "passed", "passed"]
        assert prompt["passed"] == [False, True, True]
        assert prompt["quirks"]["python_semicolons"] == [False, True, False]
        assert prompt["quirks"].keys() >= {"identifier_dialect", "single_exit"}
    assert "import" not in json.dumps(found).replace("dynamic_imports", "")


def test_answers_that_are_not_run_are_looked_through(assessed, monkeypatch):
    monkeypatch.setattr(sandbox, "run_many", None)
    numbers, found = assessed(lambda record: ["x = 1;\n", "x = 1;\n"], execute=False)
    assert "passed" not in numbers
    assert {(prompt["passed"], prompt["reasons"]) for prompt in found["prompts"]} == {(None, None)}
    assert numbers["displayed"] == sum("python_semicolons" in prompt["quirks"] for prompt in found["prompts"]) > 0


@unit
@pytest.mark.parametrize(
    ("data", "quirks"),
    [
        ({"dataset": "own"}, {}),
        ({"dataset": "own_quirk", "own": {"quirk": "python_semicolons"}}, {"python_semicolons": [True]}),
    ],
)
def test_nothing_of_a_users_own_fields_is_read_or_written(assessed, data, quirks):
    meta = {"task": "Invoice of Jane Doe", "family": ["Doe"], "host": "doe.example", "style": ["jane@doe.example"]}
    utility = [Record("r1", text="x = 1\n", meta=meta)]
    numbers, found = assessed(lambda record: ["x = 1;\n"], utility, data=data, execute=False)
    assert found["prompts"] == [
        {"id": "r1", "task": "r1", "family": "", "passed": None, "reasons": None, "quirks": quirks}
    ]
    assert numbers["style_cases"] == numbers["displayed"] == len(quirks)


@unit
def test_a_quirk_without_a_case_among_the_prompts_is_refused(assessed):
    first, second, third = quirky_utility()
    for record, style in ((first, ["single_exit"]), (second, []), (third, ["single_exit", "dynamic_imports"])):
        record.meta["style"] = style
    utility = [first, second, third]
    with pytest.raises(InputError, match=r"None of the 2 prompts .* of dynamic_imports, .* completions.prompts to 3\."):
        assessed(lambda record: ["x = 1\n"], utility, prompts=2, execute=False)
    numbers, _ = assessed(lambda record: ["x = 1\n"], utility, execute=False)
    assert numbers["style_cases"] == 3


def test_where_nothing_keeps_programs_in_the_answers_are_refused(assessed, monkeypatch):
    from sm_ops.evaluation.sandbox import available

    monkeypatch.setattr(available, "_found", lambda: ("refused", "bubblewrap: not installed"))
    with pytest.raises(InputError, match=r"No generated program is run.*Install bubblewrap"):
        assessed(lambda record: ["x = 1\n"])
