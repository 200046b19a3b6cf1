"""TAB: court cases of the Text Anonymization Benchmark, whose direct and quasi identifiers are to be masked.

Both layouts of the reader `standoff` are read. Mentions that need no masking (NO_MASK) are other content.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sm_ops.data.corpora import standoff
from sm_ops.data.corpora._reading import Reading, with_defaults

RULE = "piibench_raw"
_DEFAULTS = {"annotator": None, "identifiers": ("DIRECT", "QUASI"), "label": "entity"}


def recognises(row: dict[str, Any]) -> bool:
    """Whether a row is a case in the benchmark's own layout, or in that of a document a line."""
    return ("doc_id" in row and "annotations" in row) or ("tab_split" in row and "spans" in row)


def read(path: str | Path | None, settings: Mapping[str, Any] = {}) -> Reading:
    """One record a case, its own group, its spans labelled by entity type.

    Reads `annotator`, `identifiers` and `label` as the corpus `standoff` does, and raises what it raises.
    """
    return standoff.read(path, with_defaults("tab", settings, _DEFAULTS))
