"""Small random GPT-2s, rows of random ids, and `train`: a fit whose every step can be looked at."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # tiny models: a second thread only waits

import numpy as np
import pytest

from sm_ops.training import tiny, trainer
from sm_ops.training.packing import IGNORED

VOCABULARY, LENGTH = 32, 12


@dataclass
class Trained:
    """What a fit returned, and loss and gradient norm (before clipping) of each optimiser step."""

    numbers: dict[str, float | None]
    losses: list[float]
    norms: list[float]


@pytest.fixture(scope="session")
def settings() -> Callable[..., SimpleNamespace]:
    defaults = {
        "epochs": 1, "batch_size": 8, "accumulation": 1, "learning_rate": 1e-3, "schedule": "constant",
        "warmup_steps": 0, "warmup_ratio": None, "steps": None, "weight_decay": 0.0, "dtype": "float32",
        "device": "cpu", "threads": 1,
        "checkpoint_steps": 100, "optimizer": "adamw", "muon_learning_rate": 1e-2,
        "processes": 1, "parallel": "ddp",
    }  # fmt: skip
    return lambda **changes: SimpleNamespace(**{**defaults, **changes})


@pytest.fixture
def new_model() -> Callable[[], Any]:
    """Equal weights at every call."""
    shape = SimpleNamespace(layers=2, width=16, heads=2)
    return lambda: tiny.new_model(shape, VOCABULARY, LENGTH, end=0, seed=0)


@pytest.fixture
def new_rows() -> Callable[..., list[dict[str, np.ndarray]]]:
    """`new_rows(n, kept)`: random rows; `kept[i]` labels of row i are learned (default: all but the first).

    Tokens that are not learned are masked; with `learned="all"` they are masked and learned.
    """

    def make(number: int = 8, kept: list[int] | None = None, learned: str = "kept") -> list[dict[str, np.ndarray]]:
        random = np.random.default_rng(1)
        rows = []
        for index in range(number):
            ids = random.integers(1, VOCABULARY, LENGTH)
            masked = np.zeros(LENGTH, bool)
            if kept is not None:
                masked[random.permutation(np.arange(1, LENGTH))[kept[index] :]] = True
            labels = ids.copy() if learned == "all" else np.where(masked, IGNORED, ids)
            labels[0] = IGNORED
            rows.append({"input_ids": ids, "labels": labels, "masked": masked})
        return rows

    return make


@pytest.fixture
def train(tmp_path_factory: pytest.TempPathFactory, settings) -> Callable[..., Trained]:
    """`train(model, rows, intervention, **settings)` in a fresh folder."""

    def run(model: Any, rows: list[dict[str, np.ndarray]], intervention: str = "loss", **changes: Any) -> Trained:
        scratch = tmp_path_factory.mktemp("scratch")
        numbers = trainer.fit(model, rows, 0, settings(**changes), 0, scratch, intervention=intervention)
        (state,) = scratch.glob("checkpoint-*/trainer_state.json")
        steps = [entry for entry in json.loads(state.read_text())["log_history"] if "loss" in entry]
        return Trained(numbers, [step["loss"] for step in steps], [step["grad_norm"] for step in steps])

    return run
