"""Levels of the surprise scorer: what the complete procedure masks at each threshold, streamed."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from sm_ops.core.records import Record
from sm_ops.core.settings import Settings
from sm_ops.core.tokens import Scored, Tokens
from sm_ops.masking.corpus import Corpus
from sm_ops.masking.procedure import mask_reference
from sm_ops.sanitizing.profiles import Profile
from sm_ops.sanitizing.rules import rule_of
from sm_ops.sanitizing.scorers import surprise

pytestmark = pytest.mark.unit


class Letters:
    """A token a letter; a letter is as surprising as its place in the alphabet says."""

    def __init__(self):
        self.calls = 0

    def score(self, records):
        self.calls += 1
        return [self._scored(record) for record in records]

    def _scored(self, record):
        ids = np.array([ord(letter) for letter in record.text], np.int64)
        places = np.arange(len(ids))
        tokens = Tokens(ids, places, places + 1, np.zeros(len(ids), bool), np.ones(len(ids), bool))
        return Scored(record.id, record.group, tokens, -(ids - 96.0))


def rows_of(texts, corpus="creddata", groups=None, **rule):
    records = [Record(str(n), text=text, group=(groups or {}).get(n)) for n, text in enumerate(texts)]
    settings = Settings({"rule": rule_of(rule, corpus)})
    return records, list(surprise.rows(iter(records), Letters(), settings))


def plain(row):
    return list(zip(row.starts.tolist(), row.ends.tolist(), row.levels.tolist(), strict=True))


def test_a_letter_has_the_mean_of_its_best_window_and_equal_neighbours_are_one_interval():
    _, (row,) = rows_of(["abcz"], n=2)
    # windows ab 1.5, bc 2.5, cz 14.5
    assert plain(row) == [(0, 1, 1.5), (1, 2, 2.5), (2, 4, 14.5)]


def test_lines_are_masked_whole_with_the_score_of_their_window():
    _, (row,) = rows_of(["ac\n\nzz"], corpus="dead_code")
    assert [(start, end) for start, end, _ in plain(row)] == [(0, 2), (4, 6)]
    assert [level for *_, level in plain(row)] == [2.0, 26.0]


def test_a_text_shorter_than_the_window_has_no_level():
    _, rows = rows_of(["abc", "abcd"], n=4)
    assert [len(row.levels) for row in rows] == [0, 1]


@pytest.mark.parametrize(
    ("corpus", "rule"),
    [
        ("creddata", {}),
        ("creddata", {"n": 3, "k": 2}),
        ("code_pii", {"n": 2, "k": 2}),
        ("code_quirks", {"radius": 3}),
        ("creddata", {"n": 2, "propagate": "record"}),
        ("creddata", {"n": 2, "propagate": "corpus"}),
    ],
)
def test_a_threshold_on_levels_masks_what_the_procedure_masks(corpus, rule, monkeypatch):
    monkeypatch.setattr(surprise, "CHARACTERS", 20)  # several parts, unless the rule looks across records
    draw = Random(0)
    texts = ["".join(draw.choice("abcdefg") for _ in range(draw.randrange(1, 30))) for _ in range(12)]
    groups = {n: f"group {n % 3}" for n in range(12)}
    records, rows = rows_of(texts, corpus, groups, **rule)
    for tau in sorted({float(level) for row in rows for level in row.levels}):
        settings = {**rule_of(rule, corpus), "tau": tau, "r_max": np.nextafter(-tau, np.inf)}
        whole = Corpus.from_scored(Letters().score(records), records)
        masks = whole.split(mask_reference(whole, Settings(settings)))
        for record, row, mask in zip(records, rows, masks, strict=True):
            profile = Profile.of(len(record.content), row.starts, row.ends, row.levels)
            found = np.zeros(len(record.content), bool)
            for start, end in profile.masked(tau):
                found[start:end] = True
            assert found.tolist() == mask.tolist()


def test_records_are_taken_some_at_a_time_and_the_cut_changes_nothing(monkeypatch):
    texts = [f"{'abz' * n}q" for n in range(1, 9)]
    _, together = rows_of(texts)
    monkeypatch.setattr(surprise, "CHARACTERS", 20)
    reference, taken = Letters(), []

    def records():
        for n, text in enumerate(texts):
            taken.append(n)
            yield Record(str(n), text=text)

    found = surprise.rows(records(), reference, Settings({"rule": rule_of({}, "creddata")}))
    first = next(found)
    assert len(taken) < len(texts)
    assert [plain(row) for row in [first, *found]] == [plain(row) for row in together]
    assert reference.calls > 1
