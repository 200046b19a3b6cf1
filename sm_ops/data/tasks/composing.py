"""One task from its parts: a source, up to two steps and a result, as a solution, two prompts and tests."""

from __future__ import annotations

import re
from pprint import pformat
from random import Random
from typing import Any

from sm_ops.data.tasks.parts import WORDS, Part, Setting, Words
from sm_ops.data.tasks.results import RESULTS
from sm_ops.data.tasks.sources import FILES, WORKBOOKS, Source
from sm_ops.data.tasks.steps import CHANGES, FILTERS
from sm_ops.data.tasks.tables import TABLES, Row, draw_rows
from sm_ops.data.tasks.task import Task

FAMILIES = tuple(f"{source}_{result}" for source in ("workbook", "files") for result in RESULTS)
"""What a task reads, and what it answers with."""
_FEWEST = 3
"""Rows that must be left to answer from, so that the answer is not trivial."""


def compose(number: int, random: Random) -> Task | None:
    """A task drawn from `random`; None where the draw leaves too few rows, or a slip would go unnoticed."""
    workbooks = random.random() < 2 / 3
    table = random.choice(TABLES)
    source = random.choice(WORKBOOKS if workbooks else FILES)(table, random)
    kind = random.choice(list(RESULTS))
    samples = [draw_rows(table, random, random.randint(9, 13)) for _ in range(2)]

    rows, parts = samples[0], []
    for maker in _steps(random):
        parts.append(maker(Setting(table, rows, random)))
        rows = parts[-1].apply([dict(row) for row in rows])
        if len(rows) < _FEWEST:
            return None
    parts.append(random.choice(RESULTS[kind])(Setting(table, rows, random)))

    answers = [_answer(parts, sample) for sample in samples]
    faulty = _slip(parts, samples, answers, random)
    if faulty is None:
        return None

    words, name = random.choice(WORDS), parts[-1].names
    layout = _Layout(name, words, source, random.random() < 0.5, random.random() < 0.4)
    first, second = (f"{name}.{source.suffix}" for name in random.choice(_FILE_NAMES))
    purpose = f"{name.replace('_', ' ').capitalize()} of the {table.many} in a file."
    return Task(
        id=f"{'workbook' if workbooks else 'files'}_{kind}-{number:04d}",
        family=f"{'workbook' if workbooks else 'files'}_{kind}",
        prompts=_prompts(name, source, parts, random),
        solution=layout.write(parts, purpose),
        files={file: source.write(rows, random) for file, rows in zip((first, second), samples, strict=True)},
        tests=_tests(name, dict(zip((first, second), answers, strict=True))),
        faulty=layout.write(faulty, purpose),
    )


_FILE_NAMES = (("sample", "other"), ("january", "february"), ("small", "second"), ("first", "later"), ("one", "two"))


def _steps(random: Random) -> list:
    """No, one or two steps: filters more often than changes, and never one thing twice."""
    makers = random.sample(FILTERS, random.choice((0, 1, 1, 2))) + random.sample(CHANGES, random.choice((0, 0, 1)))
    return random.sample(makers, len(makers))


def _answer(parts: list[Part], rows: list[Row]) -> Any:
    found: Any = [dict(row) for row in rows]
    for part in parts:
        found = part.apply(found)
    return found


def _slip(parts: list[Part], samples: list[list[Row]], answers: list[Any], random: Random) -> list[Part] | None:
    """The parts with one mistake that changes an answer; None where all of them go unnoticed."""
    places = [(place, slip) for place, part in enumerate(parts) for slip in part.slips]
    for place, slip in random.sample(places, len(places)):
        part = parts[place]
        wrong = [*parts[:place], Part(slip.code, part.says, slip.apply, (), part.imports), *parts[place + 1 :]]
        if slip.code != part.code and [_answer(wrong, rows) for rows in samples] != answers:
            return wrong
    return None


# ---- the program ---------------------------------------------------------------------------------------


class _Layout:
    """How one solution is written down: its names, whether reading is a function of its own, and its docstring."""

    def __init__(self, name: str, words: Words, source: Source, apart: bool, described: bool) -> None:
        self.name, self.words, self.source, self.apart, self.described = name, words, source, apart, described

    def write(self, parts: list[Part], purpose: str) -> str:
        """The whole module."""
        text = [f'    """{purpose}"""'] if self.described else []
        steps = [_indented(part.code) for part in parts]
        if self.apart:
            reader = f"def read_{self.words.rows}(path):\n{_indented(self.source.code)}\n    return «rows»\n\n\n"
            body = [f"    «rows» = read_{self.words.rows}(path)", *steps]
        else:
            reader, body = "", [_indented(self.source.code), *steps]
        function = "\n".join([f"def {self.name}(path):", *text, *body])
        imports = sorted({line for part in (self.source, *parts) for line in part.imports}, key=_import_order)
        needed = "\n".join(line for line in imports if _is_used(line, reader + function))
        blank = "\n\n" if any("exstruct" in line for line in imports) and len(imports) > 1 else "\n"
        needed = needed.replace("\nfrom exstruct", f"{blank}from exstruct")
        return self.words.fill(f"{needed}\n\n\n{reader}{function}\n".lstrip("\n"))


def _indented(code: str) -> str:
    return "\n".join(f"    {line}" for line in code.split("\n"))


def _import_order(line: str) -> tuple[bool, bool, str]:
    return "exstruct" in line, line.startswith("from"), line


def _is_used(line: str, code: str) -> bool:
    return re.search(rf"\b{line.split()[-1]}\b", code) is not None


def _tests(name: str, answers: dict[str, Any]) -> str:
    """Tests over each file; they run when the module is run, and under pytest. A program that leaves early fails."""
    functions = {f"test_{file.split('.')[0]}": file for file in answers}
    bodies = []
    for function, file in functions.items():
        expected = pformat(answers[file], width=100, sort_dicts=False).replace("\n", "\n" + " " * 15)
        bodies.append(f'def {function}():\n    expected = {expected}\n    assert {name}(HERE / "{file}") == expected\n')
    calls = "\n        ".join(f"{function}()" for function in functions)
    return _TESTS.format(name=name, bodies="\n\n".join(bodies), calls=calls)


_TESTS = '''"""Regression tests of {name}."""

from pathlib import Path

try:
    from solution import {name}
except SystemExit:
    raise ImportError("solution.py ends the program") from None

HERE = Path(__file__).parent


{bodies}

if __name__ == "__main__":
    try:
        {calls}
    except SystemExit:
        raise AssertionError("{name} ends the program") from None
'''


# ---- what is asked -------------------------------------------------------------------------------------


def _prompts(name: str, source: Source, parts: list[Part], random: Random) -> tuple[str, str]:
    first = random.choice(
        (
            "Write a Python module `solution.py` with a function `{}(path)`.",
            "Implement `{}(path)` in a Python module `solution.py`.",
            "Create `solution.py`, which defines `{}(path)`.",
        )
    ).format(name)
    last = random.choice(
        (
            "Put it into a function `{}(path)` in `solution.py`.",
            "The function should be called `{}` and take the `path` of the file; the module is `solution.py`.",
            "Can you write that as `{}(path)` in `solution.py`?",
        )
    ).format(name)
    plain = " ".join([first, source.says[0], *(part.says[0] for part in parts)])
    told = " ".join([source.says[1], *(part.says[1] for part in parts), last])
    return plain, told
