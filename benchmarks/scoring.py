"""Our scorer beside a bare forward pass, minicons and lm-eval on the same documents in one run, as ratios.

Run with `python benchmarks/scoring.py`. Tokens per CPU second of one thread on 64 texts of mixed length under a random
GPT-2 of 16 million parameters; every contestant gets the texts sorted by length, and what it needs (batches by token
budget for the bare passes, its own batches of eight for the others). Goals: at least 0.9 (better 0.97) of the bare
pass, ahead of the others, equal numbers to 4e-6 nats, at most 1.2 times the bare pass's peak memory, which is measured
in a fresh process for each. On a GPU also the share of the device's bf16 matrix rate.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import warnings
from contextlib import redirect_stderr
from importlib.util import find_spec
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from _matrix_rate import matrix_rate

TEXTS, VOCABULARY, CONTEXT, TOKEN_BUDGET, ROWS, ROUNDS = 64, 16_384, 512, 1024, 8, 2
GPT2 = {"n_positions": CONTEXT, "n_embd": 384, "n_layer": 5, "n_head": 6}


def make_tokenizer(vocabulary: int):
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = {"<|endoftext|>": 0} | {f"w{i}": i for i in range(1, vocabulary)}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<|endoftext|>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    end = "<|endoftext|>"
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=end, eos_token=end, pad_token=end)


def gpt2(vocabulary: int = VOCABULARY, **shape):
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    return GPT2LMHeadModel(GPT2Config(vocab_size=vocabulary, bos_token_id=0, eos_token_id=0, **shape)).eval()


def make_records(count: int, vocabulary: int, longest: int):
    """Texts of log-normal length, the longest first, as records."""
    from sm_ops.core.records import Record

    rng = np.random.default_rng(0)
    lengths = np.minimum(rng.lognormal(np.log(longest) - 1.4, 0.8, count).astype(int) + 4, longest - 1)
    texts = [" ".join(f"w{i}" for i in rng.integers(1, vocabulary, n)) for n in -np.sort(-lengths)]
    return [Record(str(i), text=text) for i, text in enumerate(texts)]


def small():
    """The model, tokenizer and texts of the comparison on the CPU."""
    import torch

    torch.set_num_threads(1)
    return gpt2(**GPT2), make_tokenizer(VOCABULARY), make_records(TEXTS, VOCABULARY, CONTEXT)


# ---- contestants ---------------------------------------------------------------------------------------


def ours(model, tokenizer, token_budget=TOKEN_BUDGET):
    from sm_ops.scoring.backends.hf import HFReference

    reference = HFReference(model, tokenizer, head=[0], token_budget=token_budget)
    return lambda records: [scored.logprobs for scored in reference.score(records)]


def bare(model, tokenizer, token_budget=TOKEN_BUDGET, softmax=True):
    """What one would write by hand: pad, one forward pass, log-softmax over the vocabulary, gather."""
    import torch

    from sm_ops.scoring.tokenize import encode

    def run(records):
        rows = [torch.tensor([0, *encode(tokenizer, record.text)[0]]) for record in records]
        result = []
        while len(result) < len(rows):
            top = len(result)
            batch = rows[top : top + max(1, token_budget // len(rows[top]))]
            ids = torch.nn.utils.rnn.pad_sequence(batch, batch_first=True).to(model.device)
            present = torch.arange(ids.shape[1])[None] < torch.tensor([[len(row)] for row in batch])
            with torch.inference_mode():
                mask = present.long().to(model.device)
                logits = model(ids[:, :-1], attention_mask=mask[:, :-1], use_cache=False).logits
                if not softmax:
                    result += [logits[i, : len(row) - 1, 0].double().cpu().numpy() for i, row in enumerate(batch)]
                    continue
                values = logits.float().log_softmax(-1).gather(2, ids[:, 1:, None])[..., 0].cpu()
            result += [value[: len(row) - 1].double().numpy() for row, value in zip(batch, values, strict=True)]
        return result

    return run


def logits_alone(model, tokenizer):
    """A lower bound of any scorer's work: the forward pass to the logits, and nothing made of them."""
    return bare(model, tokenizer, softmax=False)


def minicons(model, tokenizer):
    from minicons.scorer import IncrementalLMScorer

    scorer = IncrementalLMScorer(model, "cpu", tokenizer=tokenizer)

    def run(records):
        result = []
        for top in range(0, len(records), ROWS):
            texts = [record.text for record in records[top : top + ROWS]]
            found = scorer.token_score(texts, bos_token=True)
            result += [np.array([value for _, value in text[1:]]) for text in found]
        return result

    return run


def lm_eval_rolling(model, tokenizer):
    return _lm_eval(model, tokenizer, "loglikelihood_rolling", lambda text: (text,))


def lm_eval_loglikelihood(model, tokenizer):
    """Sums only; the empty context makes it begin with the prefix token, as ours does."""
    return _lm_eval(model, tokenizer, "loglikelihood", lambda text: ("", text))


def _lm_eval(model, tokenizer, request, arguments):
    import logging

    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    logging.disable(logging.WARNING)
    harness = HFLM(pretrained=model, tokenizer=tokenizer, batch_size=ROWS, device="cpu", max_length=CONTEXT)

    def run(records):
        requests = [Instance(request, {}, arguments(record.text), i) for i, record in enumerate(records)]
        with open(os.devnull, "w") as nowhere, redirect_stderr(nowhere):  # its progress bars
            found = getattr(harness, request)(requests)
        return [value[0] if isinstance(value, tuple) else value for value in found]

    return run


