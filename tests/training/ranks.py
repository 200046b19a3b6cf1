"""One rank of a training over several processes: `ranks.py SCRATCH BATCH_SIZE`, with torchrun's variables set."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from sm_ops.training import tiny, trainer

model = tiny.new_model(SimpleNamespace(layers=1, width=16, heads=2), 32, 12, end=0, seed=0)
random = np.random.default_rng(0)
rows = []
for kept in (11, 0, 1, 7, 0, 3, 11, 2):
    ids = random.integers(1, 32, 12)
    labels = np.where((np.arange(12) > 0) & (np.arange(12) <= kept), ids, -100)
    rows.append({"input_ids": ids, "labels": labels})
settings = SimpleNamespace(
    epochs=4, batch_size=int(sys.argv[2]), accumulation=1, learning_rate=1e-2, schedule="constant", warmup_steps=0,
    weight_decay=0.0, dtype="float32", device="cpu", threads=1, checkpoint_steps=100, optimizer="adamw",
)  # fmt: skip
trainer.fit(model, rows, 0, settings, 0, Path(sys.argv[1]))
