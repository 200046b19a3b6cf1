from __future__ import annotations

import brute_force
import numpy as np
import pytest

from sm_ops.core.records import Message, Record, Span
from sm_ops.masking.labels import labels
from sm_ops.masking.procedure import mask_downstream
from sm_ops.masking.projection import largest_overlap, overlap
from sm_ops.masking.targets import target_tokens

pytestmark = pytest.mark.unit


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize("shuffled", [False, True])
def test_overlap_and_largest_overlap_equal_sets_of_characters(shuffled):
    rng = np.random.default_rng(7)
    for _ in range(400):
        own, other = (brute_force.random_offsets(rng, int(rng.integers(0, 12))) for _ in range(2))
        if shuffled:
            own, other = rng.permutation(own), rng.permutation(other)
        assert overlap(*own.T, *other.T).tolist() == brute_force.overlap(own, other)
        values = rng.integers(0, 5, len(other)).astype(float)
        largest = largest_overlap(*own.T, *other.T, values)
        for value in range(5):
            expected = brute_force.overlap(own, other[values >= value])
            assert (largest >= value).tolist() == expected


def test_downstream_mask_is_cut_to_eligible_tokens():
    reference = brute_force.tokens(3, [[0, 2], [2, 4], [4, 6]])
    downstream = brute_force.tokens(4, [[0, 3], [3, 4], [4, 5], [3, 3]], supervised=[1, 0, 1, 1], special=[0, 0, 0, 0])
    assert mask_downstream(reference, np.array([0, 1, 0], bool), downstream).tolist() == [True, False, False, False]


def test_targets_share_a_character_with_a_span_of_their_message():
    chat = Record(
        "r",
        messages=(Message("user", "ab"), Message("assistant", "cdef")),
        spans=(Span(1, 3, "x", message=1),),
    )
    # content "ab\ncdef": the span is [4, 6)
    own = brute_force.tokens(5, [[0, 0], [0, 3], [3, 5], [5, 6], [6, 7]], special=[1, 0, 0, 0, 0])
    assert target_tokens(chat, own).tolist() == [False, False, True, True, False]
    assert not target_tokens(Record("s", text="ab\ncdef"), own).any()


def test_labels_ignore_what_is_masked_or_unsupervised():
    ids = np.array([5, 6, 7, 8])
    learned = labels(ids, np.array([0, 1, 1, 1], bool), np.array([0, 0, 1, 0], bool))
    assert learned.tolist() == [-100, 6, -100, 8]
    assert learned.dtype == np.int64
