"""The whole way at a small size: a base that learns from texts alone, a tuning that learns rows, and their answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from sm_ops.core import fs
from sm_ops.core.settings import Settings
from sm_ops.pii.extractor import base, tiny
from sm_ops.pii.extractor.infer import extract
from sm_ops.pii.extractor.tune import tune, validation_loss
from sm_ops.pii.rows import without_thinking
from sm_ops.scoring.tokenize import load_tokenizer
from sm_ops.training import models

TRAINING = {
    "epochs": 1, "batch_size": 8, "accumulation": 1, "optimizer": "muon", "learning_rate": 4e-3,
    "muon_learning_rate": 0.02, "schedule": "linear", "warmup_steps": 2, "warmup_ratio": None, "steps": None,
    "weight_decay": 0.0, "dtype": "float32",
    "device": "cpu", "threads": 1, "checkpoint_steps": 1000, "processes": 1, "parallel": "ddp",
}  # fmt: skip
BASE = {
    **TRAINING, "layers": 2, "width": 64, "heads": 2, "vocab_size": 512, "context": 256, "strings": 16, "texts": None,
    "seed": 0, "window": 90, "think": "marked", "revision": None, "quantization": "none",
}  # fmt: skip
READING = Settings(BASE)
TUNE = {**TRAINING, "method": "full", "variations": 0, "context": 256}
EXTRACT = {"context": 256, "max_new_tokens": 128, "token_budget": 4096}
ROWS = (
    ("김가상님 전화 010-1234-5678", "PERSON\t김가상\nPHONE\t010-1234-5678"),
    ("계좌 000-12-345678 예금주 박예시", "ACCOUNT\t000-12-345678\nPERSON\t박예시"),
    ("오늘은 회의가 없습니다.", ""),
    ("주민번호 800101-3123456", "RRN\t800101-3123456"),
    ("Taylor Sample, born 1985-03-12", "PERSON\tTaylor Sample\nDOB\t1985-03-12"),
    ("메일 ga@example.com", "EMAIL\tga@example.com"),
    ("Version 1.2.3 is out.", ""),
    ("배우자 이모형의 카드 4539-8210-6673-0194", "REL\t배우자\nPERSON\t이모형\nCARD\t4539-8210-6673-0194"),
)
DOCUMENTS = [
    {"id": str(number), "source_text": text, "target_tsv": rows} for number, (text, rows) in enumerate(ROWS)
]
TEXTS = [text for text, _ in ROWS]


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("base")
    model, _ = base.make(TEXTS, Settings(BASE), folder / "model", folder / "scratch")
    models.save(model, folder / "model")
    return folder / "model"


def answers(model, tokenizer, decoding: str) -> list[str]:
    return extract(model, tokenizer, TEXTS, READING, Settings({**EXTRACT, "decoding": decoding}))


def test_few_documents_are_learned_by_heart(made, tmp_path):
    """Every row to the letter, and silence where nothing is private."""
    tokenizer = load_tokenizer(made)
    settings = Settings({**TUNE, "epochs": 80})
    model, numbers = tune(models.load(made), tokenizer, DOCUMENTS, READING, settings, 0, tmp_path)
    assert numbers["documents"] == 8
    assert numbers["documents_empty"] == 2
    assert answers(model, tokenizer, "constrained") == [rows for _, rows in ROWS]
    free = answers(model, tokenizer, "free")
    assert [without_thinking(answer) for answer in free] == [rows for _, rows in ROWS]
    assert free[0].startswith("<think><PERSON>김가상</>님 전화 <PHONE>010-1234-5678</></think>")


def test_adapters_learn_and_leave_the_base_as_it_is(made, tmp_path):
    from sm_ops.pii.extractor.loading import load_tuned

    tokenizer, before = load_tokenizer(made), fs.content_hash(made)
    lora = {"rank": 32, "alpha": 64, "dropout": 0.0}
    settings = Settings({**TUNE, "method": "lora", "lora": lora, "optimizer": "adamw", "epochs": 20})
    untuned = validation_loss(models.load(made), tokenizer, DOCUMENTS, READING, settings)
    model, numbers = tune(models.load(made), tokenizer, DOCUMENTS, READING, settings, 0, tmp_path / "scratch")
    models.save(model, tmp_path / "adapter")
    assert validation_loss(model, tokenizer, DOCUMENTS, READING, settings) < untuned - 0.3
    assert numbers["lora_trainable_parameters"] == sum(p.numel() for p in model.parameters() if p.requires_grad)
    assert (tmp_path / "adapter" / "adapter_config.json").is_file()
    tuned = load_tuned(tmp_path / "adapter", made, READING, "float32")
    assert answers(tuned, tokenizer, "constrained") == answers(model, tokenizer, "constrained")
    assert fs.content_hash(made) == before


def test_a_base_that_was_stopped_goes_on_to_the_same_weights(made, tmp_path):
    class Stopped(Exception):
        pass

    def after_the_first_lesson(done: int, total: int) -> None:
        if 2 * done == total:
            raise Stopped

    with pytest.raises(Stopped):
        base.make(TEXTS, Settings(BASE), tmp_path / "first", tmp_path / "scratch", after_the_first_lesson)
    again, _ = base.make(TEXTS, Settings(BASE), tmp_path / "model", tmp_path / "scratch")
    models.save(again, tmp_path / "model")
    assert fs.content_hash(tmp_path / "model") == fs.content_hash(made)


def test_a_base_reads_no_labels_and_depends_on_its_seed(made, tmp_path):
    import torch

    other, _ = base.make(TEXTS, Settings({**BASE, "seed": 1}), tmp_path / "model", tmp_path / "scratch")
    weights = models.load(made).state_dict()
    assert any(not torch.equal(weight, weights[name]) for name, weight in other.state_dict().items())


def test_the_first_heads_of_a_new_model_look_back():
    import torch

    model = tiny.new_model(Settings({"layers": 1, "width": 96, "heads": 3}), 100, 64, 0, 0).eval()
    model.set_attn_implementation("eager")
    with torch.inference_mode():
        attention = model(torch.arange(50)[None], output_attentions=True).attentions[0][0]
    for head in (0, 1):
        assert attention[head].diagonal(-head - 1).min() > 0.9
    assert attention[2].diagonal(-1).max() < 0.9
