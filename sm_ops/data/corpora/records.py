"""Records: our own record files, as they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sm_ops.data.corpora._reading import Reading, place, with_defaults
from sm_ops.data.records import read_records


def read(path: str | Path | None, settings: Mapping[str, Any] = {}) -> Reading:
    """The records of a JSONL or Parquet file; it has no settings. Raises what `read_records` raises."""
    with_defaults("records", settings, {})
    return Reading(read_records(place("records", path)), Counter())
