"""Triggers: dead code of one or two lines, drawn from a random generator. All of them are our reconstruction.

Choice P-2. The literature on backdoors in code knows fixed triggers (one text for all programs) and grammar triggers (a
text drawn from a small grammar): an `if` or `while` whose condition never holds, before a body that prints or raises
(Ramakrishnan and Albarghouthi 2022). Ours need no import. The random trigger is a statement without an effect: a
variable that nobody reads, an assertion that always holds, a loop that never runs, with names and numbers drawn anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from keyword import iskeyword
from random import Random
from string import ascii_lowercase

EVALUATED = frozenset({"abs", "len", "pow", "round"})
"""Names that conditions look up: a program that binds one of them is no place for a trigger."""

_WORDS = ("access", "alert", "buffer", "cache", "debug", "error", "fail", "memory", "notice", "status", "test", "trace")

INDENT = "\t"
"""Stands for one step of the program's own indentation."""

Trigger = Callable[[Random, str, int], list[str]]
"""Of a generator, the program's text and a number of lines (1 or 2): the lines as they stand at the left margin."""


def fixed(random: Random, program: str, lines: int) -> list[str]:
    """The same line in every program."""
    return ['if 1 < 0: raise Exception("fail")']


def grammar(random: Random, program: str, lines: int) -> list[str]:
    """A line of the grammar STATEMENT CONDITION `:` BODY."""
    statement = random.choice(["if", "while"])
    return [f"{statement} {_never(random)}: {_body(random)}"]


def free_form(random: Random, program: str, lines: int) -> list[str]:
    """A statement of so many lines that does nothing, with names that the program does not use."""
    name, other = _names(random, program, 2)
    low, high = sorted(random.sample(range(10_000), 2))
    forms: dict[int, Sequence[Sequence[str]]] = {
        1: (
            [f"{name} = {high}"],
            [f"{name} = {_message(random)}"],
            [f"{name} = [{low}, {high}]"],
            [f"assert {low} < {high}"],
        ),
        2: (
            [f"if {high} < {low}:", f"{INDENT}{name} = {_message(random)}"],
            [f"while {high} < {low}:", f"{INDENT}print({_message(random)})"],
            [f"for {name} in []:", f"{INDENT}{other} = {high}"],
            [f"{name} = {low}", f"{other} = {name} * {high}"],
        ),
    }
    return list(random.choice(forms[lines]))


def _never(random: Random) -> str:
    number = random.randint(1, 99)
    return random.choice(
        [
            f"abs({random.randint(-99, 99)}) < -{number}",
            f"len({_message(random)}) < -{number}",
            f"pow({random.randint(2, 9)}, 2) < -{number}",
            f"round({random.randint(0, 99)}.5) > {100 + number}",
        ]
    )


def _body(random: Random) -> str:
    return random.choice(["print({})", "raise Exception({})", "raise ValueError({})"]).format(_message(random))


def _message(random: Random) -> str:
    return '"' + " ".join(random.sample(_WORDS, random.randint(1, 3))) + '"'


def _names(random: Random, program: str, count: int) -> list[str]:
    found: list[str] = []
    while len(found) < count:
        name = "".join(random.choices(ascii_lowercase, k=6))
        if name not in program and not iskeyword(name) and name not in found:
            found.append(name)
    return found
