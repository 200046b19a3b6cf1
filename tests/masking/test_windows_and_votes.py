from __future__ import annotations

from types import SimpleNamespace

import brute_force
import numpy as np
import pytest

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record
from sm_ops.core.tokens import Scored
from sm_ops.masking.consensus import consensus, votes
from sm_ops.masking.corpus import Corpus
from sm_ops.masking.procedure import mask_reference
from sm_ops.masking.rules import global_
from sm_ops.masking.windows import FixedWindows

pytestmark = pytest.mark.unit


def window_scores(corpus: Corpus, n: int, aggregate: str = "mean") -> np.ndarray:
    return FixedWindows(corpus.bounds, n).scores(corpus, aggregate)


def one_record(logprobs: list[float], record: Record | None = None) -> Corpus:
    scored = [Scored("r", None, brute_force.tokens(len(logprobs)), np.array(logprobs))]
    return Corpus.from_scored(scored, [record] if record else None)


def test_corpus_numbers_groups_and_keeps_lonely_records_apart():
    groups = ["a", None, "b", "a", None]
    records = [Scored(str(i), g, brute_force.tokens(i), np.zeros(i)) for i, g in enumerate(groups)]
    corpus = Corpus.from_scored(records)
    assert corpus.bounds.tolist() == [0, 0, 1, 3, 6, 10]
    assert corpus.groups[0] == corpus.groups[3]
    assert len(set(corpus.groups.tolist())) == 4
    assert [len(own) for own in corpus.split(corpus.ids)] == [0, 1, 2, 3, 4]


def test_corpus_of_nothing():
    corpus = Corpus.from_scored([])
    assert len(corpus) == 0
    assert corpus.split(corpus.ids) == []
    assert len(window_scores(corpus, 4)) == 0


def test_window_scores_equal_exact_fractions():
    rng = np.random.default_rng(1)
    for _ in range(200):
        records = brute_force.random_records(rng)
        for record in records:
            record.logprobs[:] = record.logprobs * rng.random(len(record.logprobs)) * 3  # off the grid
        n = int(rng.integers(1, 6))
        expected = [
            np.nan if score is None else float(score)
            for record in records
            for score in brute_force.window_scores(record, n)
        ]
        np.testing.assert_array_equal(window_scores(Corpus.from_scored(records), n), np.array(expected))


def test_equal_windows_tie_wherever_they_stand():
    rng = np.random.default_rng(2)
    piece = -rng.random(4)
    noise = -rng.random((500, 7)) * 100
    scores = window_scores(one_record(np.column_stack([noise, np.tile(piece, (500, 1))]).ravel().tolist()), 4)
    assert len(set(scores[7::11].tolist())) == 1


def test_grid_rounds_half_to_even_and_keeps_positive_values():
    halves = [0.5 * 2**-20, 1.5 * 2**-20, -0.5 * 2**-20, -2.5 * 2**-20]
    assert window_scores(one_record(halves), 1).tolist() == [0, -(2 * 2**-20), 0, 2 * 2**-20]


def test_top_averages_the_three_most_surprising_of_a_window():
    corpus = one_record([-1.0, -8.0, -2.0, -4.0, -9.0])
    np.testing.assert_array_equal(window_scores(corpus, 4, "top"), [14 / 3, 7, np.nan, np.nan, np.nan])
    np.testing.assert_array_equal(window_scores(corpus, 2, "top")[:4], [4.5, 5, 3, 6.5])


def test_scores_that_are_no_nats_are_refused():
    with pytest.raises(InputError, match="nats"):
        window_scores(one_record([-1.0, -(2.0**21)]), 1)


def test_votes_count_the_windows_that_hold_a_position():
    assert votes(np.array([1, 1, 0, 0, 1, 0], bool), 2).tolist() == [1, 2, 1, 0, 1, 1]
    assert consensus(np.array([1, 1, 0, 0, 1, 0], bool), 2, 2).tolist() == [False, True, *[False] * 4]
    assert votes(np.zeros(0, bool), 3).tolist() == []


def test_global_rule_selects_ties_and_never_an_invalid_window():
    assert global_.select(np.array([1.0, 2.0, 3.0, np.nan]), tau=2.0).tolist() == [False, True, True, False]


def test_complete_procedure_equals_the_rules_word_by_word():
    rng = np.random.default_rng(3)
    masked = 0
    for _ in range(1200):
        pairs, rule = brute_force.random_pairs(rng), brute_force.random_rule(rng)
        scored, records = [own for own, _ in pairs], [record for _, record in pairs]
        corpus = Corpus.from_scored(scored, records)
        got = [own.tolist() for own in corpus.split(mask_reference(corpus, rule))]
        assert got == brute_force.mask(scored, rule, records), rule
        masked += sum(map(sum, got))
    assert masked > 1000


@pytest.mark.parametrize(
    "change", [{"k": 0}, {"k": 3}, {"windows": "lien"}, {"select": "globl"}, {"propagate": "grup"}, {"agg": "max"}]
)
def test_rules_that_cannot_be_applied_are_refused_in_words(change):
    rule = SimpleNamespace(
        windows="fixed", n=2, agg="mean", k=1, select="global", tau=1.0, propagate="group", prop_n=None
    )
    with pytest.raises(InputError) as refused:
        mask_reference(one_record([-1.0, -2.0], Record("r", text="ab")), SimpleNamespace(**{**vars(rule), **change}))
    assert str(next(iter(change.values()))) in refused.value.hint