SIDES = {
    "ours": ours,
    "bare pass": bare,
    "logits alone": logits_alone,
    "minicons": minicons,
    "lm-eval rolling": lm_eval_rolling,
    "lm-eval loglikelihood": lm_eval_loglikelihood,
}
PACKAGES = {"minicons": "minicons", "lm-eval rolling": "lm_eval", "lm-eval loglikelihood": "lm_eval"}


# ---- time, numbers and memory on the CPU ---------------------------------------------------------------


def measure(sides: list[str]) -> tuple[dict[str, float], dict[str, list]]:
    """CPU seconds of each contestant's best round, and its answers; they take turns, so that all meet one load."""
    model, tokenizer, records = small()
    runs = {side: SIDES[side](model, tokenizer) for side in sides}
    seconds, answers = {side: [] for side in sides}, {}
    for run in runs.values():
        run(records[-2:])
    for _ in range(ROUNDS):
        for side, run in runs.items():
            start = time.process_time()
            answers[side] = run(records)
            seconds[side].append(time.process_time() - start)
    return {side: min(times) for side, times in seconds.items()}, answers


def gap(ours: list, theirs: list) -> float:
    """The largest difference of a log probability; of sums, the largest by token."""
    return max(
        abs(float(a.sum()) - b) / len(a) if np.ndim(b) == 0 else np.abs(a - b).max()
        for a, b in zip(ours, theirs, strict=True)
    )


def peak(side: str) -> float:
    """Peak memory in MB that a contestant adds to the loaded model, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", __file__, "--peak", side], capture_output=True, text=True, check=True
    )
    return float(done.stdout.splitlines()[-1])


def report_peak(side: str) -> None:
    model, tokenizer, records = small()
    run = SIDES[side](model, tokenizer)
    run(records[-2:])
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before = _memory("VmHWM")
    run(records)
    print((_memory("VmHWM") - before) / 1024)


def _memory(field: str) -> int:
    """A line of Linux's account of this process, in kB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))


def on_cpu() -> None:
    sides = [side for side in SIDES if side not in PACKAGES or find_spec(PACKAGES[side])]
    seconds, answers = measure(sides)
    memory = {side: peak(side) for side in sides}
    tokens = sum(map(len, answers["ours"]))
    print(f"{TEXTS} texts, {tokens} tokens, one thread; our ratio beside each: speed (more is better), peak memory")
    for side in sides:
        speed, cost = seconds[side] / seconds["ours"], memory["ours"] / memory[side]
        difference = "" if side in ("ours", "logits alone") else f", gap {gap(answers['ours'], answers[side]):.1e} nats"
        print(f"{side:22}{tokens / seconds[side]:7.0f} tokens per CPU s, {speed:.2f};", end="")
        print(f"{memory[side]:6.0f} MB above the model, {cost:.2f}{difference}")
    for side in SIDES.keys() - set(sides):
        print(f"{side}: not measured, its package is not installed (extra bench)")


# ---- share of the matrix rate on a GPU -----------------------------------------------------------------

BILLION = {"hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 22, "num_attention_heads": 32,
           "num_key_value_heads": 4, "max_position_embeddings": 2048, "vocab_size": 32_000}  # fmt: skip


def llama(**shape):
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    return LlamaForCausalLM(LlamaConfig(bos_token_id=0, eos_token_id=0, **shape)).eval()


def on_gpu() -> None:
    """Seconds of wall time; operations are two by weight and token, without embeddings and attention's own."""
    import torch

    rate = matrix_rate()
    print(f"bf16 matrix rate {rate / 1e12:.0f} TFLOP/s")
    shapes = {
        "GPT-2 small": (lambda: gpt2(50_257, n_positions=1024), 50_257, 1024, 16),
        "1B Llama": (lambda: llama(**BILLION), 32_000, 2048, 4),
    }
    for name, (make, vocabulary, longest, batch) in shapes.items():
        model = make().to("cuda", torch.bfloat16)
        tokenizer, records = make_tokenizer(vocabulary), make_records(2048, vocabulary, longest)
        embeddings = sum(m.weight.numel() for m in model.modules() if isinstance(m, torch.nn.Embedding))
        head = model.get_output_embeddings().weight.numel()
        weights = sum(p.numel() for p in model.parameters()) - embeddings
        weights += head if model.config.tie_word_embeddings else 0
        shares = {}
        for side in (ours, bare):
            run = side(model, tokenizer, batch * longest)
            run(records[:64])
            torch.cuda.synchronize()
            start = time.perf_counter()
            tokens = sum(map(len, run(records)))
            torch.cuda.synchronize()
            shares[side.__name__] = 2 * weights * tokens / (time.perf_counter() - start) / rate
        print(f"{name}: ours {shares['ours']:.2f} of the rate, bare pass {shares['bare']:.2f}, ", end="")
        print(f"ratio {shares['ours'] / shares['bare']:.2f}")
        del model
        torch.cuda.empty_cache()


def main() -> None:
    import torch

    on_cpu()
    if torch.cuda.is_available():
        on_gpu()
    else:
        print("share of the bf16 matrix rate: not measured, there is no GPU here")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    warnings.simplefilter("ignore")
    report_peak(sys.argv[2]) if sys.argv[1:2] == ["--peak"] else main()
