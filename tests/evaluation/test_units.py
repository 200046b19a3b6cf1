from __future__ import annotations

import numpy as np
import pytest

from sm_ops.evaluation.units import character_scores, characters, line_confusion

pytestmark = pytest.mark.unit


def test_characters_are_counted_once_however_many_tokens_cover_them():
    starts, ends = np.array([1, 1, 4, 3]), np.array([3, 2, 4, 3])
    assert characters(5, starts, ends).tolist() == [False, True, True, False, False]
    assert characters(2, np.zeros(0, int), np.zeros(0, int)).tolist() == [False, False]


def test_characters_score_by_their_largest_token():
    starts, ends, values = np.array([0, 1, 4]), np.array([2, 3, 4]), np.array([1.0, 3.0, 9.0])
    assert character_scores(5, starts, ends, values).tolist() == [1.0, 3.0, 3.0, -np.inf, -np.inf]


def test_lines_are_hit_by_one_character_of_their_content():
    # "aa\nbb\n\ncc\ndd": contents [0,2) [3,5) [7,9) [10,12); the masked newline at 2 hits nothing
    lines = np.array([[0, 2], [3, 5], [7, 9], [10, 12]])
    masked = np.array([[1, 2], [2, 3], [8, 11]])
    gold = np.array([[0, 1], [4, 5]])
    counts = line_confusion(lines, masked, gold)
    assert (counts.tp, counts.fp, counts.fn, counts.tn) == (1, 2, 1, 0)
    empty = line_confusion(lines[:0], masked, gold)
    assert (empty.tp, empty.fp, empty.fn, empty.tn) == (0, 0, 0, 0)
