from __future__ import annotations

import numpy as np
import pytest

from sm_ops.core.tokens import Scored, Tokens
from sm_ops.scoring.contrast import align

pytestmark = pytest.mark.unit


def scored(*rows):
    """Rows `(start, end, log probability)`, with a fourth entry where the token is special."""
    starts, ends = np.array([row[:2] for row in rows], np.int64).reshape(-1, 2).T
    special = np.array([len(row) > 3 for row in rows], bool)
    tokens = Tokens(np.arange(len(rows)), starts, ends, special, ~special)
    return Scored("r", "g", tokens, np.array([row[2] for row in rows], float))


def contrast(violating, compliant):
    return align(scored(*violating), scored(*compliant)).surprise.tolist()


def same(found, expected):
    np.testing.assert_array_equal(found, [np.nan if value is None else value for value in expected])


def test_equal_intervals_are_matched_by_their_running_number():
    violating, compliant = [(0, 1, -1), (0, 1, -2), (0, 1, -3)], [(0, 1, -4), (0, 1, -8)]
    same(contrast(violating, compliant), [3, 6, None])
    same(contrast(compliant, violating), [-3, -6])


def test_the_violating_pass_sets_order_and_tokens():
    result = align(scored((2, 4, -1), (0, 2, -2)), scored((0, 2, -5), (2, 3, -1), (2, 4, -9)))
    assert result.tokens.starts.tolist() == [2, 0]
    same(result.surprise, [8, 3])
    same(result.logprobs, [-9, -5])
    same(result.violating, [-1, -2])


def test_no_partner_or_no_score_on_either_side_is_missing():
    same(contrast([(0, 1, -1), (1, 3, -1)], [(0, 1, -2), (1, 2, -1), (2, 3, -1)]), [1, None])
    same(contrast([(0, 1, np.nan), (1, 2, -1)], [(0, 1, -1), (1, 2, np.nan)]), [None, None])
    same(contrast([], [(0, 1, -1)]), [])


def test_template_tokens_have_no_partner_and_count_for_none():
    # before the contents one pass has two template tokens and the other none; both stand at 0
    violating, compliant = [(0, 0, -9, True), (0, 0, -9, True), (0, 0, -1), (0, 1, -2)], [(0, 0, -4), (0, 1, -4)]
    same(contrast(violating, compliant), [None, None, 3, 2])
