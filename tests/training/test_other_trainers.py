"""The masked set as it is, in transformers' Trainer and in TRL's SFTTrainer: the loss of a step against one by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from sm_ops.core.records import Record
from sm_ops.scoring.tokenize import tokenize_all
from sm_ops.training import masked, tiny

TEXTS = ("owner = 'mlindq'\n", "def add(a, b):\n    return a + b\n", "x = 1\n")


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    return tiny.train_tokenizer(list(TEXTS), 300, tmp_path_factory.mktemp("tokenizer"))


@pytest.fixture(scope="module")
def examples(tokenizer):
    records = [Record(str(number), text=text) for number, text in enumerate(TEXTS)]
    tokens = tokenize_all(records, tokenizer)
    masks = [np.zeros(len(own), bool) for own in tokens]
    masks[0][3:5] = True
    masks[1][[0, 3, 4]] = True
    return list(masked.examples(records, tokens, masks))


@pytest.fixture(scope="module")
def dataset(examples, tmp_path_factory):
    datasets = pytest.importorskip("datasets")
    folder = tmp_path_factory.mktemp("set")
    masked.write(folder / "set.parquet", examples)
    return datasets.load_dataset(
        "parquet", data_files=str(folder / "set.parquet"), cache_dir=str(folder / "cache"), split="train"
    )


@pytest.fixture
def model(tokenizer):
    from types import SimpleNamespace

    return tiny.new_model(SimpleNamespace(layers=1, width=16, heads=2), len(tokenizer), 64, end=0, seed=0)


def by_hand(model, examples):
    """Mean negative log likelihood of the kept tokens after the first, each record on its own."""
    terms = []
    for example in examples:
        with torch.no_grad():
            logprobs = model(input_ids=torch.tensor(example.ids)[None]).logits[0].log_softmax(-1)
        terms += [-logprobs[i - 1, example.ids[i]].item() for i in range(1, len(example.ids)) if not example.masked[i]]
    return sum(terms) / len(terms)


def arguments(tmp_path, **changes):
    return {
        "output_dir": str(tmp_path), "max_steps": 1, "learning_rate": 1e-3, "logging_steps": 1, "save_strategy": "no",
        "use_cpu": True, "report_to": [], "disable_tqdm": True, "bf16": False, **changes,
    }  # fmt: skip


def loss_of_the_step(trainer):
    trainer.train()
    return next(entry["loss"] for entry in trainer.state.log_history if "loss" in entry)


@pytest.mark.parametrize(("batch", "accumulation"), [(3, 1), (1, 3)])
def test_transformers_trainer_takes_the_set_unchanged(
    model, dataset, examples, tokenizer, tmp_path, batch, accumulation
):
    from transformers import DataCollatorForSeq2Seq, Trainer, TrainingArguments

    expected, before = by_hand(model, examples), model.transformer.wte.weight.detach().clone()
    trainer = Trainer(
        model=model,
        args=TrainingArguments(
            **arguments(tmp_path, per_device_train_batch_size=batch, gradient_accumulation_steps=accumulation)
        ),
        train_dataset=dataset,
        data_collator=DataCollatorForSeq2Seq(tokenizer),
    )
    assert loss_of_the_step(trainer) == pytest.approx(expected, rel=1e-5)
    assert not torch.equal(model.transformer.wte.weight, before)


def test_transformers_trainer_takes_single_rows_with_its_default_collator(model, dataset, examples, tmp_path):
    from transformers import Trainer, TrainingArguments

    expected = by_hand(model, examples[:1])
    args = TrainingArguments(**arguments(tmp_path, per_device_train_batch_size=1))
    trainer = Trainer(model=model, args=args, train_dataset=dataset.select([0]))
    assert loss_of_the_step(trainer) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"per_device_train_batch_size": 3}, id="one batch"),
        pytest.param({"per_device_train_batch_size": 1, "gradient_accumulation_steps": 3}, id="accumulation"),
        pytest.param({"per_device_train_batch_size": 3, "completion_only_loss": True}, id="completion_only_loss"),
        pytest.param({"per_device_train_batch_size": 3, "remove_unused_columns": False}, id="all columns kept"),
    ],
)
def test_trl_s_sfttrainer_takes_the_set_unchanged(model, dataset, examples, tokenizer, tmp_path, changes):
    trl = pytest.importorskip("trl")
    expected, before = by_hand(model, examples), model.transformer.wte.weight.detach().clone()
    trainer = trl.SFTTrainer(
        model=model,
        args=trl.SFTConfig(**arguments(tmp_path, **changes)),
        train_dataset=dataset,
        processing_class=tokenizer,
    )
    assert loss_of_the_step(trainer) == pytest.approx(expected, rel=1e-5)
    assert not torch.equal(model.transformer.wte.weight, before)


def test_a_mask_that_is_lost_would_show(model, examples):
    """The by-hand loss over all tokens is another one, so the comparisons above can fail."""
    open_ = [masked.Example(each.id, each.ids, each.ids, np.zeros(len(each.ids), bool)) for each in examples]
    assert abs(by_hand(model, open_) - by_hand(model, examples)) > 1e-3
