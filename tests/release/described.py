"""A bundle's own files written by hand, before anything is signed: what card, page and metadata read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from sm_ops.core import fs

Json = dict[str, Any]

TEXTS: Sequence[Json] = [
    {"id": "n-1", "text": "call [MASKED] back"},
    {"id": "n-2", "text": "[MASKED] wrote on Monday"},
    {"id": "n-3", "text": "nothing to hide"},
]
CHATS: Sequence[Json] = [
    {
        "id": "c-1",
        "messages": [{"role": "user", "content": "who is it?"}, {"role": "assistant", "content": "[MASKED]"}],
    },
    {"id": "c-2", "messages": [{"role": "user", "content": "thanks"}]},
]
ABOUT: Json = {
    "title": "Telephone notes",
    "description": "Notes of calls, redacted.",
    "licence": "CC-BY-4.0",
    "sources": [{"name": "The call desk", "url": "https://example.org/desk", "licence": "MIT"}, {"name": "Old notes"}],
    "languages": ["en"],
    "tags": ["privacy"],
    "intended_use": ["Training of small models."],
    "not_for": ["Finding people."],
    "limits": ["Notes are short."],
    "biases": ["Calls of one desk."],
    "personal": ["Names and telephone numbers."],
    "collection": "Written down by clerks.",
    "annotation": "Two readers marked names.",
    "annotators": ["clerk"],
    "creator": "Example office",
    "maintainers": ["privacy team"],
    "maintenance": "A leak is corrected by a new version within a week.",
    "contact": "privacy@example.org",
    "citation": "@misc{notes,\n  title = {Telephone notes}\n}",
}
POLICY: Json = {
    "format": "policy/1",
    "approvals": {"count": 2, "roles": ["privacy"], "days": 14},
    "release_days": 90,
    "checks": {"canaries": {"bound": 0.15}},
}
EVIDENCE: dict[str, Json] = {
    "redaction": {
        "placeholder": "[MASKED]",
        "point": "SM95",
        "records": 3,
        "changed": 2,
        "intervals": 2,
        "characters": {"removed": 12, "all": 48},
        "spans": {"k": 2, "n": 2, "low": None, "high": None},
        "spans_by_point": {"k": 1, "n": 2, "low": None, "high": None},
        "by_label": {"name": {"k": 2, "n": 2, "low": None, "high": None}},
    },
    "extraction": {
        "condition": "SM95",
        "attack": "prefix_extraction",
        "budget": 128,
        "seeds": 3,
        "clusters": 24,
        "approx": {"k": 1, "n": 72, "low": 0.0025, "high": 0.0746},
        "exact": {"k": 0, "n": 72, "low": 0.0, "high": 0.138},
        "unmasked": {
            "approx": {"k": 68, "n": 72, "low": 0.842, "high": 0.982},
            "exact": {"k": 36, "n": 72, "low": 0.387, "high": 0.613},
        },
    },
    "utility": {"condition": "SM95", "nll": 3.8042, "nll_se": 0.0021, "nll_change": 0.023, "seeds": 3},
    "suitability": {"decision": "suitable", "reason": "It separates well.", "auroc": 0.9494, "target_tokens": 1524},
}
FRONTIER = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 4 4"><circle cx="2" cy="2" r="1"/></svg>\n'


def check(name: str, status: str, severity: str = "block", sentence: str = "", **more: Any) -> Json:
    """An entry of checks.json."""
    entry = {"name": name, "severity": severity, "status": status, "waived": None, "measured": {}}
    return entry | {"sentence": sentence or f"This is {name}."} | more


def checks(*entries: Json) -> Json:
    return {"format": "checks/1", "release": "notes@1.0", "verdict": "pass", "checks": list(entries)}


def described(
    folder: Path,
    about: Mapping[str, Any] = ABOUT,
    evidence: Mapping[str, Json] = EVIDENCE,
    shards: Mapping[str, bytes] | None = None,
    policy: Mapping[str, Any] = POLICY,
    method: str = "redacted",
    frontier: str | None = FRONTIER,
) -> Json:
    """Write a bundle's files below `folder`, without the metadata, and return the draft of its manifest."""
    shards = {"train.jsonl": lines(TEXTS)} if shards is None else shards
    files = {f"data/{name}": data for name, data in shards.items()}
    files |= {f"evidence/{name}.json": json.dumps(value).encode() for name, value in evidence.items()}
    files["config.json"] = json.dumps({"about": about, "method": method}).encode()
    files["policy.yaml"] = yaml.safe_dump(dict(policy), sort_keys=False).encode()
    steps = [{"step": "redact", "sentence": "Notes of the desk were redacted.", "inputs": {}, "outputs": {}}]
    files["lineage.json"] = json.dumps({"format": "lineage/1", "steps": steps}).encode()
    if frontier is not None:
        files["frontier.svg"] = frontier.encode()
    for path, data in files.items():
        fs.write_atomic(folder / path, data)
    listed = [
        {"path": path, "sha256": fs.sha256(data), "size": len(data), "rows": _rows(folder / path, data)}
        for path, data in sorted(files.items())
        if path.startswith("data/")
    ]
    manifest = {
        "format": "release/1",
        "release": "notes@1.0",
        "name": "notes",
        "version": "1.0",
        "created": "2026-01-31T12:00:00Z",
        "method": method,
        "builder": {"key": "0" * 64, "public": "ab" * 32},
        "files": listed,
    }
    fs.write_json(folder / "manifest.json", manifest)
    return manifest


def lines(rows: Sequence[Json]) -> bytes:
    return b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)


def parquet(rows: Sequence[Json]) -> bytes:
    import io

    import pyarrow as pa
    import pyarrow.parquet as pq

    stream = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(list(rows)), stream)
    return stream.getvalue()


def _rows(path: Path, data: bytes) -> int:
    if path.suffix == ".jsonl":
        return data.count(b"\n")
    import pyarrow.parquet as pq

    return pq.read_metadata(path).num_rows
