"""The stage `train`: what its numbers say of each intervention, of cut records and of what teaches nothing."""

from __future__ import annotations

from pathlib import Path
from tempfile import mkdtemp
from types import SimpleNamespace

import numpy as np
import pytest

from sm_ops.core.config import Lora, Train
from sm_ops.core.errors import InputError
from sm_ops.core.settings import Settings
from sm_ops.core.stage import Context
from sm_ops.steps import train
from sm_ops.training import masked, models, tiny
from sm_ops.training.masked import Example
from sm_ops.training.packing import IGNORED

SUPERVISED = [9, 9, 4, 9, 9, 9]  # how many tokens of each record, at its end
MASKED = [0, 3, 4, 0, 2, 0]


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    folder = tmp_path_factory.mktemp("base")
    tokenizer = tiny.train_tokenizer(["x = 1\n"], 300, folder)
    model = tiny.new_model(SimpleNamespace(layers=1, width=16, heads=2), len(tokenizer), 32, end=0, seed=0)
    models.save(model, folder)
    return folder


@pytest.fixture
def run(base, tmp_path):
    """`run(**train)`: the stage's numbers on six records of ten tokens."""

    def make(supervised=SUPERVISED, masks=MASKED, **changes):
        random, examples = np.random.default_rng(0), []
        for number, (own, hidden) in enumerate(zip(supervised, masks, strict=True)):
            ids = random.integers(10, 200, 10)
            mask = np.arange(10) >= 10 - hidden
            labels = np.where((np.arange(10) >= 10 - own) & ~mask, ids, IGNORED)
            examples.append(Example(str(number), ids, labels, mask))
        masked.write(tmp_path / "set.parquet", examples)
        values = {"method": "lora", "context": 16, "epochs": 2, "batch_size": 1, "accumulation": 2, "warmup_steps": 0,
                  "device": "cpu", "lora": Lora(rank=2)}  # fmt: skip
        settings = Train(**(values | changes)).model_dump(mode="json")
        inputs = {"training": tmp_path / "set.parquet", "base": base}
        outputs = {"model": tmp_path / "model", "history": tmp_path / "history.json"}
        context = Context(inputs, outputs, Path(mkdtemp(dir=tmp_path)))
        whole = {"train": settings, "base": {"name": None, "revision": None}, "seed": 0}
        return train.run(Settings(whole), context)

    return make


@pytest.mark.parametrize("method", ["lora", "continue"])
@pytest.mark.parametrize(
    ("intervention", "learned"),
    [("loss", 40), ("attention", 49), ("both", 40), ("clip", 49), ("scale", 49), ("drop", 27)],
)
def test_each_intervention_reports_what_it_did(run, tmp_path, method, intervention, learned):
    numbers = run(method=method, intervention=intervention)
    assert numbers["intervention"] == intervention
    assert numbers["records_dropped"] == (3 if intervention == "drop" else 0)
    assert numbers["records"] == 6 - numbers["records_dropped"]
    assert numbers["records_without_loss"] == (1 if intervention in ("loss", "both") else 0)
    if method == "lora":
        assert numbers["steps"] == 6  # also where records are dropped, as in the paper
        assert numbers["learned_tokens"] == learned
        assert numbers["rows"] == numbers["records"]
        assert numbers["rows_without_loss"] == numbers["records_without_loss"]
        assert numbers["effective_passes"] == (4 if intervention == "drop" else 2)
    else:
        assert numbers["steps"] == 2 * 3  # six records and their separators are five rows
        assert numbers["learned_tokens"] <= learned
    assert ("mean_multiplier" in numbers) == (intervention in ("clip", "scale"))
    if method == "lora":  # a record is a microbatch: three of them masked, two passes
        assert numbers.get("weakened_microbatches", 6) == 6
    if intervention == "scale":
        assert numbers["mean_multiplier"] == 0.25
    if intervention == "clip":
        assert 0 < numbers["mean_multiplier"] < 1
    assert any((tmp_path / "model").iterdir())


def test_an_unmasked_set_is_dropped_nowhere(run):
    assert run(masks=[0] * 6, intervention="drop")["effective_passes"] == 2


def test_cut_records_are_counted_and_none_is_left_out_unsaid(run):
    with pytest.raises(InputError, match=r"In 1 of 6 records .* train.context = 6 "):
        run(context=6)
    numbers = run(context=6, truncated="drop")
    assert (numbers["records"], numbers["records_cut"], numbers["records_cut_empty"]) == (5, 5, 1)
    numbers = run(context=10)
    assert (numbers["records"], numbers["records_cut"], numbers["records_cut_empty"]) == (6, 0, 0)


def test_packed_records_lose_nothing_to_the_context(run):
    numbers = run(method="continue", context=6)
    assert (numbers["records"], numbers["records_cut"], numbers["records_cut_empty"]) == (6, 0, 0)
    assert numbers["rows"] == 11
    assert numbers["rows_without_loss"] > 0  # rows of a masked record's tokens alone


def test_steps_without_anything_to_learn_are_counted(run):
    numbers = run(masks=[9, 9, 4, 9, 9, 0], accumulation=1)
    assert (numbers["records_without_loss"], numbers["steps"], numbers["steps_without_loss"]) == (5, 12, 10)


def test_nothing_at_all_to_learn_is_refused(run):
    with pytest.raises(InputError, match="No token of the 6 records is left to learn"):
        run(masks=SUPERVISED)
    with pytest.raises(InputError, match="No token of the 6 records is left to learn"):
        run(supervised=[0] * 6, masks=[0] * 6, method="continue")
