"""How fast filters read a corpus, what the pipeline adds, and how much memory a step takes whatever the corpus's size.

Run with `python benchmarks/sanitize.py [--quick]`; it prints the tables of `results/sanitize.md`. The corpus is the
standard library cut into records of about 2,000 characters, again and again to the size that is asked for. Each figure
is of a process of its own: CPU seconds of all its threads and children, and its largest resident memory. What loading
costs is measured on one record and taken off, so that a rate is of the corpus alone. Rates are of the quickest of three
turns: what else runs on a machine only ever adds.

* alone: a bare loop of `json.loads` and the detector's `detect` (the scorer's `rows` for surprise), nothing written
* inside: the step `san_levels`: records read and checked, the same filter, levels written to Parquet
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ |= {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sm_ops.core import fs, registry
from sm_ops.core.records import Record
from sm_ops.core.settings import Settings
from sm_ops.core.stage import Context
from sm_ops.data.hosts import source_files
from sm_ops.data.records import read_records, write_records
from sm_ops.sanitizing.crossfit import WHOLE
from sm_ops.sanitizing.rules import rule_of
from sm_ops.scoring.backends import ngram
from sm_ops.steps import san_corpus, san_levels, san_redact

RECORD = 2_000
BATCH = 1 << 16
SURPRISE = "surprise"
MEGABYTES = {"regex": 4.0, "shapes": 8.0, "detect_secrets": 1.0, "credsweeper": 0.5, "presidio": 0.25, SURPRISE: 4.0}
REPEATS = 3
MEMORY = (10, 100)
STEPS = (("prepared", ""), ("inside", "shapes"), ("redacted", "shapes"), ("inside", SURPRISE), ("redacted", SURPRISE))
REFERENCE = {"backend": "ngram", "model": None, "fit": None, "order": 4, "vocab_size": 512, "prompt": None,
             "violating": None, "workers": 1, "engine": "local"}  # fmt: skip


def corpus(characters: int) -> Iterator[Record]:
    """Pieces of the standard library's modules, over and over, to at least so many characters."""
    number = total = 0
    while True:
        for file in source_files(None):
            for start in range(0, len(file.text), RECORD):
                piece = file.text[start : start + RECORD]
                if piece.strip():
                    yield Record(f"{number:07d}", text=piece)
                    number, total = number + 1, total + len(piece)
                    if total >= characters:
                        return


def alone(name: str, path: Path, model: Path) -> None:
    """A filter over the texts of a file."""
    records = _bare(path)
    if name == SURPRISE:
        reference = registry.load("reference", "ngram").load(Settings({**REFERENCE, "model": str(model / WHOLE)}))
        scorer = registry.load("scorer", SURPRISE)
        for _ in scorer.rows(records, reference, Settings({"rule": rule_of({}, "creddata")})):
            pass
        return
    detector, batch, size = registry.load("detector", name).load({}), [], 0
    for record in records:
        batch.append(record.content)
        size += len(record.content)
        if size >= BATCH:
            detector.detect(batch)
            batch, size = [], 0
    if batch:
        detector.detect(batch)


def _bare(path: Path) -> Iterator[Record]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            yield Record(row["id"], text=row["text"])


def inside(name: str, path: Path, model: Path) -> None:
    """The same filter as a step; the validation side is one record."""
    folder = path.parent / f"{name}-{path.stem}"
    folder.mkdir(exist_ok=True)
    one = path.parent / "one.jsonl"
    (path.parent / "about.json").write_text(json.dumps({"rule": "creddata"}))
    inputs = {"validation": one, "records": path, "corpus": path.parent / "about.json"}
    own = {"kind": SURPRISE, "reference": "ngram", "detector": None, "rule": {}, "settings": {}, "workers": 1}
    if name == SURPRISE:
        inputs["fitted"] = model
    else:
        own |= {"kind": "detector", "detector": name, "reference": None}
    outputs = {side: folder / f"{side}.parquet" for side in ("validation", "records")}
    settings = Settings({"name": name, "filter": own, "reference": REFERENCE})
    san_levels.run(settings, Context(inputs, outputs, folder / "scratch"))


def prepared(name: str, path: Path, model: Path) -> None:
    """The step that reads the corpus, audits what its sides share and writes them."""
    del name, model
    folder = path.parent / f"corpus-{path.stem}"
    folder.mkdir(exist_ok=True)
    names = ("corpus.json", "public.jsonl", "validation-0.jsonl", "records-0.jsonl")
    own = {"name": "records", "validation": str(path.parent / "labelled.jsonl"), "records": str(path), "settings": {},
           "families": None, "folds": None, "seed": 0, "public_chars": 0}  # fmt: skip
    context = Context({}, {Path(each).stem: folder / each for each in names}, folder / "scratch")
    san_corpus.run(Settings({"corpus": own}), context)


