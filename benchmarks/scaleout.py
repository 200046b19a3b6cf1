"""Scoring by one worker and by two, in local processes and on two Ray nodes of this machine, as ratios of speed.

Run with `python benchmarks/scaleout.py` on a machine with at least two quiet cores; with `local` after it, without Ray.
34,000 tokens under a random GPT-2 of 16 million parameters, in shards of 1,024, one thread a worker. Every way's
bytes are compared with one worker's. Two figures each: the whole time, start of processes included, and the speed from
the first finished shard to the last, which is what a long job sees.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

TEXTS, SHARD_TOKENS = 200, 1024


def load(folder: Path):
    from sm_ops.core.settings import Settings
    from sm_ops.scoring.backends import hf

    given = {"revision": None, "dtype": "float32", "device": "auto", "token_budget": None, "prefix_token": None}
    more = {"examples": [], "prompt": None, "violating": None, "threads": 1}
    return hf.load(Settings({"model": str(folder), **given, **more}))


def measured(reference, records, engine: str, workers: int):
    """Seconds in all, seconds to the first shard, tokens a second from there to the last, and the result's bytes."""
    from sm_ops.scoring.shards import score_in_shards

    came: list[float] = []
    with tempfile.TemporaryDirectory() as shards:
        began = time.monotonic()
        scored = score_in_shards(
            reference, records, Path(shards), lambda *_: came.append(time.monotonic()), workers, engine, SHARD_TOKENS
        )
        whole = time.monotonic() - began
    tokens = sum(len(each.tokens) for each in scored)
    share = sum(at - came[0] > 0.05 for at in came) / len(came)  # of the batches, which have about as many tokens each
    return whole, came[0] - began, tokens * share / (came[-1] - came[0]), [each.logprobs.tobytes() for each in scored]


def main() -> None:
    from ray_cluster import Cluster
    from scoring import CONTEXT, GPT2, VOCABULARY, gpt2, make_records, make_tokenizer

    ways = [("local", 1), ("local", 2)] + ([] if "local" in sys.argv[1:] else [("ray", 1), ("ray", 2)])
    records = make_records(TEXTS, VOCABULARY, CONTEXT)
    with tempfile.TemporaryDirectory() as folder:
        gpt2(**GPT2).save_pretrained(folder)
        make_tokenizer(VOCABULARY).save_pretrained(folder)
        nodes = None if len(ways) == 2 else Cluster(1, 1)
        try:
            os.environ |= nodes.environment if nodes else {}
            figures = {way: measured(load(Path(folder)), records, *way) for way in ways}
        finally:
            if nodes:
                nodes.close()
    *_, base, expected = figures[ways[0]]
    print("| engine, workers | seconds in all | to the first shard | tokens/s from there | ratio | equal bytes |")
    print("|---|---|---|---|---|---|")
    for (engine, workers), (whole, first, speed, found) in figures.items():
        same = "yes" if found == expected else "NO"
        print(f"| {engine}, {workers} | {whole:.1f} | {first:.1f} | {speed:,.0f} | {speed / base:.2f} | {same} |")


if __name__ == "__main__":
    main()
