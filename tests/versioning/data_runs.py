"""Finished runs with small data in their store, made without any stage."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from sm_ops.core import fs
from sm_ops.core.home import Run
from sm_ops.core.stage import Output, Stage, Step
from sm_ops.core.store import Record, Store

ROW = b'{"id": "a", "text": "the password of Erika is zq7-canary-value"}\n'
MASKED = b'{"id": "a", "text": "the password of [NAME] is [SECRET]"}\n'
PUBLIC = b'{"id": "a", "text": "redacted"}\n'

Files = dict[tuple[str, str, str], bytes]


def files(train: bytes = ROW) -> Files:
    """Data of three stages by step, output and class, and a model, which is none."""
    return {
        ("synthesize", "train.jsonl", "restricted"): train,
        ("mask", "masks.parquet", "internal"): b"PAR1 masks",
        ("mask", "coverage.json", "internal"): b"{}",
        ("redact", "redacted.jsonl", "public"): PUBLIC,
        ("train@SM95-0", "model", "restricted"): b"weights",
    }


def make_run(home: Path, content: Files | None = None, name: str = "small") -> Run:
    """A finished run whose steps wrote `content`."""
    store, records = Store(home), {}
    by_step: dict[str, Files] = {}
    for key, data in (content or files()).items():
        by_step.setdefault(key[0], {})[key] = data
    for step_name, each in by_step.items():
        outputs = tuple(Output(output, cls) for _, output, cls in each)  # type: ignore[arg-type]
        stage = Stage(step_name.partition("@")[0], 1, "none:run", outputs)
        print_ = fs.sha256(b"".join(each.values()) + step_name.encode())
        step = Step(step_name, stage, {})
        with store.workspace(step, print_) as workspace:
            for output, data in zip(outputs, each.values(), strict=True):
                workspace.path(output).write_bytes(data)
            described = {o.name: store.describe(o, workspace.path(o)) for o in outputs}
            now = datetime.now(UTC).isoformat(timespec="milliseconds")
            records[step_name] = Record(step_name, stage.name, print_, {}, described, {}, 0.1, now)
            store.commit(records[step_name], workspace)
    return Run.save(home, {"name": name, "flow": "surprise"}, records)


def holding(folder: Path, data: bytes) -> list[Path]:
    """Files below a folder that are exactly these bytes."""
    return [path for path in folder.rglob("*") if path.is_file() and path.read_bytes() == data]
