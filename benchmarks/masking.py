"""Every rule at 1e5, 1e6 and 1e7 tokens beside a plain NumPy version: CPU seconds of one thread, and bytes per token.

Run with `python benchmarks/masking.py` (about three minutes; other sizes may be given as arguments). The plain side is
kept here and measured in the same run. Goals: at least the ratio of compiled to NumPy code in the specification's
floors (section 18), growth from 1e6 to 1e7 tokens under 15, and under 300 bytes per token, the corpus included.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from sm_ops.calibration.critical import critical_values
from sm_ops.core import compiled
from sm_ops.core.records import Record
from sm_ops.core.tokens import Tokens
from sm_ops.masking import duplicates
from sm_ops.masking.baselines import goldfish, random
from sm_ops.masking.consensus import consensus
from sm_ops.masking.corpus import Corpus
from sm_ops.masking.kernels import mean_scores
from sm_ops.masking.local_rank import local_rank
from sm_ops.masking.procedure import mask_reference
from sm_ops.masking.projection import overlap

SIZES = (100_000, 1_000_000, 10_000_000)
RECORD, PASSAGE, VOCABULARY = 500, 20, 50_000
N, K, TAU, RADIUS = 4, 4, 2.5, 32
ROUNDS, LONG = 3, 3.0
RULE = SimpleNamespace(windows="fixed", n=N, agg="mean", k=K, select="global", tau=TAU, propagate="corpus", prop_n=None)


class Step(NamedTuple):
    """One row: ours and the plain version, which is not run beyond `plain_up_to` tokens."""

    name: str
    ours: Callable[[], Any]
    plain: Callable[[], Any]
    plain_up_to: int = SIZES[-1]
    equal: bool = True


def corpus_of(size: int) -> Corpus:
    """Records of random tokens; a fifth of all are passages of 20 tokens that occur in five places each."""
    rng = np.random.default_rng(size)
    ids = rng.integers(0, VOCABULARY, size)
    passages = rng.integers(0, VOCABULARY, (size // (PASSAGE * 25), PASSAGE))
    places = rng.permutation(size // PASSAGE)[: 5 * len(passages)]
    ids[places[:, None] * PASSAGE + np.arange(PASSAGE)] = np.tile(passages, (5, 1))
    bounds = np.arange(0, size + 1, RECORD)
    starts = np.arange(size) * 4
    surprise = np.rint(rng.exponential(2.0, size) * 2**20) / 2**20
    eligible = rng.random(size) < 0.98
    return Corpus(ids, surprise, eligible, starts, starts + 4, bounds, np.arange(len(bounds) - 1) // 5)


def chain_of(size: int) -> tuple[Corpus, np.ndarray]:
    """Records of 7 tokens in a random order; masking the first one's start masks the next record, and so on."""
    links = size // 7
    order = np.random.default_rng(size).permutation(links)
    ids = (3 * order[:, None] + np.arange(7)).ravel()
    mask = np.tile([False] * 4 + [True] * 3, links)
    mask[int(np.flatnonzero(order == 0)[0]) * 7 + np.arange(4)] = True
    ones, flat = np.ones(7 * links, bool), np.arange(7 * links)
    return Corpus(ids, flat * 0.0, ones, flat, flat + 1, np.arange(links + 1) * 7, np.zeros(links, np.int64)), mask


def window_steps(size: int) -> Iterator[Step]:
    corpus = corpus_of(size)
    scores = mean_scores(corpus.surprise, corpus.eligible, corpus.bounds, N)
    yield Step(f"windows n = {N}, global rule, {K} votes", lambda: by_global_rule(corpus), lambda: plain_global(corpus))
    yield Step(
        f"local rank, {RADIUS} + {RADIUS} neighbours",
        lambda: local_rank(scores, corpus.bounds, RADIUS),
        lambda: plain_local_rank(scores, corpus.bounds),
    )


def propagation_steps(size: int) -> Iterator[Step]:
    corpus = corpus_of(size)
    for scope in ("group", "corpus"):
        yield Step(
            f"n-gram ids, n = {N}, scope {scope}",
            lambda scope=scope: duplicates._repeated(corpus, scope, N),
            lambda scope=scope: plain_ids(corpus, scope),
            equal=False,  # other numbers for the same sequences
        )
    given, ids, voted = duplicates._repeated(corpus, "corpus", N), plain_ids(corpus, "corpus"), plain_global(corpus)
    yield Step(
        "propagation, ids given", lambda: completed(voted, corpus, given), lambda: plain_rounds(voted, corpus, ids)
    )


