"""Real Korean and English sentences with their annotated spans: the oracle leaks nothing, and nothing else changes."""

from __future__ import annotations

import json

import pytest

from sm_ops.pii import evaluate, mask, normalise_source, restore
from sm_ops.pii.known import KnownValues
from sm_ops.pii.text import normalise_value

TYPES = ("PHONE", "ADDRESS", "PERSON", "REL")
FILES = {
    "klue_ner_dev/klue_ner_open.jsonl": ("PS", "LC", "DT"),
    "presidio_synthetic/presidio_open.jsonl": None,
    "kiji_synthetic/kiji_open.jsonl": None,
}


@pytest.fixture(scope="module", params=FILES)
def data(request, shared):
    """Texts with their gold pairs; a type of ours stands for each of theirs, so that all kinds of matching are met."""
    wanted, documents = FILES[request.param], []
    path = shared / "data" / request.param
    if not path.exists():
        pytest.skip(f"{path} is not there")
    with open(path, encoding="utf-8", newline="") as lines:
        for record in map(json.loads, lines):
            pairs = [
                (TYPES[sum(map(ord, span["type"])) % len(TYPES)], record["text"][span["start"] : span["end"]])
                for span in record["spans"]
                if wanted is None or span["type"] in wanted
            ]
            pairs = [(type_, value) for type_, value in pairs if normalise_value(value) and "\n" not in value]
            documents.append((record["text"], [pair for pair in pairs if mask(record["text"], [pair]).spans]))
    return documents


def test_the_oracle_finds_every_pair_and_restores_every_text(data):
    records, predictions = [], []
    for number, (text, pairs) in enumerate(data):
        entities = [{"type": type_, "value": value} for type_, value in pairs]
        records.append({"id": str(number), "source_text": text, "entities": entities})
        rows = "\n".join(f"{type_}\t{value}" for type_, value in pairs)
        predictions.append({"id": str(number), "prediction": rows, "parse_success": True})
    oracle, empty = evaluate(records, predictions), evaluate(records, [])
    assert oracle["entity"]["f1"] == 1.0
    assert oracle["entities"]["hallucinated"] == oracle["entities"]["over_redaction_rate"] == 0
    assert oracle["entities"]["gold"] > 500
    assert oracle["entities"]["leak_rate"] < 0.01  # pairs that cross-overlap leave a rest (R27)
    assert oracle["tokenization"]["round_trip_rate"] == oracle["tokenization"]["deterministic_rate"] == 1.0
    assert empty["entities"]["leak_rate"] == 1.0
    assert empty["documents"]["leaked"] == sum(bool(pairs) for _, pairs in data)


def test_all_values_of_the_file_at_once_give_the_same_by_both_paths(data):
    """Every value of some hundred documents is known in each of them."""
    some = data[:300]
    pairs = list(dict.fromkeys(pair for _, pairs in some for pair in pairs))
    known = KnownValues(pairs)
    for text, own in some:
        got = known.mask(text)
        assert got == mask(text, pairs)
        assert restore(got.text, got.mapping) == normalise_source(text)
        assert bool(got.spans) >= bool(own)
