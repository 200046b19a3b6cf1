"""Releases for checks, made by hand: what the sources hold, what was released of it, and what is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from sm_ops.core import fs
from sm_ops.core.settings import Settings
from sm_ops.release.checking import Bundle, Outcome
from sm_ops.release.folder import Release
from sm_ops.release.policy import parse

Json = dict[str, Any]
VALUE = "qx7k-édvz2/wjhp tmbr"
"""Nothing that occurs by chance; its separators and its letter beyond ASCII take another form when escaped."""
SHORT = "Kim"
TEXT = f"Please ask {VALUE} about the form.\nThen file it."
START = TEXT.index(VALUE)
END = START + len(VALUE)
RELEASED = "Please ask [MASKED] about the form.\nThen file it."
ABOUT = {
    "title": "Notes",
    "description": "Short notes.",
    "licence": "CC0-1.0",
    "sources": [{"name": "made up", "url": None, "licence": "CC0-1.0"}],
}
EXTRACTION = {"condition": "SM95", "clusters": 24, "approx": {"k": 0, "n": 72, "low": 0.0, "high": 0.1380}}
SUITABILITY = {"decision": "suitable", "auroc": 0.949}
RATE = {"k": 1, "n": 1, "low": None, "high": None}
REDACTION = {"placeholder": "[MASKED]", "records": 2, "spans": RATE, "by_label": {"PERSON": RATE}}


def source(number: int, text: str = TEXT, spans: Sequence[tuple[int, int]] = ((START, END),)) -> Json:
    return {
        "id": f"r{number}",
        "text": text,
        "spans": [{"start": start, "end": end, "label": "PERSON"} for start, end in spans],
    }


SOURCES = [source(0), source(1, "Nothing to see.", ())]
ROWS = [{"id": "r0", "text": RELEASED}, {"id": "r1", "text": "Nothing to see."}]
PLACES = [{"id": "r0", "intervals": [[START, END]]}, {"id": "r1", "intervals": []}]


def bundle(
    home: Path,
    rows: Mapping[str, Sequence[Json]] | None = None,
    *,
    sources: Mapping[str, Sequence[Json]] | None = None,
    places: Mapping[str, Sequence[Json]] | None = None,
    method: str = "redacted",
    about: Json | None = None,
    evidence: Mapping[str, Json] | None = None,
    policy: Json | None = None,
    vault: str | Mapping[str, str] | None = None,
    values: Mapping[str, str] | None = None,
    extra: Mapping[str, bytes] | None = None,
    origin: bool = True,
) -> Bundle:
    """A bundle and its restricted files, as `build` leaves them, without signatures; everything is well by default."""
    release = Release(home, "notes", "1")
    rows = {"train.jsonl": ROWS} if rows is None else rows
    files = {f"data/{shard}": lines(given) for shard, given in rows.items()}
    files |= {
        "config.json": text({"about": ABOUT if about is None else about}),
        "policy.yaml": yaml.safe_dump(policy or {"format": "policy/1"}).encode(),
        "lineage.json": text({"format": "lineage/1", "steps": []}),
        "packages.cdx.json": text({"bomFormat": "CycloneDX"}),
        "croissant.json": text({"@type": "sc:Dataset", "recordSet": []}),
        "frontier.svg": b"<svg xmlns='http://www.w3.org/2000/svg'/>\n",
    }
    shown = {"extraction": EXTRACTION, "suitability": SUITABILITY, "redaction": REDACTION}
    shown = shown if evidence is None else evidence
    files |= {f"evidence/{name}.json": text(value) for name, value in shown.items()} | dict(extra or {})
    manifest = {
        "format": "release/1",
        "release": str(release),
        "created": "2026-01-01T00:00:00Z",
        "method": method,
        "files": [
            {"path": path, "sha256": fs.sha256(data), "size": len(data)}
            | ({"rows": data.count(b"\n")} if path.startswith("data/") else {})
            for path, data in sorted(files.items())
        ],
    }
    for path, data in {**files, "manifest.json": text(manifest)}.items():
        fs.write_atomic(release.folder / path, data)
    if origin:
        sources = {"train.jsonl": SOURCES} if sources is None else sources
        places = ({"train.jsonl": PLACES} if method == "redacted" else {}) if places is None else places
        write_origin(release, method, sources, places, vault, values or {})
    return Bundle.of(release)


def write_origin(
    release: Release,
    method: str,
    sources: Mapping[str, Sequence[Json]],
    places: Mapping[str, Sequence[Json]],
    vault: str | Mapping[str, str] | None = None,
    values: Mapping[str, str] | None = None,
) -> None:
    folder = fs.private_folder(release.home / "restricted")
    for kind, given in (("source", sources), ("places", places)):
        for shard, rows in given.items():
            fs.write_atomic(folder / kind / shard, lines(rows))
    for name, content in (values or {}).items():
        fs.write_atomic(folder / "values" / name, content.encode())
    said = {
        "format": "origin/1",
        "method": method,
        "run": None,
        "sources": {shard: str(folder / "source" / shard) for shard in sources},
        "places": {shard: str(folder / "places" / shard) for shard in places} or None,
        "values": [str(folder / "values" / name) for name in values or {}],
        "vault": vault,
    }
    fs.write_json(release.origin, said)


def settings(check: str, **given: Any) -> Settings:
    """The settings of a check, the missing ones as the policy fills them in."""
    data = yaml.safe_dump({"format": "policy/1", "checks": {check: given}}).encode()
    return Settings(parse(data).checks.plain()[check])


def run(check: str, given: Bundle, **options: Any) -> Outcome:
    from sm_ops.core import registry

    return registry.load("check", check).run(given, settings(check, **options))


def lines(rows: Sequence[Json]) -> bytes:
    return b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)


def text(value: Any) -> bytes:
    return json.dumps(value, indent=1, ensure_ascii=False).encode() + b"\n"
