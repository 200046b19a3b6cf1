"""Muon with AdamW against AdamW alone on the preset's small base model: held-out NLL for equal steps, side by side.

Run with `python benchmarks/optimisers.py` (about three CPU minutes). Both read the same rows of public code in the
same order from the same weights; each gets the better of two learning rates.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

PUBLIC_CHARS, HELD_OUT = 600_000, 60
RATES = {"adamw": (3e-3, 6e-3), "muon": (3e-3, 6e-3)}


def main() -> None:
    from types import SimpleNamespace

    from sm_ops.core.config import Base
    from sm_ops.core.settings import Settings
    from sm_ops.data.datasets.code_pii import generate, public_code
    from sm_ops.scoring.backends.hf import HFReference, fixed_head
    from sm_ops.scoring.tokenize import tokenize_all
    from sm_ops.training import packing, tiny, trainer
    from sm_ops.training.masked import unmasked

    data = SimpleNamespace(
        hosts=None, identities=1, repetitions=1, values_per_program=1, clean=0, calibration_identities=1,
        calibration_repetitions=1, calibration_clean=0, utility=HELD_OUT, reference=1, form="text",
        min_chars=100, max_chars=600,
    )  # fmt: skip
    dataset = generate(data, 0)
    public = public_code(data, 0, PUBLIC_CHARS, dataset.host_files, dataset.shapes)
    with tempfile.TemporaryDirectory() as folder:
        tokenizer = tiny.train_tokenizer([record.content for record in public], 2048, Path(folder) / "tokenizer")
        examples = unmasked(public, tokenize_all(public, tokenizer))
        rows = packing.pack(examples, tokenizer.eos_token_id, 256, 0)
        best: dict[str, tuple[float, float]] = {}
        for optimizer, rates in RATES.items():
            for rate in rates:
                base = Base(epochs=1, batch_size=4, optimizer=optimizer, learning_rate=rate)
                model = tiny.new_model(base, len(tokenizer), 256, tokenizer.eos_token_id, 0)
                started = time.process_time()
                scratch = Path(folder) / f"{optimizer}-{rate}"
                trainer.fit(model, rows, tokenizer.pad_token_id, Settings(base.model_dump()), 0, scratch)
                seconds = time.process_time() - started
                scorer = HFReference(model.eval(), tokenizer, fixed_head(tokenizer))
                scored = scorer.score(dataset.splits["utility"])
                total = sum(float(each.logprobs[each.tokens.eligible].sum()) for each in scored)
                nll = -total / sum(int(each.tokens.eligible.sum()) for each in scored)
                print(f"{optimizer:<6} rate {rate:g}: held-out NLL {nll:.3f}, {seconds:.1f} CPU s, {len(rows)} rows")
                best[optimizer] = min(best.get(optimizer, (nll, seconds)), (nll, seconds))
    print(
        f"muon / adamw at their better rates: NLL {best['muon'][0]:.3f} / {best['adamw'][0]:.3f}, "
        f"CPU time ratio {best['muon'][1] / best['adamw'][1]:.2f}"
    )


if __name__ == "__main__":
    main()
