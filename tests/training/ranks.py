"""One rank of a training over several processes: `ranks.py SCRATCH ACCUMULATION INTERVENTION` under torchrun.

Torchrun's variables are set. Rows have uneven masks, two of them nothing but masked tokens.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from sm_ops.training import interventions, packing, tiny, trainer
from sm_ops.training.masked import Example

scratch, accumulation, intervention = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
model = tiny.new_model(SimpleNamespace(layers=1, width=16, heads=2), 32, 12, end=0, seed=0)
random = np.random.default_rng(0)
examples = []
for kept in (11, 0, 1, 7, 0, 3, 11, 2):
    ids = random.integers(1, 32, 12)
    masked = (np.arange(12) > 0) & (random.permutation(12) >= kept)
    examples.append(Example("", ids, np.where(masked, -100, ids), masked))
rows = packing.rows(interventions.prepare(examples, intervention), 12)
settings = SimpleNamespace(
    epochs=4, batch_size=4, accumulation=accumulation, learning_rate=1e-2, schedule="constant", warmup_steps=0,
    weight_decay=0.0, dtype="float32", device="cpu", threads=1, checkpoint_steps=100, optimizer="adamw",
)  # fmt: skip
trainer.fit(model, rows, 0, settings, 0, scratch, intervention=intervention)
