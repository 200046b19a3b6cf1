"""Detectors of credentials beside each other on real contexts: precision, recall, F1 of characters, and speed.

Run with `python benchmarks/credentials.py FOLDER`; it prints the tables of `results/credentials.md`. FOLDER holds
`creddata_subset` and `credsweeper_samples` (no data is kept here). Detectors are taken with their defaults; what is
ambiguous counts for nothing. The classifier is the small one that is trained on the spot, on the contexts of half the
repositories; a second table judges all on the other half. Intervals (95 %) are bootstraps over repositories, or over
the files of the samples.
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

os.environ |= {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
os.environ |= {"HF_HUB_DISABLE_PROGRESS_BARS": "1", "TRANSFORMERS_VERBOSITY": "error"}
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from sm_ops.core import registry
from sm_ops.core.errors import InputError
from sm_ops.core.records import Record, Span
from sm_ops.data.corpora import creddata
from sm_ops.data.records import jsonl_rows
from sm_ops.detectors.classifier.fitting import fit
from sm_ops.metrics import ratio_interval

NAMES = ("credsweeper", "detect_secrets", "gitleaks", "regex", "presidio")
SEED = 0


def samples(path: Path) -> list[Record]:
    return [
        Record(row["id"], text=row["text"], spans=tuple(Span(s["start"], s["end"], "") for s in row["spans"]))
        for _, row in jsonl_rows(path)
    ]


def first_half(record: Record) -> bool:
    """Repositories by a hash of their names."""
    return hashlib.sha256(str(record.group).encode()).digest()[0] % 2 == 0


def counts(records: Sequence[Record], found: Sequence[Any]) -> np.ndarray:
    """TP, FP and FN of characters in each cluster: int64 of shape (3, clusters)."""
    names = list(dict.fromkeys(record.group or record.id for record in records))
    total = np.zeros((3, len(names)), np.int64)
    for record, detections in zip(records, found, strict=True):
        masked = marks(record, ((each.start, each.end) for each in detections))
        gold = marks(record, ((start, end) for start, end, _ in record.content_spans))
        unclear = marks(record, record.meta.get("left_out", ())) & ~gold
        cells = masked & gold, masked & ~gold & ~unclear, ~masked & gold
        total[:, names.index(record.group or record.id)] += [int(cell.sum()) for cell in cells]
    return total


def marks(record: Record, intervals: Any) -> np.ndarray:
    found = np.zeros(len(record.content), bool)
    for start, end in intervals:
        found[start:end] = True
    return found


def rate(part: np.ndarray, whole: np.ndarray) -> str:
    if not whole.sum():
        return "-"
    low, high = ratio_interval(part, whole, SEED) or (None, None)
    value = part.sum() / whole.sum()
    return f"{value:.3f}" if low is None else f"{value:.3f} ({low:.3f}-{high:.3f})"


def table(title: str, records: Sequence[Record], detectors: dict[str, tuple[Any, float]]) -> Iterator[str]:
    texts = [record.content for record in records]
    characters, targets = sum(map(len, texts)), sum(len(record.spans) for record in records)
    clusters = len({record.group or record.id for record in records})
    sizes = f"{len(records):,} texts, {characters:,} characters, {targets:,} targets, {clusters} clusters"
    yield f"\n### {title}: {sizes}\n"
    yield "| detector | precision | recall | F1 | MB per CPU second | CPU seconds to load |\n|---|---|---|---|---|---|"
    for name, (detector, loading) in detectors.items():
        before = time.process_time()
        found = detector.detect(texts)
        seconds = time.process_time() - before
        tp, fp, fn = counts(records, found)
        rates = " | ".join((rate(tp, tp + fp), rate(tp, tp + fn), rate(2 * tp, 2 * tp + fp + fn)))
        size = sum(len(text.encode()) for text in texts) / 1e6
        yield f"| {name} | {rates} | {size / seconds:.3f} | {loading:.1f} |"


def loaded(name: str, settings: dict[str, Any]) -> Iterator[tuple[str, tuple[Any, float]]]:
    before = time.process_time()
    try:
        detector = registry.load("detector", name).load(settings)
    except InputError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return
    detector.detect(['password = "none"'])  # some parts are loaded with the first text
    yield name, (detector, time.process_time() - before)


def main() -> None:
    folder = Path(sys.argv[1])
    detectors = dict(pair for name in NAMES for pair in loaded(name, {}))
    contexts = list(creddata.read(folder / "creddata_subset" / "creddata_open.jsonl").records)
    files = samples(folder / "credsweeper_samples" / "credsweeper_samples_open.jsonl")
    print("\n".join(table("CredData contexts", contexts, detectors)), flush=True)
    print("\n".join(table("CredSweeper's samples", files, detectors)), flush=True)
    with tempfile.TemporaryDirectory() as made:
        before = time.process_time()
        numbers = fit([record for record in contexts if first_half(record)], Path(made), {})
        seconds = time.process_time() - before
        learned = f"{numbers['tokens']:,} tokens with {numbers['targets']} targets in {seconds:.0f} CPU seconds"
        print(f"\nThe classifier learned {learned}.")
        detectors |= dict(loaded("classifier", {"model": made}))
        others = [record for record in contexts if not first_half(record)]
        print("\n".join(table("CredData contexts of the other half of the repositories", others, detectors)))


if __name__ == "__main__":
    main()
