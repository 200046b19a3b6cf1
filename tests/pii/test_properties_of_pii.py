"""Hostile random texts in both languages: equality with the rules word by word, and what must hold always (R23)."""

from __future__ import annotations

import random
import re
import unicodedata

import naive_pii
import pytest

from sm_ops.pii import accept, evaluate, mask, normalise_source, parse_rows, restore
from sm_ops.pii.known import KnownValues
from sm_ops.pii.matching import occurrences
from sm_ops.pii.text import normalise_value

QUICK, MANY = range(350), range(350, 20_000)


def check_places(seed):
    text, candidates = naive_pii.hostile(seed)
    source = normalise_source(text)
    for type_, value in candidates:
        value = normalise_value(value)
        assert occurrences(source, type_, value) == naive_pii.places(source, type_, value), seed


def check_masking(seed):
    """The plain path and the known values both do what the rules say, whatever the order of the candidates."""
    text, candidates = naive_pii.hostile(seed)
    expected = naive_pii.mask(text, candidates)
    assert tuple(mask(text, candidates)) == expected, seed
    assert tuple(KnownValues(candidates).mask(text)) == expected, seed
    random.Random(seed).shuffle(candidates)
    assert tuple(mask(text, candidates + candidates[:2])) == expected, seed


def check_what_holds(seed):
    text, candidates = naive_pii.hostile(seed, length=60)
    source, got = unicodedata.normalize("NFC", text), mask(text, candidates)
    assert restore(got.text, got.mapping) == source, seed
    assert restore(source, got.mapping) == source, seed
    assert mask(source, candidates) == got, seed
    assert KnownValues(candidates).mask(text) == got, seed
    ends = [0] + [end for _, end, _ in got.spans]
    assert all(start >= before and end > start for before, (start, end, _) in zip(ends, got.spans, strict=False)), seed
    assert all(got.mapping[token] == source[start:end] for start, end, token in got.spans), seed
    assert set(got.mapping) == {token for _, _, token in got.spans}, seed
    assert not any(token in source for token in got.mapping), seed
    assert len({(token.split("_")[0], spelling) for token, spelling in got.mapping.items()}) == len(got.mapping), seed
    for token in got.mapping:
        assert re.fullmatch(r"\[[A-Z]+_[1-9]\d*\]", token), seed
    absent = [("PERSON", "\U0001f9ff absent"), ("CARD", "98765432109876543210")]
    assert mask(text, candidates + absent) == got, seed


def check_rows_and_scores(seed):
    """Rows, acceptance, leaks and pairs of a prediction that holds the candidates among other text."""
    rng = random.Random(seed)
    text, candidates = naive_pii.hostile(seed)
    noise = ["<think>", "</think>", "\n", "\r", "\r\n", "\t", "\u2028", "REL\t", "per\u017fon\t", "words", "\ufeff"]
    lines = [f"{type_.lower() if rng.random() < 0.5 else type_}\t{value}" for type_, value in candidates]
    prediction = "\n".join(rng.choice([line, line, *rng.choices(noise, k=2)]) for line in lines * 2)
    rows = naive_pii.rows(prediction)
    assert parse_rows(prediction) == rows, seed
    source = naive_pii.nfc(text)
    found = [row for row in dict.fromkeys(rows) if naive_pii.places(source, *row)]
    assert accept(text, prediction) == found, seed
    gold = {(t, naive_pii.norm(v)) for t, v in candidates if naive_pii.places(source, t, naive_pii.norm(v))}
    flag = rng.random() < 0.8
    predicted = set(found) if flag else set()
    spans = naive_pii.mask(text, sorted(predicted))[2]
    leaking = sum(naive_pii.leaks(text, pair, spans) for pair in gold)
    entities = [{"type": type_, "value": value} for type_, value in sorted(gold)]
    got = evaluate(
        [{"id": "x", "source_text": text, "entities": entities}],
        [{"id": "x", "prediction": prediction, "parse_success": flag}],
    )
    assert got["entities"]["leaked"] == leaking, seed
    assert got["documents"]["leaked"] == (leaking > 0), seed
    assert got["entities"]["hallucinated"] == sum(row not in found for row in rows), seed
    assert got["entities"]["rows"] == len(rows), seed
    scores = [len(gold & predicted), len(predicted - gold), len(gold - predicted)]
    assert [got["entity"][key] for key in ("tp", "fp", "fn")] == scores, seed
    assert got["tokenization"] == {
        "deterministic": 1, "deterministic_rate": 1.0, "round_trip": 1, "round_trip_rate": 1.0,
    }  # fmt: skip


CHECKS = (check_places, check_masking, check_what_holds, check_rows_and_scores)


@pytest.mark.unit
@pytest.mark.parametrize("check", CHECKS, ids=lambda each: each.__name__)
def test_hostile_texts(check):
    for seed in QUICK:
        check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("check", CHECKS, ids=lambda each: each.__name__)
def test_very_many_hostile_texts(check):
    for seed in MANY:
        check(seed)


@pytest.mark.unit
def test_the_random_texts_reach_what_they_are_for():
    """Matches of every kind: literal, spaced, numeric, overlapping, several types at one place, markers passed over."""
    seen = set()
    for seed in QUICK:
        text, candidates = naive_pii.hostile(seed)
        got = mask(text, candidates)
        source = normalise_source(text)
        spelt = {spelling for _, spelling in candidates}
        for token, spelling in got.mapping.items():
            seen.add("literal" if spelling in spelt else "spaced" if token.startswith("[PERSON") else "numeric")
            seen.add("skipped" if token.replace("_2]", "_1]") in source else "fresh")
        seen.add("composed" if source != text else "plain")
        seen.add("empty" if not got.spans else "many" if len(got.spans) > 3 else "some")
    assert seen == {"literal", "spaced", "numeric", "skipped", "fresh", "composed", "plain", "empty", "many", "some"}
