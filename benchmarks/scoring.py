"""Our scorer against a bare forward pass over the same length-sorted batches, side by side in one run, as ratios.

Run with `python benchmarks/scoring.py`. Goal: at least 0.9 of the bare pass's tokens per CPU second, and at most
1.2 times its peak memory. Memory is measured in a fresh process for each side.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

TEXTS, VOCABULARY, CONTEXT, TOKEN_BUDGET, ROUNDS = 64, 16_384, 512, 4096, 2


def build():
    """A random GPT-2 of 16 million parameters, and texts of mixed length as records."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    from sm_ops.core.records import Record
    from sm_ops.scoring.backends.hf import HFReference

    torch.manual_seed(0)
    words = {"<|endoftext|>": 0} | {f"w{i}": i for i in range(1, VOCABULARY)}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<|endoftext|>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<|endoftext|>")
    config = GPT2Config(vocab_size=VOCABULARY, n_positions=CONTEXT, n_embd=384, n_layer=5, n_head=6,
                        bos_token_id=0, eos_token_id=0)  # fmt: skip
    reference = HFReference(GPT2LMHeadModel(config).eval(), fast, head=[0], token_budget=TOKEN_BUDGET)
    rng = np.random.default_rng(0)
    lengths = np.minimum(rng.lognormal(4.8, 0.8, TEXTS).astype(int) + 4, CONTEXT - 1)
    texts = [" ".join(f"w{i}" for i in rng.integers(1, VOCABULARY, n)) for n in lengths]
    return reference, [Record(str(i), text=text) for i, text in enumerate(texts)]


def bare(reference, records):
    """What one would write by hand: pad, one forward pass, log-softmax over the vocabulary, gather."""
    import torch

    from sm_ops.scoring.backends.hf import Chunk, batches
    from sm_ops.scoring.tokenize import encode

    rows = [torch.tensor([0, *encode(reference.tokenizer, record.text)[0]]) for record in records]
    result = {}
    for batch in batches([Chunk(i, 0, 0, len(row) - 1) for i, row in enumerate(rows)], TOKEN_BUDGET, 1):
        ids = torch.nn.utils.rnn.pad_sequence([rows[chunk.record] for chunk in batch], batch_first=True)
        present = torch.arange(ids.shape[1])[None] < torch.tensor([[len(rows[chunk.record])] for chunk in batch])
        with torch.inference_mode():
            logits = reference._model(ids, attention_mask=present.long(), use_cache=False).logits[:, :-1]
            values = logits.float().log_softmax(-1).gather(2, ids[:, 1:, None])[..., 0]
        for chunk, value in zip(batch, values, strict=True):
            result[chunk.record] = value[: len(chunk)].double().numpy()
    return [result[i] for i in range(len(records))]


def ours(reference, records):
    return [scored.logprobs for scored in reference.score(records)]


SIDES = {"ours": ours, "bare": bare}


def peak(side: str) -> float:
    """Peak memory in MB that one side adds to the loaded model, in a process of its own."""
    done = subprocess.run([sys.executable, __file__, "--peak", side], capture_output=True, text=True, check=True)
    return float(done.stdout)


def report_peak(side: str) -> None:
    reference, records = build()
    SIDES[side](reference, records[:1])
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before = _memory("VmHWM")
    SIDES[side](reference, records)
    print((_memory("VmHWM") - before) / 1024)


def _memory(field: str) -> int:
    """A line of Linux's account of this process, in kB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))


def main() -> None:
    import torch

    torch.set_num_threads(1)
    reference, records = build()
    tokens = sum(len(values) for values in ours(reference, records))
    seconds = {side: [] for side in SIDES}
    for _ in range(ROUNDS):
        for side, run in SIDES.items():
            start = time.process_time()
            values = run(reference, records)
            seconds[side].append(time.process_time() - start)
            if side == "ours":
                first = values
    gap = max(np.abs(a - b).max() for a, b in zip(first, values, strict=True))
    speed = {side: tokens / min(times) for side, times in seconds.items()}
    memory = {side: peak(side) for side in SIDES}
    print(f"{TEXTS} texts, {tokens} tokens, one thread; largest difference of a log probability {gap:.1e} nats")
    for side in SIDES:
        print(f"{side:5}{speed[side]:8.0f} tokens per CPU second{memory[side]:8.0f} MB above the loaded model")
    print(f"speed ratio {speed['ours'] / speed['bare']:.2f} (goal 0.9), ", end="")
    print(f"memory ratio {memory['ours'] / memory['bare']:.2f} (goal 1.2)")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    report_peak(sys.argv[2]) if sys.argv[1:2] == ["--peak"] else main()
