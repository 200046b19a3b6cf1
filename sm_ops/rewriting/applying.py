"""What a condition makes of the texts: as they are, masked, with sentences rewritten, or rewritten as a whole."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from sm_ops.core.records import Record
from sm_ops.detectors.detector import Detector
from sm_ops.masking.redact import redact
from sm_ops.masking.spans import intervals as disjoint
from sm_ops.rewriting import prompts
from sm_ops.rewriting.asking import Call
from sm_ops.rewriting.benchmarks.reading import json_in
from sm_ops.rewriting.endpoint import Answer

Interval = tuple[int, int]
Ask = Callable[[Sequence[Call]], list[Answer]]
Goal = Callable[[Record], str]


@dataclass
class Made:
    """The texts of a condition, the answers that made them, and what went wrong on the way, counted."""

    texts: list[str]
    answers: list[Answer] = field(default_factory=list)
    unreadable: int = 0
    """Answers that were no list of spans: nothing was replaced by them."""
    misquoted: int = 0
    """Listed spans that do not stand in the text."""


def masked(records: Sequence[Record], intervals: Sequence[Sequence[Interval]]) -> Made:
    """Direct masking: the chosen intervals give way to a placeholder."""
    pairs = zip(records, intervals, strict=True)
    return Made([redact(Record(record.id, record.content), _in_order(own)).content for record, own in pairs])


def routed(records: Sequence[Record], intervals: Sequence[Sequence[Interval]], goal: Goal, ask: Ask) -> Made:
    """Each chosen sentence is sent, with its text as context, and its answer takes its place."""
    places = [(number, place) for number, own in enumerate(intervals) for place in own]
    calls = []
    for number, (start, end) in places:
        record, sentence = records[number], records[number].content[start:end]
        calls.append(Call(prompts.sentence(goal(record), record.content, sentence), (record.content, sentence)))
    answers = ask(calls)
    rewritten: dict[int, list[tuple[Interval, str]]] = {}
    for (number, place), answer in zip(places, answers, strict=True):
        rewritten.setdefault(number, []).append((place, answer.text.strip()))
    texts = [_replaced(record.content, rewritten.get(number, [])) for number, record in enumerate(records)]
    return Made(texts, answers)


def rewritten(records: Sequence[Record], style: str, goal: Goal, ask: Ask, regex: Callable[[], Detector]) -> Made:
    """Each whole text is sent once; `audit` sends what came back again, and masks what patterns still find."""
    calls = [Call(prompts.whole(style, goal(record), record.content), (record.content,)) for record in records]
    answers = ask(calls)
    if style == "exact_span":
        return _spans_replaced([record.content for record in records], answers, answers)
    texts = [answer.text.strip() for answer in answers]
    if style != "audit":
        return Made(texts, answers)
    again = ask(
        [Call(prompts.audit(goal(record), text), (text,)) for record, text in zip(records, texts, strict=True)]
    )
    audited = _spans_replaced(texts, again, [*answers, *again])
    found = regex().detect(audited.texts)
    left = [Record(record.id, text) for record, text in zip(records, audited.texts, strict=True)]
    audited.texts = masked(left, [[(span.start, span.end) for span in own] for own in found]).texts
    return audited


def _spans_replaced(texts: Sequence[str], lists: Sequence[Answer], answers: Sequence[Answer]) -> Made:
    """Every occurrence of each listed span is replaced, the longest of those that begin at one place."""
    made = Made([], list(answers))
    for text, answer in zip(texts, lists, strict=True):
        listed = json_in(answer.text, list)
        pairs = [_pair(each) for each in listed or ()]
        made.unreadable += listed is None or None in pairs
        replacements = dict(pair for pair in pairs if pair is not None and pair[0] in text)
        made.misquoted += sum(pair is not None and pair[0] not in text for pair in pairs)
        if replacements:
            pattern = "|".join(map(re.escape, sorted(replacements, key=len, reverse=True)))
            text = re.sub(pattern, lambda match, own=replacements: own[match[0]], text)
        made.texts.append(text)
    return made


def _pair(entry: object) -> tuple[str, str] | None:
    """A span and what takes its place, of an entry that names them."""
    if not isinstance(entry, dict):
        return None
    span, replacement = entry.get("span"), entry.get("replacement", "")
    return (span, replacement) if isinstance(span, str) and span and isinstance(replacement, str) else None


def _replaced(text: str, pieces: Sequence[tuple[Interval, str]]) -> str:
    parts, position = [], 0
    for (start, end), replacement in sorted(pieces):
        parts += [text[position:start], replacement]
        position = end
    return "".join([*parts, text[position:]])


def _in_order(own: Sequence[Interval]) -> list[Interval]:
    starts, ends = (np.array([place[side] for place in own], np.int64) for side in (0, 1))
    return disjoint(starts, ends)
