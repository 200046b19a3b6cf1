"""Court: generated judgments in the manner of a human rights court, with gold spans, where no real ones are at hand.

People, places, bodies, dates and numbers are invented; their spans carry the classes of the Text Anonymization
Benchmark. A document names its own people again and again; judges, agents, doctors, bodies and towns recur across
documents, a few of them often. Documents of different casts share sentences and no labelled value.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path
from random import Random
from typing import Any

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record, Span
from sm_ops.data.corpora import _court_sentences as sentences
from sm_ops.data.corpora import _court_words as words
from sm_ops.data.corpora._court_cast import CASTS, RECURRING, Cast, often_first
from sm_ops.data.corpora._reading import Reading, with_defaults

RULE = "piibench_raw"
SIDES = {"validation": {"cast": "reference"}, "records": {"cast": "members"}, "reference": {"cast": "public"}}
"""What the settings say of each side of this generated corpus, where it is to be sanitized."""
_DEFAULTS = {"documents": 60, "seed": 0, "cast": CASTS[0]}
_SLOT = re.compile(r"\{(\w+)(?:\.(\w+))?\}")
_KIN = {True: ("wife", "sister", "mother", "aunt"), False: ("husband", "brother", "father", "uncle")}
_PRONOUNS = {"he": "she", "his": "her", "him": "her", "He": "She"}


def read(path: str | Path | None = None, settings: Mapping[str, Any] = {}) -> Reading:
    """Generated documents of 600 to 3,000 characters, a record each, the same for equal settings.

    Reads `documents`, `seed` and `cast` (members | public | reference); more documents leave the first as they are.
    Raises `InputError` for a path, since nothing is read, and for settings that it does not know.
    """
    values = with_defaults("court", settings, _DEFAULTS)
    if path is not None:
        raise InputError("no-reader", "The corpus 'court' is generated and reads no path; leave it out.")
    if values["cast"] not in CASTS:
        raise InputError("unknown-cast", f"There is no cast {values['cast']!r}; known are {', '.join(CASTS)}.")
    name, seed, documents = values["cast"], int(values["seed"]), int(values["documents"])
    cast = Cast(name, seed)
    ids = (f"court-{name}-{number:04}" for number in range(1, documents + 1))
    return Reading((_Document(cast, cast.random(each)).record(each) for each in ids), Counter())


class _Case:
    """The particulars of one case: what each slot says."""

    def __init__(self, cast: Cast, random: Random) -> None:
        self._cast, self._random = cast, random
        self.day = date(1970, 1, 1)
        people = {part: often_first(random, cast.people[part]) for part in RECURRING}
        people |= {part: cast.person(random) for part in ("applicant", "witness", "seller")}
        family = people["applicant"].last
        people |= {part: cast.person(random, last=family) for part in ("relative", "minor")}
        self._people = people
        country, home = random.choice(cast.countries), cast.town(random)
        self._towns = [often_first(random, cast.towns), often_first(random, cast.towns), home]
        years = [str(year) for year in range(1930, 1972)]
        ages = [f"{number} years old" for number in words.NUMBERS]
        self._labelled = {
            "country": ("LOC", country.name),
            "nation": ("DEM", country.nation),
            "home": ("LOC", home),
            "a_trade": ("DEM", cast.one_of(random, words.TRADES)),
            "a_trade2": ("DEM", cast.one_of(random, words.TRADES)),
            "born": ("DATETIME", cast.one_of(random, years)),
            "age": ("DEM", cast.one_of(random, ages)),
            "application": ("CODE", cast.draw(random, _application)),
            **{slot: ("ORG", body.format(random.choice(self._towns))) for slot, body in words.BODIES.items()},
        }
        self._files = [cast.draw(random, _file_number) for _ in range(2)]
        self._plain = {
            "kin": random.choice(_KIN[people["relative"].woman]),
            "child": "daughter" if people["minor"].woman else "son",
        }

    def particular(self, slot: str, form: str | None) -> tuple[str, str, str | None]:
        """What is written before the value, the value, and its class (None: not private)."""
        if form is not None:
            return self._of_person(slot, form)
        if slot in self._plain:
            return "", self._plain[slot], None
        if slot == "count":
            return "", self._random.choice(words.NUMBERS), None
        label, value = self._labelled.get(slot) or self._drawn(slot)
        article = ("an " if value[0] in "aeiou" else "a ") if slot.startswith("a_") else ""
        return article, value, label

    def _of_person(self, part: str, form: str) -> tuple[str, str, str | None]:
        person = self._people[part]
        if form in _PRONOUNS:
            return "", _PRONOUNS[form] if person.woman else form, None
        title = ("Ms " if person.woman else "Mr ") if form.startswith("mr_") else ""
        names = {"first": person.first, "last": person.last, "full": f"{person.first} {person.last}"}
        return title, names[form.removeprefix("mr_")], "PERSON"

    def _drawn(self, slot: str) -> tuple[str, str]:
        """Values that differ from place to place; dates go forward."""
        cast, random = self._cast, self._random
        if slot == "town":
            return "LOC", random.choice(self._towns)
        if slot == "file":
            return "CODE", often_first(random, self._files)
        if slot in ("date", "month"):
            return "DATETIME", cast.draw(random, lambda r: self._later(r, slot))
        if slot == "year":
            return "DATETIME", cast.one_of(random, [str(year) for year in range(1972, 1993)])
        if slot in ("duration", "term", "hours"):
            units = {"duration": ("days", "weeks", "months"), "term": ("years",), "hours": ("hours",)}[slot]
            return "DATETIME", cast.one_of(random, [f"{number} {unit}" for number in words.NUMBERS for unit in units])
        if slot == "share":
            return "QUANTITY", cast.one_of(random, [f"{number} per cent" for number in range(5, 95, 5)])
        return "QUANTITY", cast.draw(random, _money)

    def _later(self, random: Random, slot: str) -> str:
        self.day += timedelta(days=random.randrange(3, 90))
        month = f"{words.MONTHS[self.day.month - 1]} {self.day.year}"
        return f"{self.day.day} {month}" if slot == "date" else month


class _Document:
    """Sentences about a case, with the places of what is private in them."""

    def __init__(self, cast: Cast, random: Random) -> None:
        self._case, self._random = _Case(cast, random), random
        self._text, self._paragraphs = "", 0
        self._spans: list[Span] = []

    def record(self, identity: str) -> Record:
        """The whole judgment."""
        random, case = self._random, self._case
        case.day = date(2001, 1, 1) + timedelta(days=random.randrange(1500))
        self._paragraph([random.choice(sentences.OPENING), random.choice(sentences.COUNSEL)], "PROCEDURE")
        self._paragraph([random.choice(sentences.GOVERNMENT), *random.sample(sentences.COURSE, random.randrange(1, 3))])
        case.day = date(1988, 1, 1) + timedelta(days=random.randrange(3000))
        self._paragraph([random.choice(sentences.PERSON)], "THE FACTS")
        facts = random.sample(sentences.FACTS, len(sentences.FACTS))
        rulings = random.sample(sentences.RULINGS, len(sentences.RULINGS))
        enough = random.randrange(600, 2150)
        while len(self._text) < enough:
            self._paragraph([*(facts.pop() for _ in range(random.randrange(1, 3))), *rulings[-1:]])
            rulings = rulings[:-1]
        self._paragraph(random.sample(sentences.CLAIMS, 2), "THE LAW")
        return Record(identity, text=self._text, group=identity, spans=tuple(self._spans))

    def _paragraph(self, chosen: Sequence[str], heading: str = "") -> None:
        self._paragraphs += 1
        self._text += ("\n\n" if self._text else "") + (f"{heading}\n" if heading else "") + f"{self._paragraphs}."
        for sentence in chosen:
            self._text += " "
            position = 0
            for slot in _SLOT.finditer(sentence):
                before, value, label = self._case.particular(*slot.groups())
                self._text += sentence[position : slot.start()] + before
                if label is not None:
                    self._spans.append(Span(len(self._text), len(self._text) + len(value), label))
                self._text += value
                position = slot.end()
            self._text += sentence[position:]


def _application(random: Random) -> str:
    return f"{random.randrange(10_000, 99_999)}/{random.choice(['98', '99', '00', '01', '02', '03', '04', '05'])}"


def _file_number(random: Random) -> str:
    register = random.choice(["II K", "4 C", "7 Cb", "12 T", "Ks", "IV U", "3 Nc"])
    return f"{register} {random.randrange(10, 999)}/{random.randrange(88, 99)}"


def _money(random: Random) -> str:
    amount = f"{random.randrange(4, 900) * 50:,}"
    return random.choice([f"EUR {amount}", f"{amount} euros"])