def redacted(name: str, path: Path, model: Path) -> None:
    """The step that cleans, over the levels that `inside` wrote."""
    del model
    folder = path.parent / f"{name}-{path.stem}"
    choice = {"filter": name, "tau": 12.0 if name == SURPRISE else 0.0, "decision": "suitable", "reason": ""}
    fs.write_json(folder / "measures.json", {"choice": choice})
    inputs = {"records/0": path, "measures/0": folder / "measures.json", f"levels/0/{name}": folder / "records.parquet"}
    outputs = {Path(each).stem: folder / each for each in ("redacted.jsonl", "redaction.json", "places.jsonl")}
    san_redact.run(Settings({}), Context(inputs, outputs, folder / "scratch"))


TASKS = {each.__name__: each for each in (alone, inside, prepared, redacted)}


def measured(task: str, name: str, path: Path, model: Path) -> dict[str, float]:
    """CPU seconds and peak memory (MB) of a task in a process of its own."""
    command = [sys.executable, __file__, "--child", task, name, str(path), str(model)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def child(task: str, name: str, path: str, model: str) -> None:
    """Do a task and print what it took."""
    TASKS[task](name, Path(path), Path(model))
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu = sum(each.ru_utime + each.ru_stime for each in used)
    print(json.dumps({"cpu": cpu, "peak": max(each.ru_maxrss for each in used) / 1024}))


def speeds(folder: Path, model: Path, scale: float) -> list[dict[str, Any]]:
    """Rates of each filter, alone and inside the step; the slope between one record and the corpus."""
    rows = []
    for name, megabytes in MEGABYTES.items():
        path = folder / f"{name}.jsonl"
        write_records(path, corpus(int(megabytes * scale * 1e6)))
        size = sum(len(record.content.encode()) for record in read_records(path)) / 1e6
        turns = [
            {(task, each): measured(task, name, each, model)["cpu"] for task in ("alone", "inside")
             for each in (path, folder / "one.jsonl")}
            for _ in range(REPEATS)
        ]  # fmt: skip
        least = {key: min(turn[key] for turn in turns) for key in turns[0]}
        taken = {task: least[task, path] - least[task, folder / "one.jsonl"] for task in ("alone", "inside")}
        rows.append({"filter": name, "mb": size, **{task: size / cpu for task, cpu in taken.items()},
                     "overhead": taken["inside"] / taken["alone"] - 1})  # fmt: skip
    return rows


def memories(folder: Path, model: Path, scale: float) -> list[dict[str, Any]]:
    """CPU seconds and peak memory of the steps at two sizes of the corpus."""
    rows = []
    for megabytes in MEMORY:
        path = folder / f"of-{megabytes}.jsonl"
        write_records(path, corpus(int(megabytes * scale * 1e6)))
        for task, name in STEPS:
            rows.append({"step": task, "filter": name, "mb": megabytes * scale, **measured(task, name, path, model)})
    return rows


def main(quick: bool) -> None:
    """Measure and print."""
    scale = 0.1 if quick else 1.0
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_records(folder / "one.jsonl", corpus(1))
        (first,) = read_records(folder / "one.jsonl")
        row = {"id": "v", "text": first.content, "spans": [{"start": 0, "end": 3, "label": "x"}]}
        (folder / "labelled.jsonl").write_text(json.dumps(row) + "\n")
        model = folder / "model"
        ngram.fit([record.content for record in corpus(400_000)], model / WHOLE, order=4, vocab_size=512)
        print("| filter | MB | alone, MB per CPU second | inside the step | overhead |\n|---|---|---|---|---|")
        for each in speeds(folder, model, scale):
            rates = f"{each['alone']:.3g} | {each['inside']:.3g} | {100 * each['overhead']:+.1f} %"
            print(f"| {each['filter']} | {each['mb']:.2f} | {rates} |", flush=True)
        print("\n| step | filter | MB | CPU seconds | peak memory, MB |\n|---|---|---|---|---|")
        for each in memories(folder, model, scale):
            print(f"| {each['step']} | {each['filter']} | {each['mb']:g} | {each['cpu']:.1f} | {each['peak']:.0f} |")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(*sys.argv[2:])
    else:
        main("--quick" in sys.argv)
