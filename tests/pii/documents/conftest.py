"""The data set of seed 42, made once."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from sm_ops.pii.documents import generate

PARTITIONS = ("train", "validation", "test")


@pytest.fixture(scope="session")
def made(tmp_path_factory) -> SimpleNamespace:
    """`folder`, `manifest`, `records` in file order, `spans` and `hard` by id."""
    folder = tmp_path_factory.mktemp("documents")
    manifest = generate(folder)
    rows = [row for partition in PARTITIONS for row in lines(folder / f"{partition}.jsonl")]
    offsets = [row for partition in PARTITIONS for row in lines(folder / f"{partition}.spans.jsonl")]
    return SimpleNamespace(
        folder=folder,
        manifest=manifest,
        records=rows,
        spans={row["id"]: row["spans"] for row in offsets},
        hard={row["id"]: row["hard"] for row in offsets},
    )


def lines(path: Path) -> list[dict]:
    """The rows of a JSONL file, read without any change of line ends."""
    return [json.loads(line) for line in path.read_bytes().decode().removesuffix("\n").split("\n")]
