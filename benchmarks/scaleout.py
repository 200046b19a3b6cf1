"""Scoring by one worker and by two, in local processes and on two Ray nodes of this machine, as ratios of speed.

Run with `python benchmarks/scaleout.py` on a machine with at least two quiet cores; with `local` after it, without Ray.
Two works: 34,000 tokens under a random GPT-2 of 16 million parameters, one thread a worker, in shards of 1,024; and
61 batches that only wait, 0.4 seconds each, in 29 shards, which show what the engines cost on a busy machine too. Every
way's bytes are compared with one worker's. Two figures each: the whole time, start of processes included, and the speed
from the first finished shard to the last, which is what a long job sees.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOYS = ROOT / "tests" / "scaleout"
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(TOYS)]


def model(folder: str):
    """The reference, its records, and the size of a shard."""
    from scoring import CONTEXT, GPT2, VOCABULARY, gpt2, make_records, make_tokenizer

    from sm_ops.core.settings import Settings
    from sm_ops.scoring.backends import hf

    gpt2(**GPT2).save_pretrained(folder)
    make_tokenizer(VOCABULARY).save_pretrained(folder)
    given = {"revision": None, "dtype": "float32", "device": "auto", "token_budget": None, "prefix_token": None}
    more = {"examples": [], "prompt": None, "violating": None, "threads": 1}
    return lambda: hf.load(Settings({"model": folder, **given, **more})), make_records(200, VOCABULARY, CONTEXT), 1024


def waiting():
    from toy_work import RECORDS, Toy

    return lambda: Toy(pause=0.4), RECORDS, 100


def measured(load, records, shard_tokens: int, engine: str, workers: int):
    """Seconds in all, seconds to the first shard, tokens a second from it to the last, and the result's bytes."""
    from sm_ops.scoring.shards import score_in_shards

    came: list[float] = []
    with tempfile.TemporaryDirectory() as shards:
        reference, began = load(), time.monotonic()
        scored = score_in_shards(
            reference, records, Path(shards), lambda *_: came.append(time.monotonic()), workers, engine, shard_tokens
        )
        whole = time.monotonic() - began
    tokens = sum(len(each.tokens) for each in scored)
    share = sum(at - came[0] > 0.05 for at in came) / len(came)  # of the batches, which have about as many tokens each
    return whole, came[0] - began, tokens * share / (came[-1] - came[0]), [each.logprobs.tobytes() for each in scored]


def main() -> None:
    from ray_cluster import Cluster

    ways = [("local", 1), ("local", 2)] + ([] if "local" in sys.argv[1:] else [("ray", 1), ("ray", 2)])
    nodes = None if len(ways) == 2 else Cluster(1, 1, path=(TOYS,))
    print(
        "| work | engine, workers | seconds in all | to the first shard | tokens/s from there | ratio | equal bytes |"
    )
    print("|---|---|---|---|---|---|---|", flush=True)
    try:
        os.environ |= nodes.environment if nodes else {}
        with tempfile.TemporaryDirectory() as folder:
            for name, work in (("waits", waiting()), ("GPT-2", model(folder))):
                first_way = None
                for engine, workers in ways:
                    whole, first, speed, found = measured(*work, engine, workers)
                    base, expected = first_way = first_way or (speed, found)
                    same = "yes" if found == expected else "NO"
                    figures = f"{whole:.1f} | {first:.1f} | {speed:,.0f} | {speed / base:.2f}"
                    print(f"| {name} | {engine}, {workers} | {figures} | {same} |", flush=True)
    finally:
        if nodes:
            nodes.close()


if __name__ == "__main__":
    main()
