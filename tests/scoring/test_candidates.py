"""Which candidate fits a gap best: whole texts, plainly joined (spec section 15)."""

from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np
import pytest

from sm_ops.core.errors import InputError
from sm_ops.scoring.candidates import rank
from sm_ops.scoring.language_model import LanguageModel
from sm_ops.scoring.models.hf import HFModel

pytestmark = pytest.mark.unit

TOKENS = ["", "a", "b", "c", "d", "bc", " "]


class Pairs(LanguageModel):
    """The next token depends on the last one; texts are cut into the longest tokens; id 0 begins them."""

    end = None

    def __init__(self, context=64, prefix=(0,), seed=0, tokens=TOKENS):
        self.context, self.prefix, self.tokens = context, prefix, tokens
        self.table = np.log(np.random.default_rng(seed).dirichlet(np.ones(len(TOKENS)), len(TOKENS)))
        self.seen = []

    def encode(self, text):
        ids, offsets, place = [], [], 0
        while place < len(text):
            token = max((each for each in self.tokens[1:] if text.startswith(each, place)), key=len)
            ids.append(self.tokens.index(token))
            offsets.append((place, place + len(token)))
            place += len(token)
        self.seen.append(text)
        return ids, offsets

    def decode(self, ids):
        return "".join(self.tokens[i] for i in ids)

    def next_logprobs(self, contexts):
        assert all(0 < len(context) < self.context for context in contexts)
        return self.table[[context[-1] for context in contexts]]

    def total(self, text):
        ids = [*self.prefix, *self.encode(text)[0]]
        return sum(self.table[a, b] for a, b in pairwise(ids)), len(ids) - 1


def words(rng, count, longest=4):
    return list({"".join(rng.choice(list("abcd "), rng.integers(0, longest + 1))) for _ in range(count)})


@pytest.mark.parametrize("criterion", ["ppl", "prob"])
@pytest.mark.parametrize("prefix", [(0,), (), (2, 0)])
def test_scores_are_those_of_whole_texts_in_one_piece(criterion, prefix):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        model = Pairs(seed=seed, prefix=prefix)
        before, after = ("".join(rng.choice(list("abcd "), n)) for n in (3 + seed % 3, 3))
        candidates = words(rng, 60)
        expected = {each: model.total(before + each + after) for each in candidates}
        if len(prefix) == 2:  # what stands before the text is not counted
            expected = {each: (total - model.table[2, 0], n - 1) for each, (total, n) in expected.items()}
        score = {each: total / n if criterion == "ppl" else total for each, (total, n) in expected.items()}
        best = max(score.values())
        tied = sorted(each for each, value in score.items() if value > best - 1e-9)
        found = rank(model, before, candidates, after, criterion)
        assert (found.best, found.tied, found.slid) == (tied[0], tied, False)
        assert found.logprob == pytest.approx({each: total for each, (total, _) in expected.items()})
        assert found.perplexity == pytest.approx({each: math.exp(-t / n) for each, (t, n) in expected.items()})
        fewer = rank(model, before, candidates, after, criterion, complete=False)
        assert (fewer.best, fewer.tied) == (found.best, found.tied)
        assert fewer.logprob.items() <= found.logprob.items()


def test_hopeless_candidates_are_dropped_and_the_best_stays():
    model = Pairs()
    model.table = np.log(np.full((7, 7), 1e-9))
    model.table[:, 1] = model.table[:, 2] = np.log(0.5)
    candidates = ["".join(letters) for letters in product("abcd", repeat=4)]
    found = rank(model, " ", candidates, "", "prob", complete=False)
    assert found.best == "aaaa"
    assert len(found.logprob) < len(candidates) / 2


def test_a_candidate_that_may_still_win_is_not_dropped():
    model = Pairs()
    model.table = np.log(np.full((7, 7), 0.6))
    model.table[6, [1, 4]], model.table[4, 4] = np.log([0.5, 0.05]), np.log(0.9)
    others = ["a" + "".join(rest) for rest in product("ac", repeat=6)]  # -0.7 at once, -3.8 in all
    assert rank(model, " ", ["dd", *others], "", "prob", complete=False).best == "dd"  # -3.0 at once, -3.1 in all


def test_ties_go_to_the_smallest_string_and_are_told():
    model = Pairs()
    model.table = np.log(np.full((7, 7), 1 / 7))
    found = rank(model, "a", ["d", "c", " ", "bc", "dd"], "a", "prob")
    assert (found.best, found.tied) == (" ", [" ", "bc", "c", "d"])  # bc is one token; dd two
    assert rank(model, "a", ["d", "dd"], "a", "ppl").tied == ["d", "dd"]
    model.table[1, 3] += 2e-6  # less than float32 can tell
    assert rank(model, "a", ["d", "c"], "a").tied == ["c", "d"]
    model.table[1, 3] += 1e-3
    assert rank(model, "a", ["d", "c"], "a").tied == ["c"]


