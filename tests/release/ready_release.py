"""Releases that can be published: built by hand, checked by the verb (publishing checks again), approved by two."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import made_release
from made_release import POLICY, ROWS, approve, make_bundle, request

from sm_ops.release.folder import CONFIG, EVIDENCE, Release
from sm_ops.release.verbs.check import check

ABOUT = {"title": "Notes", "description": "Notes of calls, without names.", "licence": "CC-BY-4.0"}
LOCKED = POLICY | {"object_lock": {"data_days": 1, "record_days": 2}}


def ready(
    home: Path,
    version: str = "1",
    name: str = "notes",
    rows: Iterable[Mapping[str, Any]] = ROWS,
    policy: Mapping[str, Any] = POLICY,
) -> Release:
    """An approved release."""
    redaction = {"records": 3, "spans": {"k": 3, "n": 3, "low": None, "high": None}}
    extra = {CONFIG: made_release.canonical({"about": ABOUT})}
    extra |= {f"{EVIDENCE}/redaction.json": made_release.canonical(redaction)}
    release = make_bundle(home, name, version, rows=rows, policy=policy, extra=extra)
    assert check(release).passed
    request(release)
    approve(release, "ben", "cleo")
    return release
