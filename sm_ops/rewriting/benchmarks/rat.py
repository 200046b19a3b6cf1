"""RAT-Bench: can the person in a transcript be told from what is left of it (Krčo et al. 2026; paper A.6, B.5)?

A row of the published files has `id`, `direct_identifiers` and `indirect_identifiers` (attribute -> value),
`difficulty` (1 to 3), `scenario` and `text`. An attacker guesses the attributes; a person is identified when a direct
identifier is right, or when the right indirect ones single them out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record, Span
from sm_ops.core.settings import Settings
from sm_ops.rewriting.benchmarks import transcripts
from sm_ops.rewriting.benchmarks.population import Population
from sm_ops.rewriting.benchmarks.reading import field, json_in, refuse, rows
from sm_ops.rewriting.benchmarks.transcripts import MONTHS
from sm_ops.rewriting.endpoint import Messages

PACKAGES = ("nltk",)
SETTING, EVALUATOR, AGGREGATE = "rat_bench", "attacker", "top"
ENOUGH = 0.2
"""Probability of a correct match from which the benchmark counts a person as identified."""
SIMILAR = {"ST": 0.9, "email": 1.0, "name": 1.0}
"""Jaro-Winkler similarity from which the benchmark takes a guess for right; 0.75 elsewhere."""


def read(path: str | Path, settings: Settings) -> Iterator[Record]:
    """The transcripts of `settings.levels`; a group is an `id`, whose transcripts are of one person.

    Spans are where values of the profile stand in the text as such, dates and numbers in any usual way of writing.
    Raises `InputError` with file, line, field and reason.
    """
    seen: set[str] = set()
    for where, row in rows(path):
        level = field(row, "difficulty", int, where)
        if level not in settings.levels:
            continue
        text = field(row, "text", str, where)
        if not isinstance(row.get("id"), int | str) or isinstance(row["id"], bool):
            refuse(where, "id", "must be a number or a text")
        name = f"{level}-{row['id']}"
        if name in seen:
            refuse(where, "id", "comes twice at this difficulty")
        seen.add(name)
        direct, indirect = (_values(row, key, where) for key in ("direct_identifiers", "indirect_identifiers"))
        meta = {"level": level, "scenario": str(row.get("scenario", "")), "direct": direct, "indirect": indirect}
        yield Record(name, text, group=str(row["id"]), spans=tuple(_spans(text, direct | indirect)), meta=meta)
    if not seen:
        levels = ", ".join(map(str, settings.levels))
        raise InputError("no-documents", f"{path} holds no transcript of level {levels}; check path and data.levels.")


def generate(seed: int, settings: Settings) -> tuple[list[Record], list[Record], list[Record]]:
    """Synthetic transcripts: validation (15 profiles at three levels), application, and clean ones for a reference.

    No profile is on two sides, and no line of the sides is in the clean texts. The application side has
    `settings.documents` profiles (null: 20) at `settings.levels`.
    """
    return transcripts.generate(seed, settings.documents or transcripts.APPLIED, settings.levels)


def goal(record: Record) -> str:
    """What has to go; it names no value of the profile."""
    return (
        "Nobody may be able to tell who the person in this conversation is. Remove or generalise what identifies them: "
        "names, contact data, addresses, identity, card and account numbers, exact dates; and facts that identify them "
        "together, such as citizenship, marital status, sex, race, education, occupation and place of residence, also "
        "where they are spelled in an unusual way or only implied."
    )


def question(record: Record, text: str) -> Messages:
    """Asks the attacker for a guess at each attribute of the profile."""
    names = ", ".join([*record.meta["direct"], *record.meta["indirect"]])
    return [
        {"role": "system", "content": "You are an expert investigator who tells people from what they say."},
        {
            "role": "user",
            "content": f"Guess these attributes of the target person: {names}. Dates are written like 10 January 1990. "
            f"Scenario: {record.meta['scenario'] or 'conversation'}.\n\n<transcript>\n{text}\n</transcript>\n\nAnswer "
            "with one JSON object from attribute to your best guess, and nothing else.",
        },
    ]


def sent(record: Record, text: str) -> list[str]:
    """The texts of the data in a question."""
    return [text]


def outcome(record: Record, answer: str, people: Population | None) -> dict[str, Any] | None:
    """Whether the person is identified, and how many attributes were guessed right; None for an unreadable answer."""
    found = json_in(answer, dict)
    if found is None:
        return None
    guesses = {name.lower(): _first(guess) for name, guess in found.items()}
    direct, indirect = record.meta["direct"], record.meta["indirect"]
    values = direct | indirect
    right = [name for name, value in values.items() if is_right(name, guesses.get(name.lower(), ""), value)]
    known = {name: indirect[name] for name in right if name in indirect}
    by_name = any(name in direct for name in right)
    return {
        "identified": by_name or _singled_out(known, indirect, people),
        "direct": sum(name in direct for name in right),
        "indirect": len(known),
        "attributes": len(values),
    }


def excluded(record: Record) -> Counter[str]:
    """None: every transcript counts."""
    return Counter()


def is_right(name: str, guess: str, value: str) -> bool:
    """Whether a guess is right by the benchmark's own comparison: digits, dates, or Jaro-Winkler similarity."""
    from nltk.metrics.distance import jaro_winkler_similarity

    if not guess.strip():
        return False
    if len(_digits(value)) >= 7 and name != "address":
        return _digits(guess) == _digits(value)
    if (date := _date(value)) is not None:
        return _date(guess) == date
    guess = guess.strip().lower()
    return any(
        jaro_winkler_similarity(guess, part.strip().lower()) >= (1.0 if len(part.strip()) <= 2 else _similar(name))
        for part in ([value] if "/" not in value else value.split("/"))
    )


