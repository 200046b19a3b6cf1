"""What a token classifier's scores become: decoded spans, log-odds of every token, and their union."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from sm_ops.detectors.bioes import Decoder
from sm_ops.detectors.token_classifier import CERTAIN, TokenClassifier

pytestmark = pytest.mark.unit

LABELS = ["O", "B-name", "I-name", "E-name", "S-name", "B-key", "I-key", "E-key", "S-key"]


def tokenizer():
    """Each blank and each character is a token, where nothing was merged; a blank goes with what follows it."""
    found = Tokenizer(models.BPE(vocab={}, merges=[]))
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {character: number for number, character in enumerate(alphabet)} | {"Ġa": 256, "Ġb": 257}
    found.model = models.BPE(vocab=vocabulary, merges=[("Ġ", "a"), ("Ġ", "b")])
    found.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return found


class Scores:
    """Stands in for a model: logits row by row."""

    def __init__(self, rows):
        self.rows = np.log(np.array(rows, np.float64))

    def logits(self, texts):
        assert [len(ids) for ids in texts] == [len(self.rows)]
        return [self.rows]


def row(background, **own):
    """Probabilities of all labels: `S_key=0.2` and the like."""
    given = {name.replace("_", "-"): value for name, value in own.items()}
    rest = (1 - background - sum(given.values())) / (len(LABELS) - 1 - len(given))
    return [background, *(given.get(label, rest) for label in LABELS[1:])]


def detect(text, output, *rows, threshold=-math.inf):
    (found,) = TokenClassifier(tokenizer(), Scores(rows), Decoder(LABELS), output, threshold).detect([text])
    return [(text[each.start : each.end], each.label, pytest.approx(each.score)) for each in found]


def odds(background):
    return math.log((1 - background) / background)


def test_log_odds_are_of_every_category_against_the_background():
    found = detect("xy", "log_odds", row(0.25, S_key=0.5), row(0.9, B_name=0.06, I_name=0.02))
    assert found == [("x", "key", math.log(3)), ("y", "name", math.log(1 / 9))]


def test_blanks_between_tokens_have_the_lower_score_of_the_two():
    rows = [row(0.1, S_name=0.8), row(0.4, S_key=0.5), row(0.8, S_name=0.1)]
    found = detect("x a b", "log_odds", *rows)
    assert found == [
        ("x", "name", odds(0.1)), (" ", "key", odds(0.4)), ("a", "key", odds(0.4)),
        (" ", "name", odds(0.8)), ("b", "name", odds(0.8)),
    ]  # fmt: skip


def test_blanks_at_the_ends_of_a_text_are_in_no_span():
    assert [value for value, *_ in detect(" a ", "log_odds", row(0.5), row(0.5))] == ["a"]


def test_a_character_of_several_tokens_has_its_largest_score():
    found = detect("é", "log_odds", row(0.5), row(0.2))
    assert max(score.expected for _, _, score in found) == pytest.approx(math.log(4))
    assert {value for value, *_ in found} == {"é"}


def test_soft_holds_the_decoded_spans_at_whatever_threshold_beside_all_tokens():
    rows = [row(0.1, B_name=0.8), row(0.1, E_name=0.8), row(0.7, S_key=0.2)]
    decoded = detect("x ab", "decoded", row(0.1, B_name=0.8), row(0.1, E_name=0.8), row(0.7, S_key=0.2), threshold=0)
    assert decoded == [("x a", "name", pytest.approx(0.8, abs=0.05))]
    soft, tokens = detect("x ab", "soft", *rows), detect("x ab", "log_odds", *rows)
    assert sorted(soft, key=str) == sorted([*tokens, ("x a", "name", CERTAIN)], key=str)
    assert detect("x ab", "soft", *rows, threshold=CERTAIN) == [("x a", "name", CERTAIN)]
    assert [each[0] for each in detect("x ab", "log_odds", *rows, threshold=odds(0.5))] == ["x", " ", "a"]


def test_log_odds_stay_below_certainty():
    """As far apart as float32 can be."""
    scores = Scores([row(0.5)])
    scores.rows[0, 0] = -3e38
    ((found,),) = TokenClassifier(tokenizer(), scores, Decoder(LABELS), "log_odds", -math.inf).detect(["x"])
    assert 900 < found.score < CERTAIN
