"""Scoring candidates and drawing samples beside what one would write with transformers, in one run, as ratios.

Run with `python benchmarks/attacks.py` (two to five minutes). CPU seconds of one thread, the better of two rounds,
under a random GPT-2 of 12 layers whose head has the share of the work that GPT-2 small's has, and under a tiny one.

Candidates: `rank` beside one text in one forward pass with its loss, as the official code of the leakage paper does it;
mean log probabilities must agree to 4e-6 nats and the best candidate must be the same. Goals: 1.6 times at equal prefix
and suffix, 3 times where the prefix is long. Sampling with top-k 40: `HFModel.sample` beside `generate` at the same
batch; goals: not slower, and 1.5 times in bfloat16 where the CPU has it. Samples must be those of the plain inverse
transform for the same uniform numbers, and greedy texts those of `generate`. On a GPU the same, by the wall clock.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy as np
import torch
from scoring import gpt2, make_tokenizer

from sm_ops.scoring.candidates import rank
from sm_ops.scoring.language_model import LanguageModel
from sm_ops.scoring.models.hf import HFModel

MODELS = {
    "12 layers": (16_384, {"n_positions": 512, "n_embd": 256, "n_layer": 12, "n_head": 4, "initializer_range": 0.05}),
    "tiny": (512, {"n_positions": 512, "n_embd": 64, "n_layer": 2, "n_head": 2, "initializer_range": 0.2}),
}
SHAPES = {"equal": (64, 64), "long prefix": (256, 16), "prefix alone": (128, 0)}
"""Tokens of prefix and suffix."""
CANDIDATES, BATCH, LENGTH, TOP_K, ROUNDS, AGREE = 64, 64, 64, 40, 2, 4e-6


def words(rng: np.random.Generator, count: int, vocabulary: int) -> str:
    return " ".join(f"w{i}" for i in rng.integers(1, vocabulary, count))


def slot(vocabulary: int, before: int, after: int) -> tuple[str, list[str], str]:
    """A prefix, candidates of one to four tokens, and a suffix."""
    rng = np.random.default_rng(0)
    prefix, suffix = words(rng, before, vocabulary) + " ", " " + words(rng, after, vocabulary) if after else ""
    return prefix, [words(rng, 1 + i % 4, vocabulary) for i in range(CANDIDATES)], suffix


def one_by_one(model: Any, tokenizer: Any, prefix: str, candidates: list[str], suffix: str) -> dict[str, float]:
    """Mean log probability of each whole text, one forward pass each."""
    found = {}
    with torch.inference_mode():
        for each in candidates:
            ids = torch.tensor([[0, *tokenizer(prefix + each + suffix).input_ids]], device=model.device)
            found[each] = -float(model(input_ids=ids, labels=ids).loss)
    return found


def ours(model: HFModel, prefix: str, candidates: list[str], suffix: str, complete: bool = True) -> dict[str, float]:
    ranking = rank(model, prefix, candidates, suffix, complete=complete)
    return {each: -float(np.log(value)) for each, value in ranking.perplexity.items()}


def timed(run: Callable[[], Any], cuda: bool) -> tuple[float, Any]:
    """Seconds (of the CPU, or of the wall where a GPU works) and the result: the better of the rounds."""
    clock, best, result = time.perf_counter if cuda else time.process_time, float("inf"), None
    for _ in range(ROUNDS):
        start = clock()
        result = run()
        if cuda:
            torch.cuda.synchronize()
        best = min(best, clock() - start)
    return best, result


def candidates_table(name: str, model: Any, tokenizer: Any, vocabulary: int, cuda: bool) -> None:
    tested = HFModel(model, tokenizer)
    for shape, (before, after) in SHAPES.items():
        text = slot(vocabulary, before, after)
        ours(tested, *text), one_by_one(model, tokenizer, text[0], text[1][:2], text[2])
        own, found = timed(lambda text=text: ours(tested, *text), cuda)
        theirs, expected = timed(lambda text=text: one_by_one(model, tokenizer, *text), cuda)
        dropping, left = timed(lambda text=text: ours(tested, *text, complete=False), cuda)
        gap = max(abs(found[each] - expected[each]) for each in expected)
        best = [max(values, key=values.__getitem__) for values in (found, expected, left)]
        assert gap <= AGREE, f"mean log probabilities differ by {gap:.1e}"
        assert len(set(best)) == 1, "the best candidates differ"
        print(
            f"{name}, {CANDIDATES} x {shape} ({before} + {after}): ours {own:.3f} s, one by one {theirs:.3f} s, "
            f"ratio {theirs / own:.2f}; hopeless ones dropped {dropping:.3f} s, {len(left)} left; gap {gap:.1e} nats",
            flush=True,
        )


def sampling_table(name: str, model: Any, tokenizer: Any, dtype: str, cuda: bool) -> None:
    tested = HFModel(model, tokenizer)
    chances = np.random.default_rng(0).random((BATCH, LENGTH))
    start = torch.zeros((1, 1), dtype=torch.long, device=model.device)
    options = {"attention_mask": torch.ones_like(start), "pad_token_id": 0, "use_cache": True, "top_p": 1.0}

    def generate(**changes: Any) -> Any:
        with torch.inference_mode():
            return model.generate(start, **options, **changes)

    def theirs() -> Any:
        return generate(do_sample=True, top_k=TOP_K, max_new_tokens=LENGTH, num_return_sequences=BATCH)

    tested.sample([0], chances[:, :2], top_k=TOP_K)
    generate(do_sample=True, top_k=TOP_K, max_new_tokens=2, num_return_sequences=BATCH)
    own, drawn = timed(lambda: tested.sample([0], chances, top_k=TOP_K), cuda)
    full, _ = timed(lambda: tested.sample([0], chances), cuda)
    other, texts = timed(theirs, cuda)
    greedy = generate(do_sample=False, max_new_tokens=16)[0, 1:].tolist()
    assert tested.greedy([0], 16) == (greedy[: greedy.index(0)] if 0 in greedy else greedy), "greedy texts differ"
    if dtype == "float32":
        plain = LanguageModel.sample(tested, [0], chances[:4, :8], top_k=TOP_K)
        assert [row[:8] for row in drawn[:4]] == plain, "samples are not those of the inverse transform"
    tokens = (sum(map(len, drawn)), int((texts[:, 1:] != 0).sum()))
    speeds = tokens[0] / own, tokens[1] / other
    print(
        f"{name}, {dtype}, {BATCH} x {LENGTH} tokens, top-k {TOP_K}: ours {speeds[0]:.0f} tokens a second, generate "
        f"{speeds[1]:.0f}, ratio {speeds[0] / speeds[1]:.2f}; full distribution {BATCH * LENGTH / full:.0f}",
        flush=True,
    )
    SPEEDS[name, dtype] = speeds


SPEEDS: dict[tuple[str, str], tuple[float, float]] = {}


def on(device: str) -> None:
    for name, (vocabulary, shape) in MODELS.items():
        model, tokenizer = gpt2(vocabulary, **shape).to(device), make_tokenizer(vocabulary)
        candidates_table(name, model, tokenizer, vocabulary, device == "cuda")
        for dtype in (torch.float32, torch.bfloat16):
            sampling_table(name, model.to(dtype), tokenizer, str(dtype).removeprefix("torch."), device == "cuda")
        ratio = SPEEDS[name, "bfloat16"][0] / SPEEDS[name, "float32"][1]
        print(f"{name}: ours in bfloat16 beside generate in float32, ratio {ratio:.2f}")


def main() -> None:
    torch.set_num_threads(1)
    flags = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    known = [flag for flag in ("avx512_bf16", "amx_bf16") if flag in flags]
    print(f"bfloat16 in this CPU: {', '.join(known) or 'no instructions for it'}")
    on("cpu")
    if torch.cuda.is_available():
        on("cuda")
    else:
        print("the same table on a GPU: not measured, there is no GPU here")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
