"""Every backend of kind `reference` through the same cases; a new one adds a function to `MAKE`."""

from __future__ import annotations

import random
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from sm_ops.core import registry
from sm_ops.core.records import Message, Record
from sm_ops.scoring.scores import Source, read_scores, write_scores
from sm_ops.scoring.shards import score_in_shards

pytestmark = pytest.mark.unit

PROSE = "def add(a, b):\n    return a + b\n\nassistant user The name is 김가상, hello world.\n" * 3
CHATML = "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}"
RNG = random.Random(0)
TEXTS = ["", "a", "def add(a, b):", "é 김가상 😀", "a\r\nb\x00", "hello world. " * 30]
TEXTS += ["".join(RNG.choices(PROSE, k=RNG.randint(1, 60))) for _ in range(14)]
CHAT = Record("chat", messages=(Message("user", "name of a + b?"), Message("assistant", "return a")), group="g")
RECORDS = [*(Record(f"r{i}", text=text, group=f"g{i % 3}") for i, text in enumerate(TEXTS)), CHAT]


def settings(model, **changes):
    values = {"model": str(model), "revision": None, "dtype": "float32", "device": "cpu", "token_budget": 256,
              "prefix_token": None, "examples": (), "prompt": None, "violating": None, "threads": 1}  # fmt: skip
    return SimpleNamespace(**(values | changes))


def make_hf(folder: Path):
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.post_processor, tokenizer.decoder = processors.ByteLevel(), decoders.ByteLevel()
    control, alphabet = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"], pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(
        [PROSE], trainers.BpeTrainer(vocab_size=300, special_tokens=control, initial_alphabet=alphabet)
    )
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=control[0], eos_token=control[2])
    fast.chat_template = CHATML
    fast.save_pretrained(folder)
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=len(fast), n_positions=64, n_embd=16, n_layer=2, n_head=2)
    GPT2LMHeadModel(config).save_pretrained(folder)
    return folder


def make_ngram(folder: Path):
    from sm_ops.scoring.backends import ngram

    ngram.fit([PROSE], folder, order=3, vocab_size=300)
    return folder


def make_file(folder: Path):
    """What another backend said, kept in a file."""
    path = folder / "scores.parquet"
    scored = registry.load("reference", "ngram").load(settings(make_ngram(folder / "ngram"))).score(RECORDS)
    write_scores(path, scored, Source("elsewhere"))
    return path


MAKE = {"hf": make_hf, "ngram": make_ngram, "file": make_file}


def test_every_member_is_here():
    assert MAKE.keys() == registry.members("reference").keys()


@pytest.fixture(scope="module", params=sorted(MAKE))
def reference(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    return registry.load("reference", request.param).load(settings(MAKE[request.param](folder)))


@pytest.fixture(scope="module")
def scored(reference):
    return reference.score(RECORDS)


def as_bytes(scored):
    return {s.id: (s.group, s.tokens.ids.tobytes(), s.tokens.starts.tobytes(), s.logprobs.tobytes()) for s in scored}


def test_scores_stand_in_the_records_order_with_their_id_and_group(scored):
    assert [(s.id, s.group) for s in scored] == [(r.id, r.group) for r in RECORDS]


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_records_changes_no_byte(reference, scored, seed):
    shuffled = random.Random(seed).sample(RECORDS, len(RECORDS))
    found = reference.score(shuffled)
    assert [s.id for s in found] == [r.id for r in shuffled]
    assert as_bytes(found) == as_bytes(scored)


@pytest.mark.parametrize("shard_tokens", [1, 500, 10**9])
def test_shards_change_no_byte(reference, scored, shard_tokens, tmp_path):
    for _ in range(2):  # computed, and found
        assert as_bytes(score_in_shards(reference, RECORDS, tmp_path, shard_tokens=shard_tokens)) == as_bytes(scored)


def test_arrays_have_one_length_and_one_kind(scored):
    for s in scored:
        arrays = (s.tokens.ids, s.tokens.starts, s.tokens.ends, s.tokens.special, s.tokens.supervised, s.logprobs)
        assert {len(a) for a in arrays} == {len(s.tokens)}
        assert [a.dtype for a in arrays] == [np.int64] * 3 + [bool] * 2 + [np.float64]


def test_an_empty_text_has_no_token(scored):
    assert len(scored[0].tokens) == 0


def test_values_are_on_the_grid_and_log_probabilities(scored):
    for s in scored:
        values = s.logprobs[~np.isnan(s.logprobs)]
        assert (values * 2**20 == np.rint(values * 2**20)).all()
        assert (values < 1e-6).all()
        assert np.isfinite(values).all()


def test_no_token_has_a_score_of_zero_for_want_of_one(scored):
    """Missing is NaN: special tokens always, a first token where nothing stands before it, and no other."""
    for s in scored:
        assert np.isnan(s.logprobs[s.tokens.special]).all()
        own = s.logprobs[~s.tokens.special]
        assert not np.isnan(own[1:]).any()
        assert not (own[:1] == 0).any()


def test_the_first_tokens_policy_is_recorded_and_kept(reference, scored):
    prefix = reference.source.prefix
    if prefix:  # a file of somebody else's may not say
        first = [s.logprobs[0] for s in scored if len(s.tokens) and not s.tokens.special[0]]
        assert np.isnan(first).all() == (prefix == "none")


def test_offsets_are_code_points_of_the_stored_text_and_cover_it(scored):
    for s, record in zip(scored, RECORDS, strict=True):
        starts, ends, own = s.tokens.starts, s.tokens.ends, ~s.tokens.special
        assert (starts >= 0).all()
        assert (ends <= len(record.content)).all()
        assert (starts[own] < ends[own]).all()
        assert (starts[~own] == ends[~own]).all()
        covered = {p for a, b in zip(starts[own], ends[own], strict=True) for p in range(a, b)}
        assert all(p in covered or record.content[p].isspace() for p in range(len(record.content)))


def test_a_text_is_supervised_whole_and_a_chat_in_the_assistants_words(scored):
    assert all(s.tokens.supervised.all() for s in scored[:-1])
    tokens, start = scored[-1].tokens, CHAT.message_starts[1]
    inside = (tokens.ends > start) & ~tokens.special
    assert inside.any()
    assert tokens.eligible.tolist() == inside.tolist()
    assert not np.isnan(scored[-1].logprobs[tokens.eligible]).any()


def test_an_unprompted_reference_says_surprise(scored):
    for s in scored:
        assert s.violating is None
        np.testing.assert_array_equal(s.surprise, -s.logprobs)


def test_the_source_is_known_and_survives_a_file(reference, scored, tmp_path):
    assert reference.source.reference
    write_scores(tmp_path / "s.parquet", scored, reference.source)
    found, source = read_scores(tmp_path / "s.parquet")
    assert source == reference.source
    assert as_bytes(found) == as_bytes(scored)


def test_progress_ends_with_all_records(reference):
    seen = []
    reference.score(RECORDS, lambda done, total: seen.append((done, total)))
    assert seen[-1] == (len(RECORDS), len(RECORDS))
    assert seen == sorted(seen)


def test_nothing_to_score(reference):
    assert reference.score([]) == []