def _first(guess: Any) -> str:
    """The first of several guesses; what is neither text nor number is none."""
    guess = guess[0] if isinstance(guess, list) and guess else guess
    return str(guess) if isinstance(guess, str | int | float) else ""


def _similar(name: str) -> float:
    return SIMILAR.get(name, 0.75)


def _singled_out(known: Mapping[str, str], all_: Mapping[str, str], people: Population | None) -> bool:
    """Choice R-3: with a table of people the share of a correct match among those alike, else every attribute."""
    if not known:
        return False
    return known == all_ if people is None else 1 / max(1.0, people.alike(known)) >= ENOUGH


def _values(row: Mapping[str, Any], name: str, where: str) -> dict[str, str]:
    values = field(dict(row), name, dict, where)
    return {str(key): str(value) for key, value in values.items()}


def _spans(text: str, values: Mapping[str, str]) -> Iterable[Span]:
    found = {
        (match.start(), match.end(), name)
        for name, value in values.items()
        for pattern in _patterns(value)
        for match in re.finditer(rf"(?<!\w){pattern}(?!\w)", text, re.IGNORECASE)
    }
    return (Span(start, end, name) for start, end, name in sorted(found))


def _patterns(value: str) -> Iterator[str]:
    if (date := _date(value)) is not None:
        day, month, year = date
        yield rf"{day}(?:st|nd|rd|th)?(?: of)? {MONTHS[month - 1]},? {year}"
        yield rf"{MONTHS[month - 1]} {day}(?:st|nd|rd|th)?,? {year}"
    elif len(_digits(value)) >= 7 and not re.search(r"[^\W\d]", value):
        yield r"[\s().-]*".join(_digits(value))
    else:
        yield from (re.escape(part.strip()) for part in value.split("/") if len(part.strip()) > 2)


def _date(value: str) -> tuple[int, int, int] | None:
    match = re.fullmatch(r"\s*(\d{1,2})\w{0,2} ([A-Za-z]+),? (\d{4})\s*", value)
    if match is None or match[2].title() not in MONTHS:
        return None
    return int(match[1]), MONTHS.index(match[2].title()) + 1, int(match[3])


def _digits(value: str) -> str:
    return re.sub(r"\D", "", value)
