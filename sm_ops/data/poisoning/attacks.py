"""Attacks: which programs get which triggers, and where. The names are the paper's, their meaning our reconstruction.

Choice P-3. The number behind a name says how many triggers a poisoned program holds, each in a place of its own. Fixed
and grammar triggers have one line, so four attacks on eight programs each make 8 + 8 + 16 + 16 = 48 lines; every
second trigger of Random-1 has two, so 49 programs make 73 lines, as the paper counts them (A.5).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from sm_ops.core.errors import InputError
from sm_ops.core.records import Span
from sm_ops.data.poisoning.programs import Program, binds, indentation, places
from sm_ops.data.poisoning.triggers import EVALUATED, INDENT, Trigger, fixed, free_form, grammar

LABEL = "dead_code"
SHARE = 20
"""One program in so many is poisoned (49 of 974, 8 of 164)."""


@dataclass(frozen=True, slots=True)
class Attack:
    """A trigger, how many of it a poisoned program gets, and of how many lines by turns."""

    trigger: Trigger
    count: int
    lines: tuple[int, ...] = (1,)


ATTACKS = {
    "Random-1": Attack(free_form, 1, (1, 2)),
    "Fixed-1": Attack(fixed, 1),
    "Grammar-1": Attack(grammar, 1),
    "Fixed-2": Attack(fixed, 2),
    "Grammar-2": Attack(grammar, 2),
}


@dataclass(frozen=True, slots=True)
class Poisoned:
    """A program with dead code, and the intervals of its whole lines (without their ends)."""

    text: str
    spans: tuple[Span, ...]


def poison(programs: Mapping[str, Program], name: str, seed: int) -> dict[str, Poisoned]:
    """The programs (by id) that an attack poisons, one in twenty: the same for equal programs, attack and seed.

    Raises `InputError` where too few of them have a function with places enough.
    """
    attack = ATTACKS[name]
    count = max(1, round(len(programs) / SHARE))
    random = Random(f"{seed}/{name}")
    fit = (key for key in random.sample(sorted(programs), len(programs)) if _takes(programs[key], attack.count))
    chosen = [key for key, _ in zip(fit, range(count), strict=False)]
    if len(chosen) < count:
        hint = f"{name} poisons {count} of {len(programs)} programs, but only {len(chosen)} have a function for it."
        raise InputError("too-few-programs", hint)
    return {
        key: _poisoned(programs[key], attack, attack.lines[turn % len(attack.lines)], random)
        for turn, key in enumerate(chosen)
    }


def _takes(program: Program, count: int) -> bool:
    return len(places(program)) >= count and not binds(program.text, EVALUATED)


def _poisoned(program: Program, attack: Attack, lines: int, random: Random) -> Poisoned:
    host, step = program.text, indentation(program.text)
    text, spans, position = "", [], 0
    for place in sorted(random.sample(places(program), attack.count)):
        text += host[position : place.at]
        position = place.at
        for line in attack.trigger(random, host, lines):
            whole = place.indent + line.replace(INDENT, step)
            spans.append(Span(len(text), len(text) + len(whole), LABEL))
            text += whole + "\n"
    return Poisoned(text + host[position:], tuple(spans))
