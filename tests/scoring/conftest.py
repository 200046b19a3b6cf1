"""Published tiny models with a closed form, small tokenizers with stock-like chat templates."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")  # tiny models: a second thread only waits

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "cases" / "masking"
CONTROL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|begin|>", "<|header|>", "<|/header|>", "<|eot|>",
           "<|start|>", "<|channel|>", "<|message|>", "<|end|>", "<|return|>"]  # fmt: skip
PROSE = "def add(a, b):\n    return a + b\n\nassistant user system final The name is 김가상, hello world.\n" * 3


@pytest.fixture(scope="session")
def tiny_lm():
    if not SHARED.exists():
        pytest.skip("../shared/cases/masking is not here")
    spec = importlib.util.spec_from_file_location("tiny_lm", SHARED / "tiny_lm.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _settings(model, **changes):
    values = {"model": str(model), "revision": None, "dtype": "float32", "device": "cpu", "token_budget": 512,
              "prefix_token": None, "examples": (), "prompt": None, "violating": None, "threads": 1}  # fmt: skip
    return SimpleNamespace(**(values | changes))


@pytest.fixture(scope="session")
def settings():
    """`settings(model, **changes)`: what a backend's `load` reads."""
    return _settings


@pytest.fixture(scope="session")
def reference(tiny_lm):
    """`reference(kind, **changes)`: a published tiny model as a reference."""
    from sm_ops.scoring.backends import hf

    return lambda kind, **changes: hf.load(_settings(SHARED / "models" / kind, **changes))


@pytest.fixture(scope="session")
def chat_tokenizer():
    """`chat_tokenizer(template)`: a byte-level BPE with control tokens, trimmed offsets as GPT-2's."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    from sm_ops.scoring.tokenize import untrim

    def make(template):
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.post_processor = processors.ByteLevel(trim_offsets=True)
        tokenizer.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(
            vocab_size=360, special_tokens=CONTROL, initial_alphabet=alphabet, show_progress=False
        )
        tokenizer.train_from_iterator([PROSE], trainer)
        fast = PreTrainedTokenizerFast(
            tokenizer_object=tokenizer, bos_token="<|endoftext|>", eos_token="<|im_end|>", pad_token="<|endoftext|>"
        )
        fast.chat_template = template
        untrim(fast)
        return fast

    return make
