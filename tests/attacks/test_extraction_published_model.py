"""Extraction and extractability on the published model of order 1: sampled figures against exact ones."""

from __future__ import annotations

import string
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from cases.small_models import PatternTagger

from sm_ops.attacks import exact
from sm_ops.attacks.material import Material
from sm_ops.attacks.members import extractability, extraction
from sm_ops.core.records import Record, Span
from sm_ops.core.seeds import derive

LENGTH, TOP_K, SAMPLES = 7, 4, 200
"""With the four likeliest and what ties with them, seven tokens stay short of the two that change the model's rows."""

LETTERS = string.ascii_lowercase[5:]
"""None of them is drawn right behind BOS or the control token after it, which has no text."""

VALUES = ["f", "k", "p", "gh", "hj"]


def closed_form(token: int, after: int) -> Fraction:
    distance = (after - token - 1) % 64
    bits = next(bits for most, bits in ((0, 1), (2, 3), (6, 5), (14, 7), (29, 9), (63, 10)) if distance <= most)
    return Fraction(1, 2**bits)


@pytest.fixture(scope="module")
def char(shared):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from sm_ops.scoring.models.hf import HFModel

    folder = shared / "cases" / "masking" / "models" / "char"
    return HFModel(AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder))


@pytest.fixture(scope="module")
def chain(char):
    """The same model in rationals; its ids are the tokens."""
    rows = {(str(token),): {str(after): closed_form(token, after) for after in range(64)} for token in range(64)}
    return exact.MarkovModel(start=rows[(str(char.prefix[0]),)], table=rows)


def named(char, text):
    return [str(i) for i in char.encode(text)[0]]


@pytest.fixture(scope="module")
def material():
    text = " ".join(VALUES)
    spans = []
    for value in VALUES:
        start = f" {text} ".index(f" {value} ")
        spans.append(Span(start, start + len(value), "PERSON"))
    return Material([Record("r", text=text, spans=tuple(spans))], tagger=PatternTagger(PERSON="[f-z]"))


def settings(**changes):
    values = {"tokens": LENGTH * SAMPLES, "length": LENGTH, "top_k": TOP_K, "batch_size": 200, "min_chars": 0}
    return SimpleNamespace(**{**values, "points": 1, "targets": 50, **changes})


def sampler(chain):
    """The model as it is drawn from: each row cut to its likeliest."""
    return exact.MarkovModel(
        exact.among_top(chain.start, TOP_K), {key: exact.among_top(row, TOP_K) for key, row in chain.table.items()}
    )


def test_lazy_and_observed_agree_with_the_exact_quantities(char, chain, material):
    found = extractability.run(char, material, settings(), 0)
    by_name = {row["fingerprint"]: row for row in found}
    slots = [named(char, letter)[0] for letter in LETTERS]
    drawn = sampler(chain)
    for value in VALUES:
        row, target = by_name[material.fingerprint("PERSON", value)], named(char, value)
        exactly = exact.lazy(chain, target, slots, LENGTH, TOP_K)
        assert exactly is not None
        assert abs(row["lazy"] - float(exactly)) <= 5 * (row["lazy_high"] - row["lazy_low"]) / 3.92
        if len(value) == 1:  # the tagger finds single letters
            chance = float(exact.chance_of_occurrence(drawn, target, LENGTH))
            assert abs(row["hits"] - SAMPLES * chance) <= 5 * np.sqrt(SAMPLES * chance * (1 - chance))


def test_the_lazy_estimate_of_the_drawn_texts_is_exact(char, chain, material):
    chances = np.random.default_rng(derive(0, "extractability", "samples")).random((40, LENGTH))
    texts = [[str(i) for i in ids] for ids in char.sample(char.prefix, chances, top_k=TOP_K)]
    slots = [named(char, letter)[0] for letter in LETTERS]
    found = extractability.run(char, material, settings(tokens=LENGTH * 40), 0)
    by_name = {row["fingerprint"]: row for row in found}
    for value in VALUES:
        exactly = exact.lazy_of_samples(chain, named(char, value), slots, texts)
        assert exactly is not None
        assert by_name[material.fingerprint("PERSON", value)]["lazy"] == pytest.approx(float(exactly), rel=1e-5)


def test_strings_are_extracted_as_often_as_the_exact_chance_says(char, chain, material):
    _, *rows = extraction.run(char, material, settings(), 1)
    counts = {row["fingerprint"]: row["counts"][-1] for row in rows}
    drawn = sampler(chain)
    for letter in LETTERS:
        expected = SAMPLES * float(exact.expected_occurrences(drawn, named(char, letter), LENGTH))
        assert abs(counts.get(material.fingerprint("PERSON", letter), 0) - expected) <= 5 * np.sqrt(expected)
