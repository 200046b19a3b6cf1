"""Decoding against hand-made scores and against a search through all sequences."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest

from sm_ops.core.errors import InputError
from sm_ops.detectors.bioes import Decoder

pytestmark = pytest.mark.unit

LABELS = ["O", *(f"{tag}-{category}" for category in ("person", "date") for tag in "BIES")]
STAY, START = "transition_bias_background_stay", "transition_bias_background_to_start"
CONTINUE, END = "transition_bias_inside_to_continue", "transition_bias_inside_to_end"
LEAVE, AGAIN = "transition_bias_end_to_background", "transition_bias_end_to_start"


def logits(*rows: dict[str, float]) -> np.ndarray:
    """A row per token; labels that are not named have 0."""
    return np.array([[row.get(label, 0.0) for label in LABELS] for row in rows])


def names(path: np.ndarray) -> list[str]:
    return [LABELS[number] for number in path]


def is_valid(sequence: tuple[str, ...]) -> bool:
    """Spelled out as sentences of the scheme: O, S, or B I* E of one category, in any order."""
    open_category = None
    for label in sequence:
        tag, category = label[0], label[2:]
        if open_category is None:
            if tag in "IE":
                return False
            open_category = category if tag == "B" else None
        elif tag not in "IE" or category != open_category:
            return False
        elif tag == "E":
            open_category = None
    return open_category is None


def bias_of(before: str, after: str) -> str:
    inside, following = before[0] in "BI", after[0]
    if inside:
        return END if following == "E" else CONTINUE
    if before == "O":
        return STAY if after == "O" else START
    return LEAVE if after == "O" else AGAIN


@pytest.mark.parametrize("seed", range(6))
def test_the_best_path_is_the_best_of_all_valid_sequences(seed):
    rng = np.random.default_rng(seed)
    biases = {name: float(rng.normal()) for name in (STAY, START, CONTINUE, END, LEAVE, AGAIN)} if seed % 2 else {}
    for length in (1, 2, 3, 4):
        scores = rng.normal(0, 2, (length, len(LABELS)))
        logp = scores - np.log(np.exp(scores).sum(1, keepdims=True))
        best = max(
            (s for s in product(range(len(LABELS)), repeat=length) if is_valid(tuple(LABELS[i] for i in s))),
            key=lambda s: (
                sum(logp[t, i] for t, i in enumerate(s))
                + sum(biases.get(bias_of(LABELS[a], LABELS[b]), 0.0) for a, b in pairwise(s))
            ),
        )
        assert Decoder(LABELS, biases).best_path(scores).tolist() == list(best)


@pytest.mark.parametrize("seed", range(3))
def test_any_scores_give_a_valid_sequence(seed):
    path = Decoder(LABELS).best_path(np.random.default_rng(seed).normal(0, 30, (200, len(LABELS))))
    assert is_valid(tuple(names(path)))


def test_a_plain_span():
    spans = Decoder(LABELS).spans(logits({"O": 9}, {"B-person": 9}, {"I-person": 9}, {"E-person": 9}, {"O": 9}))
    assert [span[:3] for span in spans] == [(1, 4, "person")]


def test_a_token_alone_and_two_spans_that_touch():
    spans = Decoder(LABELS).spans(logits({"S-date": 9}, {"B-person": 9}, {"E-person": 9}, {"S-person": 9}))
    assert [span[:3] for span in spans] == [(0, 1, "date"), (1, 3, "person"), (3, 4, "person")]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([{"I-person": 9, "O": 1}], ["O"]),  # no lone inside token
        ([{"B-person": 7}, {"O": 8}], ["O", "O"]),  # a beginning must end: 7 + 0 is less than 0 + 8
        ([{"B-person": 9}, {"O": 5, "E-person": 4}], ["B-person", "E-person"]),
        ([{"B-person": 9}, {"E-date": 5, "E-person": 4}], ["B-person", "E-person"]),  # of one category
        ([{"O": 3}, {"E-person": 9, "S-person": 8}], ["O", "S-person"]),
        ([{"B-date": 4, "B-person": 3}, {"I-person": 5}, {"E-person": 5}], ["B-person", "I-person", "E-person"]),
    ],
)  # fmt: skip
def test_greedy_nonsense_becomes_the_best_sense(rows, expected):
    assert names(Decoder(LABELS).best_path(logits(*rows))) == expected


def test_a_span_scores_the_mean_probability_of_its_category():
    row = {"B-person": np.log(5), "I-person": np.log(3)}  # 5 + 3 + 1 + 1 of 5 + 3 + 7 others of 1
    last = {"E-person": np.log(9)}  # 9 + 3 of 9 + 8
    (span,) = Decoder(LABELS).spans(logits(row, last))
    assert span[:3] == (0, 2, "person")
    assert span.score == pytest.approx((10 / 15 + 12 / 17) / 2)


def test_a_bias_decides_between_equals():
    rows = logits({"O": 1, "S-person": 1}, {"O": 1.5, "S-person": 1})
    assert names(Decoder(LABELS, {AGAIN: 5.0}).best_path(rows)) == ["S-person", "S-person"]
    assert names(Decoder(LABELS, {STAY: 5.0}).best_path(rows)) == ["O", "O"]
    assert names(Decoder(LABELS, {START: 5.0}).best_path(rows)) == ["O", "S-person"]
    assert names(Decoder(LABELS, {LEAVE: 5.0}).best_path(rows)) == ["S-person", "O"]


def test_nothing_has_no_span():
    assert Decoder(LABELS).spans(np.zeros((0, len(LABELS)))) == []


@pytest.mark.parametrize(
    "labels",
    [
        [],
        ["O"],
        ["LABEL_0", "LABEL_1"],
        ["O", "B-a", "I-a"],
        LABELS[1:],
        [*LABELS, "B-date"],
        ["O", "B-", "I-", "E-", "S-"],
    ],
)
def test_another_scheme_is_refused(labels):
    with pytest.raises(InputError, match="O and B-, I-, E-, S-"):
        Decoder(labels)


def test_an_unknown_bias_is_refused():
    with pytest.raises(InputError, match="no transition bias 'stay'"):
        Decoder(LABELS, {"stay": 1.0})