def procedure_steps(size: int) -> Iterator[Step]:
    corpus = corpus_of(size)
    yield Step(
        "mask, whole procedure, scope corpus",
        lambda: mask_reference(corpus, RULE),
        lambda: plain_rounds(plain_global(corpus), corpus, plain_ids(corpus, "corpus")),
    )
    yield Step(
        "whole threshold curve, scope corpus",
        lambda: critical_values(corpus, RULE),
        lambda: plain_curve(corpus),
        plain_up_to=SIZES[1],
    )


def chain_steps(size: int) -> Iterator[Step]:
    corpus, mask = chain_of(size)
    places = duplicates._repeated(corpus, "corpus", N)
    yield Step(
        "chain of repetitions, ids given",
        lambda: completed(mask, corpus, places),
        lambda: plain_work_list(np.where(mask, 0.0, -np.inf), corpus, "corpus") == 0.0,
        plain_up_to=SIZES[1],
    )


def projection_steps(size: int) -> Iterator[Step]:
    corpus = corpus_of(size)
    voted = by_global_rule(corpus)
    selected = corpus.starts[voted], corpus.ends[voted]
    cuts = np.unique(np.random.default_rng(1).integers(1, 4 * size, size))
    starts, ends = np.append(0, cuts), np.append(cuts, 4 * size)
    yield Step("projection", lambda: overlap(starts, ends, *selected), lambda: plain_overlap(starts, ends, *selected))