def test_tokens_across_a_joint_are_those_of_the_whole_text():
    model = Pairs()
    found = rank(model, "ab", ["c", "d"], "")
    assert found.logprob["c"] == pytest.approx(model.table[0, 1] + model.table[1, 5])
    assert found.logprob["d"] == pytest.approx(model.table[0, 1] + model.table[1, 2] + model.table[2, 4])


def test_no_candidate_and_nothing_scored():
    found = rank(Pairs(), "a", [], "b")
    assert (found.best, found.tied, found.perplexity, found.slid) == (None, [], {}, False)
    assert rank(Pairs(), "", ["a"], "").best == "a"
    with pytest.raises(InputError, match="no scored token"):
        rank(Pairs(prefix=()), "", ["a"], "")
    with pytest.raises(InputError, match="no scored token"):
        rank(Pairs(), "", [""], "")


def test_impossible_texts_have_no_probability():
    model = Pairs()
    model.table[1, 3] = -np.inf
    found = rank(model, "a", ["c", "d"], "")
    assert (found.tied, found.perplexity["c"]) == (["d"], math.inf)


@pytest.mark.parametrize(
    ("before", "after", "kept"),
    [
        ("a" * 40, "d" * 40, ("a" * 7, "d" * 8)),  # 20 positions: one before the text, four of the longest candidate
        ("a" * 40, "dd", ("a" * 13, "dd")),
        ("aa", "d" * 40, ("aa", "d" * 13)),
        ("a" * 9, "d" * 6, ("a" * 9, "d" * 6)),
        ("a" * 40, "", ("a" * 15, "")),
    ],
)
def test_a_slot_beyond_the_context_is_slid_into_view(before, after, kept):
    model = Pairs(context=20)
    candidates = ["c", "bca c"]
    model.seen.clear()
    found = rank(model, before, candidates, after)
    assert found.slid == ((before, after) != kept)
    texts = [kept[0] + each + kept[1] for each in candidates]
    assert set(texts) <= set(model.seen)  # both trimmed to the same characters
    for each, text in zip(candidates, texts, strict=True):
        assert found.logprob[each] == pytest.approx(model.total(text)[0])


def test_joints_with_more_tokens_than_their_parts_still_fit():
    model = Pairs(context=10, tokens=["", "a", "b", "c", "d", "ab", "bcd"])
    found = rank(model, "d" * 20 + "a", ["bcd", "c"], "")  # a, bcd is joined to ab, c, d
    assert found.slid
    assert found.logprob["bcd"] == pytest.approx(model.total("d" * 6 + "abcd")[0])


def test_cuts_that_split_tokens_still_fit():
    model = Pairs(context=20)
    for size in range(1, 60):
        found = rank(model, "bc" * size, ["d", "cd", "bcd"], "bc" * 30)
        assert found.slid
        assert len(found.logprob) == 3


def test_a_candidate_longer_than_the_context_is_refused():
    candidate = "a" * 20
    with pytest.raises(InputError, match="20 tokens, but the model's context has room for 19") as error:
        rank(Pairs(context=20), "d", ["c", candidate], "d")
    assert candidate not in str(error.value)
    assert rank(Pairs(context=20), "d" * 9, ["c", candidate[1:]], "d").slid


@pytest.mark.parametrize("budget", [None, 8])
def test_a_model_that_shares_its_cache_ranks_as_one_that_does_not(budget, reference):
    char = reference("char")
    tested, rng = HFModel(char._model, char.tokenizer, budget), np.random.default_rng(0)
    letters = list("abcdefghijklmnopqrstuvwxyz0123456789")
    drawn = ["".join(rng.choice(letters, rng.integers(1, 5))) for _ in range(40)]
    for prefix, suffix, count in [("thequick", "bro", 40), ("a" * 100, "bc" * 20, 3), ("", "x", 40), ("jumps", "", 40)]:
        candidates = drawn[:count]
        found = rank(tested, prefix, candidates, suffix)
        plain = rank(Plain(tested), prefix, candidates, suffix)
        assert (found.best, found.tied, found.slid) == (plain.best, plain.tied, plain.slid)
        assert found.slid == (len(prefix) == 100)
        for each, value in plain.perplexity.items():
            assert math.log(found.perplexity[each]) == pytest.approx(math.log(value), abs=4e-6)
        fewer = rank(tested, prefix, candidates, suffix, complete=False)
        assert (fewer.best, fewer.tied) == (found.best, found.tied)


class Plain(LanguageModel):
    """Next-token log probabilities alone, as a black box gives them."""

    def __init__(self, model):
        self.context, self.prefix, self.end = model.context, model.prefix, model.end
        self.encode, self.decode, self.next_logprobs = model.encode, model.decode, model.next_logprobs

    encode = decode = next_logprobs = None  # not abstract: taken from the model
