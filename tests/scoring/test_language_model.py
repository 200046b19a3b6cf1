"""What every language model can do from its next-token log probabilities alone; a table stands in for the model."""

from __future__ import annotations

import numpy as np
import pytest

from sm_ops.scoring.language_model import LanguageModel, common_prefix, draw

pytestmark = pytest.mark.unit


class Table(LanguageModel):
    """The next id depends on the last one; texts are digits."""

    context, prefix, end = 64, (0,), 3

    def __init__(self, rows):
        self.rows, self.asked = np.log(np.maximum(rows, 1e-300)), []

    def encode(self, text):
        return [int(c) for c in text], [(i, i + 1) for i in range(len(text))]

    def decode(self, ids):
        return "".join(map(str, ids))

    def next_logprobs(self, contexts):
        assert all(contexts)
        self.asked += [tuple(context) for context in contexts]
        return self.rows[[context[-1] for context in contexts]]


@pytest.fixture
def table():
    return Table([[0.4, 0.3, 0.2, 0.1], [0.25, 0.25, 0.25, 0.25], [0.1, 0.4, 0.4, 0.1], [1.0, 0, 0, 0]])


def test_continuations_are_scored_id_by_id_and_equal_contexts_asked_once(table):
    found = table.continuation_logprobs([0], [[1, 2, 1], [1, 2, 2], [], [0]])
    assert [np.exp(own).round(12).tolist() for own in found] == [[0.3, 0.25, 0.4], [0.3, 0.25, 0.4], [], [0.4]]
    assert sorted(table.asked) == [(0,), (0, 1), (0, 1, 2)]


def test_inverse_transform_over_the_ids_in_their_order(table):
    chances = np.array([0.0, 0.399, 0.401, 0.699, 0.701, 0.9001, np.nextafter(1, 0)])
    assert draw(np.repeat(table.rows[:1], 7, axis=0), chances).tolist() == [0, 0, 1, 1, 2, 3, 3]


def test_top_k_keeps_what_ties_with_the_last():
    rows = np.log([[0.1, 0.2, 0.3, 0.4], [0.4, 0.2, 0.2, 0.2]])
    just = np.nextafter(1, 0)
    assert draw(rows[[0] * 4], np.array([0, 0.428, 0.429, just]), top_k=2).tolist() == [2, 2, 3, 3]
    assert draw(rows[[1] * 4], np.array([0.39, 0.41, 0.61, just]), top_k=2).tolist() == [0, 1, 2, 3]
    assert draw(rows[[0] * 2], np.array([0.05, just]), top_k=9).tolist() == [0, 3]
    falling = np.log([[0.4, 0.3, 0.2, 0.1]])
    assert draw(falling, np.array([just]), top_k=1).tolist() == [0]


def test_temperature_sharpens():
    rows = np.log([[0.2, 0.8]] * 2)  # squared: 1 to 16
    assert draw(rows, np.array([0.058, 0.06]), temperature=0.5).tolist() == [0, 1]


def test_an_end_token_ends_a_row_and_is_dropped(table):
    chances = np.array([[0.95, 0.5, 0.5], [0.5, 0.5, 0.99], [0.5, 0.99, 0.0]])
    assert table.sample([0], chances) == [[], [1, 2], [1]]
    assert table.sample([0], np.zeros((2, 0))) == [[], []]
    assert table.asked.count((0,)) == 1  # equal contexts are asked once
    table.end = None
    assert table.sample([0], chances) == [[3, 0, 1], [1, 2, 3], [1, 3, 0]]


def test_greedy_takes_the_smallest_of_tied(table):
    assert table.greedy([1], 3) == [0, 0, 0]
    assert table.greedy([2], 3) == [1, 0, 0]
    table.end = 1
    assert table.greedy([2], 3) == []


def test_what_rows_begin_with():
    assert common_prefix([[1, 2, 3], (1, 2), [1, 2, 4]]) == [1, 2]
    assert common_prefix([[2], [1]]) == common_prefix([[], [1]]) == common_prefix([]) == []