def random_steps(size: int) -> Iterator[Step]:
    corpus = corpus_of(size)
    fields = (corpus.ids, corpus.starts, corpus.ends, ~corpus.eligible, corpus.eligible)
    tokens = [Tokens(*each) for each in zip(*map(corpus.split, fields), strict=True)]
    records = [Record(f"r{number}", text="") for number in range(len(tokens))]
    yield Step(
        "random, one token in ten",
        lambda: np.concatenate(random.mask(records, tokens, budget=size // 10, seed=0)),
        lambda: plain_random(records, tokens, size // 10),
    )


def goldfish_steps(size: int) -> Iterator[Step]:
    if size < SIZES[2]:
        records, tokens = texts(size)
        yield Step(
            "Goldfish, text form",
            lambda: np.concatenate(goldfish.mask(records, tokens, k=4, seed=0)),
            lambda: plain_goldfish(records, tokens),
        )


STEPS = (
    window_steps, propagation_steps, chain_steps, procedure_steps, projection_steps, random_steps, goldfish_steps
)  # fmt: skip


def by_global_rule(corpus: Corpus) -> np.ndarray:
    scores = mean_scores(corpus.surprise, corpus.eligible, corpus.bounds, N)
    return consensus(scores >= TAU, N, K) & corpus.eligible


def completed(mask: np.ndarray, corpus: Corpus, repeated: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """Propagation where the sequences are numbered already."""
    found, duplicates._repeated = duplicates._repeated, lambda *_: repeated
    try:
        return duplicates.propagate(mask, corpus, "corpus", N)
    finally:
        duplicates._repeated = found


def texts(size: int) -> tuple[list[Record], list[Tokens]]:
    rng = np.random.default_rng(size)
    words = np.array([f" {''.join(rng.choice(list('abcdefghij'), 3))}" for _ in range(900)])
    records, tokens = [], []
    for number in range(size // RECORD):
        ids = rng.zipf(1.3, RECORD) % len(words)
        starts = np.arange(RECORD) * 4
        records.append(Record(f"r{number}", text="".join(words[ids])))
        tokens.append(Tokens(ids, starts, starts + 4, np.zeros(RECORD, bool), np.ones(RECORD, bool)))
    return records, tokens


# The plain side


def plain_scores(corpus: Corpus) -> np.ndarray:
    usable = corpus.eligible & np.isfinite(corpus.surprise)
    grid = np.rint(np.where(usable, corpus.surprise, 0.0) * 2**20).astype(np.int64)
    sums, held = (np.concatenate([[0], np.cumsum(each)]) for each in (grid, usable))
    starts = plain_starts(corpus.bounds)
    starts = starts[held[starts + N] - held[starts] == N]
    scores = np.full(len(usable), np.nan)
    scores[starts] = (sums[starts + N] - sums[starts]) / N * 2.0**-20
    return scores


def plain_global(corpus: Corpus) -> np.ndarray:
    selected = np.flatnonzero(plain_scores(corpus) >= TAU)
    change = np.zeros(len(corpus) + 1, np.int64)
    change[selected] += 1
    change[selected + N] -= 1
    return (np.cumsum(change)[:-1] >= K) & corpus.eligible


def plain_starts(bounds: np.ndarray) -> np.ndarray:
    positions = np.arange(bounds[-1])
    return positions[positions + N <= np.repeat(bounds[1:], np.diff(bounds))]


def plain_local_rank(scores: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    record = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    valid = ~np.isnan(scores)
    at_least, near = np.zeros(len(scores)), np.zeros(len(scores))
    for distance in range(1, RADIUS + 1):
        one, other = scores[:-distance], scores[distance:]
        pair = (record[:-distance] == record[distance:]) & valid[:-distance] & valid[distance:]
        near[:-distance] += pair
        near[distance:] += pair
        at_least[:-distance] += pair & (one <= other)
        at_least[distance:] += pair & (other <= one)
    with np.errstate(invalid="ignore"):
        return np.where(valid, 100 * at_least / near, np.nan)


def plain_ids(corpus: Corpus, scope: str) -> np.ndarray:
    """Per position the number of its sequence in its scope, by sorting; -1 where none starts."""
    starts = plain_starts(corpus.bounds)
    units = corpus.groups if scope == "group" else np.zeros(len(corpus.groups), np.int64)
    name = np.repeat(units, np.diff(corpus.bounds))[starts]
    for offset in range(N):
        name = np.unique(name * VOCABULARY + corpus.ids[starts + offset], return_inverse=True)[1]
    numbers = np.full(len(corpus), -1)
    numbers[starts] = name
    return numbers


def plain_rounds(mask: np.ndarray, corpus: Corpus, numbers: np.ndarray) -> np.ndarray:
    starts = np.flatnonzero(numbers >= 0)
    while True:
        masked = np.concatenate([[0], np.cumsum(mask)])
        hot = np.zeros(len(numbers), bool)
        hot[numbers[starts[masked[starts + N] - masked[starts] == N]]] = True
        places = starts[hot[numbers[starts]]]
        change = np.zeros(len(mask) + 1, np.int64)
        change[places] += 1
        change[places + N] -= 1
        grown = mask | ((np.cumsum(change)[:-1] > 0) & corpus.eligible)
        if np.array_equal(grown, mask):
            return mask
        mask = grown


def plain_work_list(values: np.ndarray, corpus: Corpus, scope: str) -> np.ndarray:
    """The largest threshold that reaches each position, with lists and dictionaries."""
    numbers = plain_ids(corpus, scope).tolist()
    places = defaultdict(list)
    for start, number in enumerate(numbers):
        places[number].append(start)
    places[-1].clear()
    missing, waiting, result = [N] * len(numbers), corpus.eligible.tolist(), values.tolist()
    for seed in np.argsort(-values, kind="stable").tolist():
        if not waiting[seed] or result[seed] == -np.inf:
            continue
        waiting[seed] = False
        stack, value = [seed], result[seed]
        while stack:
            position = stack.pop()
            result[position] = value
            for start in range(max(0, position - N + 1), position + 1):
                missing[start] -= 1
                if not missing[start] and numbers[start] >= 0:
                    for place in places.pop(numbers[start], ()):
                        for other in range(place, place + N):
                            if waiting[other]:
                                waiting[other] = False
                                stack.append(other)
    return np.array(result)


def plain_curve(corpus: Corpus) -> np.ndarray:
    scores = plain_scores(corpus)
    levels = np.concatenate([np.full(N - 1, -np.inf), np.where(np.isnan(scores), -np.inf, scores)])
    kth = np.sort(np.lib.stride_tricks.sliding_window_view(levels, N), axis=1)[:, N - K]
    return plain_work_list(np.where(corpus.eligible, kth, -np.inf), corpus, "corpus")


def plain_overlap(
    starts: np.ndarray, ends: np.ndarray, selected_starts: np.ndarray, selected_ends: np.ndarray
) -> np.ndarray:
    change = np.zeros(int(max(ends.max(), selected_ends.max())) + 1, np.int64)
    np.add.at(change, selected_starts, 1)
    np.add.at(change, selected_ends, -1)
    covered = np.concatenate([[0], np.cumsum(np.cumsum(change) > 0)])
    return covered[ends] > covered[starts]


def plain_random(records: list[Record], tokens: list[Tokens], budget: int) -> np.ndarray:
    """The same keys, one sort of them all."""
    rows = []
    for record, own in zip(records, tokens, strict=True):
        name = np.frombuffer(hashlib.blake2b(record.id.encode(), digest_size=8).digest(), "<u8")
        keys = plain_mix(plain_mix(plain_mix(np.zeros(1, np.uint64)) ^ name) + np.arange(len(own), dtype=np.uint64))
        rows.append(np.where(own.eligible, keys, np.uint64(2**64 - 1)))
    mask = np.zeros(sum(map(len, rows)), bool)
    mask[np.argsort(np.concatenate(rows))[:budget]] = True
    return mask


def plain_mix(z: np.ndarray) -> np.ndarray:
    z = z + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def plain_goldfish(records: list[Record], tokens: list[Tokens]) -> np.ndarray:
    """Every context hashed anew."""
    mask = []
    for record, own in zip(records, tokens, strict=True):
        for i in range(len(own)):
            context = goldfish.normalise(record.content[own.starts[max(0, i - 13)] : own.starts[i]])
            digest = hashlib.blake2b(context.encode(), digest_size=8, key=bytes(8)).digest()
            mask.append(i >= 4 and int.from_bytes(digest, "little") < 2**62)
    return np.array(mask)


# Measuring


def measure(run: Callable[[], Any]) -> tuple[Any, float, float]:
    """The result, the least CPU seconds of up to three rounds, and the bytes above what was there before."""
    best, result, peak = np.inf, None, 0
    for _ in range(ROUNDS):
        result = None
        ctypes.CDLL(None).malloc_trim(0)
        Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
        before, started = memory("VmRSS"), time.process_time()
        result = run()
        best = min(best, time.process_time() - started)
        peak = max(peak, memory("VmHWM") - before)
        if best > LONG:
            break
    return result, best, peak * 1024


def memory(field: str) -> int:
    """A line of Linux's account of this process, in kB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))


def main() -> None:
    sizes = [int(float(size)) for size in sys.argv[1:]] or SIZES
    worth, compiled.WORTH, started = compiled.WORTH, 0, time.process_time()
    for make in STEPS:
        for step in make(10_000):
            step.ours()
    print(f"{time.process_time() - started:.1f} CPU s to import numba and compile; by default from {worth:,} tokens on")
    print("bytes: peak above what was there before, per token; the corpus itself is 33")
    print(f"{'':38}{'tokens':>10}{'ours s':>9}{'NumPy s':>9}{'ratio':>7}{'growth':>8}{'bytes':>7}{'NumPy':>7}")
    before: dict[str, float] = {}
    for size in sizes:
        for make in STEPS:
            for step in make(size):
                result, seconds, peak = measure(step.ours)
                growth = f"{seconds / before[step.name]:.1f}" if step.name in before else "-"
                before[step.name] = seconds
                plain_seconds, ratio, plain_bytes = "-", "-", "-"
                if size <= step.plain_up_to:
                    expected, plain, plain_peak = measure(step.plain)
                    if step.equal:
                        np.testing.assert_array_equal(result, expected)
                    plain_seconds, ratio = f"{plain:.4f}", f"{plain / seconds:.1f}"
                    plain_bytes = f"{plain_peak / size:.0f}"
                row = f"{step.name:38}{size:10.0e}{seconds:9.4f}{plain_seconds:>9}{ratio:>7}{growth:>8}"
                print(f"{row}{peak / size:7.0f}{plain_bytes:>7}", flush=True)


if __name__ == "__main__":
    main()
