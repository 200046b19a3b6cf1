"""The stage evaluate scores a text with a prompt behind it, and one without as it stands."""

from __future__ import annotations

import json

import pytest

from sm_ops.core.records import Record
from sm_ops.core.settings import Settings
from sm_ops.core.stage import Context
from sm_ops.data.records import write_records
from sm_ops.steps import evaluate


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """A random GPT-2 with a tokenizer of its own."""
    from sm_ops.training import models
    from sm_ops.training.tiny import new_model, train_tokenizer

    folder = tmp_path_factory.mktemp("base")
    tokenizer = train_tokenizer(["def add(a, b):\n    return a + b\n"], 300, folder)
    shape = Settings({"layers": 1, "width": 16, "heads": 2})
    models.save(new_model(shape, len(tokenizer), 96, tokenizer.eos_token_id, 0), folder)
    return folder


def utility(base, folder, *records):
    write_records(folder / "utility.jsonl", records)
    inputs = {"utility": folder / "utility.jsonl", "base": base}
    settings = {
        "evaluate": {"token_budget": 512, "device": "cpu", "threads": 1},
        "base": {"name": None, "revision": None},
    }
    evaluate.run(Settings(settings), Context(inputs, {"utility": folder / "utility.json"}, folder))
    return json.loads((folder / "utility.json").read_text())


def test_a_text_is_scored_behind_its_prompt_and_the_prompt_is_not(base, tmp_path):
    import torch

    from sm_ops.scoring.tokenize import encode, load_tokenizer
    from sm_ops.training import models

    code = "def add(a, b):\n    return a\n"
    asked = Record("a", text=code, meta={"prompt": "Add two numbers."})
    found = utility(base, tmp_path, asked)
    tokenizer = load_tokenizer(base)
    before, after = (encode(tokenizer, text)[0] for text in ("# Add two numbers.\n", code))
    ids = torch.tensor([[tokenizer.bos_token_id, *before, *after]])
    with torch.inference_mode():
        rows = models.load(base)(ids).logits[0, :-1].log_softmax(-1)
    every = rows.gather(1, ids[0, 1:, None])[:, 0]
    assert found["tokens"] == [len(after)]
    assert found["logprob_sums"] == [pytest.approx(float(every[len(before) :].sum()), rel=1e-4)]
    assert found["answers"] is True

    plain = utility(base, tmp_path, Record("b", text=code), asked)
    assert plain["tokens"] == [len(after)] * 2
    assert plain["logprob_sums"][1] == pytest.approx(found["logprob_sums"][0], rel=1e-4)
    assert plain["logprob_sums"][0] != pytest.approx(found["logprob_sums"][0], rel=1e-4)
    assert plain["answers"] is False
