"""No byte of a score depends on the order of records, shards, workers or an interruption; batch sizes agree closely."""

from __future__ import annotations

import pickle
import random
import shutil

import numpy as np
import pytest
import torch
from driving import ROOT

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record
from sm_ops.scoring.backends import hf
from sm_ops.scoring.shards import score_in_shards

MODELS = ("char", "bpe", "built")
WORDS = ["def", "add", "a", "b", "return", "name", *"0123", "x7Qz", "=", "(", ")", ":", ".", ",", "é", "김", "😀"]


@pytest.fixture(scope="module")
def built(chat_tokenizer, tmp_path_factory):
    """A two-layer Llama with rotary positions and grouped queries, whose float32 sums are not exact."""
    from transformers import LlamaConfig, LlamaForCausalLM

    folder = tmp_path_factory.mktemp("built")
    tokenizer = chat_tokenizer(None)
    torch.manual_seed(0)
    config = LlamaConfig(vocab_size=len(tokenizer), hidden_size=48, intermediate_size=96, num_hidden_layers=2,
                         num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=96)  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module", params=MODELS)
def load(request, built, settings):
    """`load(**changes)`: a reference with few tokens to a batch, unprompted unless told otherwise."""
    published = ROOT.parent / "shared" / "cases" / "masking" / "models"
    model = built if request.param == "built" else published / request.param
    if not model.is_dir():
        pytest.skip("../shared/cases/masking/models is not here")
    return lambda **changes: hf.load(settings(model, **{"token_budget": 300, **changes}))


@pytest.fixture(scope="module")
def records():
    rng = random.Random(7)
    lengths = [0, 0, 1, 1, *(rng.randint(1, 40) for _ in range(50)), 90, 200]
    texts = [" ".join(rng.choices(WORDS, k=n)) for n in lengths]
    return [Record(f"r{i}", text=text, group="g") for i, text in enumerate([*texts, *texts[10:14]])]


def as_bytes(scored):
    """All that a score file holds, by id."""
    return {
        s.id: (
            s.group, s.tokens.ids.tobytes(), s.tokens.starts.tobytes(), s.logprobs.tobytes(),
            None if s.violating is None else s.violating.tobytes(),
        )
        for s in scored
    }  # fmt: skip


CONTRAST = {"prompt": "+ a", "violating": "~ a b"}


@pytest.mark.unit
@pytest.mark.parametrize("prompts", [{}, CONTRAST], ids=["plain", "contrast"])
def test_order_shards_and_interruptions_change_no_byte(load, records, tmp_path, monkeypatch, prompts):
    reference = load(**prompts)
    expected = as_bytes(reference.score(records))
    total = sum(batch.scores for batch in reference.plan(records).batches)
    for count in (1, 2, 5):
        shuffled = random.Random(count).sample(records, len(records))
        folder = tmp_path / str(count)
        scored = score_in_shards(load(**prompts), shuffled, folder, shard_tokens=total // count + 1 - (count > 1))
        assert [s.id for s in scored] == [r.id for r in shuffled]
        assert as_bytes(scored) == expected
        assert abs(len(list(folder.glob("*.npz"))) - count) <= (count == 5)

    interrupted, run, left = load(**prompts), reference.run, [7]

    def run_seven(batch):
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return run(batch)

    monkeypatch.setattr(interrupted, "run", run_seven)
    with pytest.raises(KeyboardInterrupt):
        score_in_shards(interrupted, records, tmp_path / "killed", shard_tokens=100)
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "killed").glob("*.npz")}
    assert kept
    assert as_bytes(score_in_shards(load(**prompts), records, tmp_path / "killed", shard_tokens=100)) == expected
    assert all(path.stat().st_mtime_ns == when for path, when in kept.items())


@pytest.mark.parametrize(
    "load", ["built", *(pytest.param(name, marks=pytest.mark.slow) for name in MODELS[:2])], indirect=True
)
def test_workers_change_no_byte(load, records, tmp_path):
    expected = as_bytes(load(**CONTRAST).score(records))
    shuffled = random.Random(0).sample(records, len(records))
    reference = load(**CONTRAST)
    assert as_bytes(score_in_shards(reference, shuffled, tmp_path, workers=2, shard_tokens=400)) == expected
    assert "_model" not in vars(reference)  # the parent only plans


@pytest.mark.unit
def test_a_worker_on_another_machine_wants_the_same_model(built, settings, tmp_path):
    folder = shutil.copytree(built, tmp_path / "model")
    planned = pickle.dumps(hf.load(settings(folder)))
    pickle.loads(planned).settle(None)
    (folder / "generation_config.json").write_text("{}")
    with pytest.raises(InputError, match="holds another model"):
        pickle.loads(planned).settle(None)


@pytest.mark.unit
def test_equal_texts_have_equal_scores(load, records):
    by_text = {}
    for record, (*_, logprobs, _) in zip(records, as_bytes(load().score(records)).values(), strict=True):
        assert by_text.setdefault(record.text, logprobs) == logprobs


@pytest.mark.unit
@pytest.mark.parametrize("budget", [1, 64, 1000, 100_000])
def test_other_batch_sizes_agree(load, records, budget):
    for a, b in zip(load(**CONTRAST).score(records), load(token_budget=budget, **CONTRAST).score(records), strict=True):
        np.testing.assert_allclose(a.logprobs, b.logprobs, rtol=0, atol=4e-6)
        np.testing.assert_allclose(a.violating, b.violating, rtol=0, atol=4e-6)
