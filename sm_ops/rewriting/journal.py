"""What outlives a failure: the answers of a step, and the list of every text that was sent out of the house.

Both are restricted. A journal lies in the step's scratch folder and holds answers by the digest of their request, so
that a call which was answered is never made again. The list, `restricted/sent.jsonl` of the home, holds a line for
each attempt, written before it: when, to whom, for which role, and the SHA-256 of each text of the data in it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Any

from sm_ops.core import fs
from sm_ops.rewriting.endpoint import Answer, Endpoint

SENT = Path("restricted") / "sent.jsonl"
FORMAT = "sent/1"


class Journal:
    """Answers by digest, on disk as soon as they came. A line that a kill cut short counts as not written."""

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, Lock()
        self._known: dict[str, Answer] = {}
        if path.is_file():
            for line in path.read_bytes().split(b"\n"):
                try:
                    entry = json.loads(line)
                    self._known[entry["request"]] = Answer(**entry["answer"])
                except (ValueError, TypeError, KeyError):
                    continue

    def get(self, digest: str) -> Answer | None:
        """The answer to a request that was made before."""
        return self._known.get(digest)

    def put(self, digest: str, answer: Answer) -> None:
        """Keep an answer; it is on disk when this returns."""
        with self._lock:
            append(self._path, {"request": digest, "answer": asdict(answer)})
            self._known[digest] = answer


class SentLog:
    """The list of what one step sends."""

    def __init__(self, home: Path, endpoint: Endpoint, purpose: str) -> None:
        """`purpose` names the step's condition."""
        fs.private_folder(home / SENT.parent)
        self._path = home / SENT
        self._about = {
            "format": FORMAT, "role": endpoint.role, "to": endpoint.address, "model": endpoint.model, "for": purpose,
        }  # fmt: skip

    def line(self, request: str, texts: Sequence[str], attempt: int) -> None:
        """List an attempt that is about to be made."""
        append(
            self._path,
            {
                **self._about,
                "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
                "request": request,
                "attempt": attempt,
                "texts": [fs.sha256(text.encode()) for text in texts],
                "characters": sum(map(len, texts)),
            },
        )


def append(path: Path, entry: dict[str, Any]) -> None:
    """Add a line in one write, and wait until it is on disk; the file is its owner's alone.

    It begins with a line end, so that a line which a kill cut short spoils no other.
    """
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, b"\n" + fs.canonical_json(entry) + b"\n")
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
