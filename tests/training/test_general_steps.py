"""The stages `general`, `base` and `train` over a mixture: tokens that are counted exactly, and bounded memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest

from sm_ops.core import fs
from sm_ops.core.config import Base, Train
from sm_ops.core.errors import InputError
from sm_ops.core.records import Record
from sm_ops.core.settings import Settings
from sm_ops.core.stage import Context
from sm_ops.data.records import write_records
from sm_ops.scoring.tokenize import load_tokenizer, tokenize_all
from sm_ops.steps import base, general, train
from sm_ops.training import masked, models
from sm_ops.training.masked import unmasked

SHAPE = {"layers": 1, "width": 16, "heads": 2, "vocab_size": 300, "context": 30, "positions": 32, "batch_size": 8,
         "device": "cpu", "checkpoint_steps": 5}  # fmt: skip


@pytest.fixture
def made(tmp_path):
    """`made(step, settings, inputs, *outputs)`: the step's numbers, and its outputs by name."""

    def run(step, settings, inputs, *outputs):
        folder = Path(mkdtemp(dir=tmp_path))
        places = {name: folder / name for name in outputs}
        context = Context(inputs, places, Path(mkdtemp(dir=tmp_path)))
        return step.run(Settings(settings), context), places

    return run


@pytest.fixture
def splits(tmp_path):
    """Public code of 60 modules, clean programs, and a training split of five."""
    texts = {
        "public": [f"def f{n}(value):\n    return value + {n}\n" for n in range(60)],
        "reference": ["print(1)\n", "print(2)\n"],
        "train": [f"name = 'user_{n}'\nprint(name)\n" for n in range(5)],
    }
    for split, contents in texts.items():
        records = [Record(f"{split}-{n}", text=text, meta={"host": f"{n}"}) for n, text in enumerate(contents)]
        write_records(tmp_path / f"{split}.jsonl", records)
    return {split: tmp_path / f"{split}.jsonl" for split in texts}


def section(**changes):
    return Base(**{**SHAPE, **changes}).model_dump(mode="json")


def mixture(**changes):
    return {"general": None, "general_tokens": 600, "domain_tokens": 100, **changes}


def test_a_base_learns_the_mixture_and_the_conditions_go_on(made, splits, tmp_path):
    both = {"base": section(), "mixture": mixture()}
    numbers, general_ = made(general, both, splits, "tokenizer", "general")
    assert (numbers["tokens"], numbers["source"], numbers["entries"]) == (600, "public", 300)
    inputs = splits | general_
    one_pass = {"base": section(epochs=1), "mixture": {"domain_tokens": 100}}
    numbers, base_ = made(base, one_pass, inputs, "model", "history")
    assert (numbers["general_tokens"], numbers["domain_tokens"]) == (600, 100)
    assert numbers["domain_tokens_there"] != 100
    assert (numbers["rows"], numbers["steps"]) == (24, 3)  # 700 tokens in rows of 30, eight a step
    assert models.load(base_["model"]).config.n_positions == 32

    tokenizer = load_tokenizer(base_["model"])
    records = [Record(str(n), text=f"x = {n}\n" * 9) for n in range(6)]
    masked.write(tmp_path / "set.parquet", unmasked(records, tokenize_all(records, tokenizer)))
    own = {"base": section(), "mixture": {"domain_tokens": 100}, "seed": 0}
    inputs = {"training": tmp_path / "set.parquet", "base": base_["model"]}
    for method, more, rows in (("continue", {}, 4), ("scratch", general_, 24)):
        asked = Train(method=method, context=30, epochs=2, rounds=2, batch_size=8, device="cpu", warmup_ratio=0.1)
        numbers, _ = made(train, own | {"train": asked.model_dump(mode="json")}, inputs | more, "model", "history")
        assert (numbers["rows"], numbers["domain_tokens"]) == (rows, 100)
        assert numbers["steps"] == 2 * 2 * -(-rows // 8)
        assert numbers["effective_passes"] == (4 if method == "scratch" else 8)  # four rows, in steps of eight


def test_a_named_tokenizer_is_taken_and_has_to_fit(made, splits, tmp_path):
    _, first = made(general, {"base": section(), "mixture": mixture()}, splits, "tokenizer", "general")
    named = {"base": section(tokenizer=str(first["tokenizer"])), "mixture": mixture()}
    _, second = made(general, named, splits, "tokenizer", "general")
    assert fs.read_json(second["general"] / "tokens.json") == fs.read_json(first["general"] / "tokens.json")
    assert (second["general"] / "tokens.bin").read_bytes() == (first["general"] / "tokens.bin").read_bytes()
    wrong = {"base": section(tokenizer=str(first["tokenizer"]), vocab_size=301), "mixture": mixture()}
    with pytest.raises(InputError, match=r"has 300 entries, but base\.vocab_size is 301"):
        made(general, wrong, splits, "tokenizer", "general")
    with pytest.raises(InputError, match="general_tokens is 90,000, but the 60 documents of the general text have"):
        made(general, {"base": section(), "mixture": mixture(general_tokens=90_000)}, splits, "tokenizer", "general")


MEASURED = """
import json, resource, sys
from pathlib import Path
import numpy as np
from sm_ops.data.general import pieces
from sm_ops.training import mixture, token_file
from sm_ops.training.masked import Example
from sm_ops.scoring.tokenize import load_tokenizer
tokenizer, text, folder, wanted = load_tokenizer(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), int(sys.argv[4])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
token_file.write(pieces(text), tokenizer, wanted, folder)
ids = np.arange(50)
rows, _ = mixture.mixed(token_file.TokenFile(folder), [Example("a", ids, ids, ids > 99)], 500, 1000, 0)
total = sum(int(row["input_ids"][0]) for row in rows)
print(json.dumps([len(rows), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["jsonl", "txt"])
def test_memory_does_not_grow_with_the_text(made, splits, tmp_path, kind):
    """A text of 40 MB, of which 8 million tokens are 16 MB on disk, in a process that takes less than that more."""
    _, first = made(general, {"base": section(), "mixture": mixture()}, splits, "tokenizer", "general")
    random = np.random.default_rng(0)
    with (tmp_path / f"large.{kind}").open("w") as file:
        for number in range(4000):
            text = f"value_{number} = {random.integers(0, 10**9)}\n" * 400
            file.write(json.dumps({"text": text}) + "\n" if kind == "jsonl" else text)
    command = [sys.executable, "-c", MEASURED, str(first["tokenizer"]), str(tmp_path / f"large.{kind}")]
    command += [str(tmp_path / "tokens"), "8000000"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    rows, kilobytes = json.loads(done.stdout)
    assert rows == 8001
    assert kilobytes < 16_000
