"""Scrubbing replaces spans where they stand, and every further occurrence of their values, and nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from sm_ops.core.records import Message, Record, Span
from sm_ops.masking.scrubbing import MASK, places, scrub

pytestmark = pytest.mark.unit


def record(text: str, *values: tuple[str, int] | str, label: str = "PERSON") -> Record:
    """A text with spans at each value's n-th place (default the first)."""
    spans = []
    for each in values:
        value, number = (each, 0) if isinstance(each, str) else each
        start = -1
        for _ in range(number + 1):
            start = text.index(value, start + 1)
        spans.append(Span(start, start + len(value), label))
    return Record("r", text=text, spans=tuple(spans))


def scrubbed(given: Record, **settings) -> str:
    (got,), _ = scrub([given], **settings)
    return got.content


def test_the_first_match_pitfall():
    """The labelled place is the second `Ann`: the first is a part of another word, or a mention nobody labelled."""
    assert scrubbed(record("Annual fees of Ann", ("Ann", 1))) == f"Annual fees of {MASK}"
    assert scrubbed(record("Ann, then Ann", ("Ann", 1)), everywhere=False) == f"Ann, then {MASK}"


def test_every_further_occurrence_goes_too():
    given = record("Ann met Bob. Joanna and Annette saw Ann; ann, Ann's", "Ann")
    assert scrubbed(given) == f"{MASK} met Bob. Joanna and Annette saw {MASK}; ann, {MASK}'s"
    (_,), counts = scrub([given])
    assert counts == {"mentions": 1, "occurrences": 2, "masks": 3}
    (_,), counts = scrub([given], everywhere=False)
    assert counts == {"mentions": 1, "occurrences": 0, "masks": 1}


def test_blanks_and_signs_within_values():
    assert scrubbed(record("Ann  Bell\nor Ann\n Bell", "Ann  Bell")) == f"{MASK}\nor {MASK}"
    assert scrubbed(record("call +49 (30) or x+49 (30)5", "+49 (30)")) == f"call {MASK} or x{MASK}5"
    assert scrubbed(record("a.b axb a.b", "a.b")) == f"{MASK} axb {MASK}"


def test_overlapping_and_nested_spans_leave_one_mask():
    text = "in the Court of Human Rights of Strasbourg today"
    nested = record(text, "Court of Human Rights of Strasbourg", "Strasbourg", "Human Rights")
    assert scrubbed(nested) == f"in the {MASK} today"
    crossing = record(text, "Court of Human Rights", "Rights of Strasbourg")
    assert scrubbed(crossing) == f"in the {MASK} today"
    again = record("Ann Bell Tower, Ann Bell, Bell Tower", "Ann Bell", "Bell Tower")
    assert scrubbed(again) == f"{MASK}, {MASK}, {MASK}"
    assert scrubbed(record("x a a a a", "a a")) == f"x {MASK}"


def test_spans_of_other_labels_move_along():
    text = "Ann lives in Paris, Ann in Rome"
    spans = (Span(0, 3, "PERSON"), Span(13, 18, "LOC"), Span(27, 31, "LOC"))
    (got,), counts = scrub([Record("r", text=text, spans=spans)], labels={"PERSON"})
    assert got.content == f"{MASK} lives in Paris, {MASK} in Rome"
    assert [got.content[start:end] for start, end, _ in got.content_spans] == ["Paris", "Rome"]
    assert counts == {"mentions": 1, "occurrences": 1, "masks": 2}


def test_the_places_are_those_that_scrubbing_replaces():
    given = record("Ann Bell met Ann, Bell Tower and Ann", "Ann Bell", "Bell Tower", ("Ann", 1))
    assert places(given) == [(0, 8), (13, 16), (18, 28), (33, 36)]
    assert places(given, everywhere=False) == [(0, 8), (13, 16), (18, 28)]
    assert places(given, labels=()) == []


def test_chats_keep_their_messages():
    messages = (Message("user", "I am Ann"), Message("assistant", "Bell? Hello Ann Bell, Ann"))
    given = Record("r", messages=messages, spans=(Span(12, 20, "PERSON", 1), Span(5, 8, "PERSON", 0)))
    (got,), counts = scrub([given], "<>")
    assert [message.content for message in got.messages or ()] == ["I am <>", "Bell? Hello <>, <>"]
    assert (got.spans, counts) == ((), {"mentions": 2, "occurrences": 1, "masks": 3})


def test_records_without_spans_are_left_alone():
    given = [Record("a", text="nothing here"), Record("b", text="", group="g"), Record("c", text="x", spans=())]
    assert scrub(given) == (given, {"mentions": 0, "occurrences": 0, "masks": 0})


def test_what_is_left_is_what_no_value_covers():
    """Random texts of short words against a search character by character."""
    rng = np.random.default_rng(3)
    for _ in range(200):
        text = "".join(rng.choice(list("aab  -"), rng.integers(1, 25)))
        edges = np.sort(rng.integers(0, len(text) + 1, (int(rng.integers(0, 4)), 2)), axis=1).tolist()
        spans = [(start, end) for start, end in edges if start < end]
        hidden = {place for start, end in spans for place in range(start, end)}
        for value in {text[start:end].strip() for start, end in spans} - {""}:
            for start in range(len(text)):
                for end in range(start + 1, len(text) + 1):
                    inside = text[start:end]
                    if inside != inside.strip() or inside.split() != value.split():
                        continue
                    glued = (start and text[start - 1].isalnum() and value[0].isalnum()) or (
                        end < len(text) and text[end].isalnum() and value[-1].isalnum()
                    )
                    if not glued:
                        hidden |= set(range(start, end))
        given = Record("r", text=text, spans=tuple(Span(start, end, "X") for start, end in spans))
        expected = "".join(
            "#" * (place - 1 not in hidden) if place in hidden else character for place, character in enumerate(text)
        )
        assert scrubbed(given, placeholder="#") == expected
