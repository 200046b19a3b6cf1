"""The people, places, bodies and numbers of generated cases; every value belongs to one cast, which a hash names."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cached_property
from random import Random
from typing import NamedTuple, TypeVar

from sm_ops.data.corpora import _court_words as words

CASTS = ("members", "public", "reference")
RECURRING = ("judge", "judge2", "registrar", "agent", "agent2", "lawyer", "doctor", "expert", "local", "officer")
"""Parts that people play in many cases."""
_POOL = 12
T = TypeVar("T")


class Person(NamedTuple):
    """An invented name; titles and pronouns go by `woman`."""

    first: str
    last: str
    woman: bool


class Country(NamedTuple):
    """An invented state, and the adjective made of its name."""

    name: str
    nation: str


class Cast:
    """Draws the values of one cast, and keeps those that recur across its documents."""

    def __init__(self, name: str, seed: int) -> None:
        self._name, self._seed = name, seed

    def random(self, purpose: str) -> Random:
        """A generator of its own for each purpose."""
        return Random(f"{self._seed}/{self._name}/{purpose}")

    def draw(self, random: Random, make: Callable[[Random], str]) -> str:
        """The first of the made values that belongs to this cast."""
        while not self.owns(value := make(random)):
            pass
        return value

    def owns(self, value: str) -> bool:
        """Whether a value is this cast's: each is exactly one's."""
        return CASTS[hashlib.sha256(value.encode()).digest()[0] % len(CASTS)] == self._name

    def one_of(self, random: Random, values: Sequence[str]) -> str:
        """One of a list's values that belong to this cast."""
        return random.choice([value for value in values if self.owns(value)])

    def person(self, random: Random, last: str | None = None) -> Person:
        """Somebody, or a relative of that last name."""
        woman = random.random() < 0.5
        ends = words.WOMEN if woman else words.MEN
        first = self._name_of(random, words.STARTS, words.MIDDLES, ends)
        return Person(first, last or self._name_of(random, words.STARTS, words.MIDDLES, words.SURNAMES), woman)

    def town(self, random: Random) -> str:
        """A place that is in no other cast."""
        return self._name_of(random, words.STARTS, words.MIDDLES, words.TOWNS)

    @cached_property
    def people(self) -> dict[str, list[Person]]:
        """Those who appear in many cases, by their part."""
        return {part: [self.person(self.random(f"{part}/{n}")) for n in range(_POOL)] for part in RECURRING}

    @cached_property
    def towns(self) -> list[str]:
        """Places of many cases."""
        return [self.town(self.random(f"town/{number}")) for number in range(_POOL)]

    @cached_property
    def countries(self) -> list[Country]:
        """The respondent states."""
        pairs = [
            Country(f"{start}{vowel}{end}", f"{start}{vowel}{nation}")
            for start in words.STARTS
            for vowel in "aeio"
            for end, nation in words.COUNTRIES.items()
        ]
        own = [pair for pair in pairs if self.owns(pair.name) and self.owns(pair.nation)]
        return self.random("countries").sample(own, 5)

    def _name_of(self, random: Random, *parts: Sequence[str]) -> str:
        return self.draw(random, lambda r: "".join(map(r.choice, parts)))


def often_first(random: Random, values: Sequence[T]) -> T:
    """One of some values, the first most often (Zipf)."""
    return random.choices(values, [1 / rank for rank in range(1, len(values) + 1)])[0]
