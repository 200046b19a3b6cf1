from __future__ import annotations

import itertools
import sys
from collections import Counter, defaultdict
from fractions import Fraction
from math import log
from pathlib import Path

import numpy as np
import pytest

from sm_ops.core.errors import InputError
from sm_ops.core.records import Message, Record
from sm_ops.scoring.backends import ngram

pytestmark = pytest.mark.unit


def witten_bell(texts, repeat, order, vocab):
    """The same probabilities from dictionaries and fractions."""
    words = defaultdict(Counter)
    for text, times in zip(texts, repeat, strict=True):
        padded = [0] * (order - 1) + text
        for i in range(order - 1, len(padded)):
            for k in range(order):
                words[tuple(padded[i - k : i])][padded[i]] += times

    def p(history, word):
        lower = p(history[1:], word) if history else Fraction(1, vocab)
        seen = words.get(history)
        if not seen:
            return lower
        return (seen[word] + len(seen) * lower) / (sum(seen.values()) + len(seen))

    return p


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_probabilities_equal_fractions_and_sum_to_one(order):
    vocab = 5
    rng = np.random.default_rng(order)
    texts = [rng.integers(0, vocab, n).tolist() for n in (12, 0, 1, 9)]
    repeat = [1, 2, 3, 4]
    model = ngram.NGram.count([np.array(t, np.int64) for t in texts], order, vocab, repeat)
    p = witten_bell(texts, repeat, order, vocab)
    for history in itertools.product(range(vocab), repeat=order - 1):
        values = [model.logprobs([np.array([*history, w])])[-1] for w in range(vocab)]
        assert sum(np.exp(values)) == pytest.approx(1, abs=1e-12)
        assert values == pytest.approx([log(p(history, w)) for w in range(vocab)], abs=1e-12)
    first = [model.logprobs([np.array([w])])[0] for w in range(vocab)]
    assert first == pytest.approx([log(p((0,) * (order - 1), w)) for w in range(vocab)], abs=1e-12)


def test_texts_do_not_see_each_other():
    rng = np.random.default_rng(0)
    texts = [rng.integers(0, 9, n) for n in (20, 3, 0, 8)]
    model = ngram.NGram.count(texts, 3, 9)
    alone = np.concatenate([model.logprobs([text]) for text in texts])
    np.testing.assert_array_equal(model.logprobs(texts), alone)


def test_a_model_without_text_is_uniform():
    model = ngram.NGram.count([], 3, 8)
    assert model.logprobs([np.array([1, 2])]) == pytest.approx([-log(8)] * 2)
    with pytest.raises(InputError, match="too large"):
        ngram.NGram.count([], 7, 2048)


@pytest.fixture(scope="module")
def corpus():
    root = Path(sys.modules["json"].__file__).parent
    return [path.read_text() for path in sorted(root.glob("*.py"))]


def test_fit_load_score(corpus, tmp_path, settings):
    ngram.fit(corpus, tmp_path / "a", vocab_size=600)
    ngram.fit(corpus, tmp_path / "b", vocab_size=600)
    for name in ("tokenizer.json", "counts.npz", "ngram.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    reference = ngram.load(settings(tmp_path / "a"))
    value = "x7Qz-9KfLw"
    text = f"def decode(self, s):\n    return {value}\n"
    seen = []
    scored = reference.score(
        [Record("0", text=text, group="g"), Record("1", text="")], lambda *counts: seen.append(counts)
    )
    assert seen == [(2, 2)]
    tokens, logprobs = scored[0].tokens, scored[0].logprobs
    assert (scored[0].group, len(scored[1].tokens)) == ("g", 0)
    inside = (tokens.starts >= text.index(value)) & (tokens.ends <= text.index(value) + len(value))
    assert logprobs[inside].mean() < logprobs[~inside].mean() - 1
    assert (logprobs * 2**20 == np.rint(logprobs * 2**20)).all()


def test_repeated_texts_outweigh_others(corpus, tmp_path, settings):
    own = "zebra = quagga(okapi)\n"
    for name, repeat in (("once", None), ("often", [1] * len(corpus) + [20])):
        ngram.fit([*corpus, own], tmp_path / name, vocab_size=600, repeat=repeat)
    once, often = (
        ngram.load(settings(tmp_path / name)).score([Record("0", text=own)])[0].logprobs.mean()
        for name in ("once", "often")
    )
    assert often > once


def test_chats_are_their_contents(corpus, tmp_path, settings):
    ngram.fit(corpus, tmp_path, vocab_size=400)
    reference = ngram.load(settings(tmp_path))
    chat = Record("c", messages=(Message("user", "def a"), Message("assistant", "return b")))
    scored, plain = reference.score([chat, Record("t", text="def a\nreturn b")])
    np.testing.assert_array_equal(scored.logprobs, plain.logprobs)
    assert scored.tokens.supervised.tolist() == (scored.tokens.ends > 6).tolist()


def test_other_folders_are_refused(tmp_path, settings):
    with pytest.raises(InputError, match="no n-gram folder"):
        ngram.load(settings(tmp_path))
    ngram.fit(["a"], tmp_path, vocab_size=300)
    config = tmp_path / "ngram.json"
    config.write_text(config.read_text().replace("ngram/1", "ngram/9"))
    with pytest.raises(InputError, match="ngram/9"):
        ngram.load(settings(tmp_path))


def test_prompts_are_refused_in_words(tmp_path, settings):
    for changes in ({"prompt": "a"}, {"violating": "a"}):
        with pytest.raises(InputError, match="no use for a prompt"):
            ngram.load(settings(tmp_path, **changes))
