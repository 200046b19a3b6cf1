"""Code PII: made-up private values of known people in real programs, as a corpus to be sanitized (paper, A.1).

The data set of this name gives the programs: its calibration split is the validation side, its training split is what
is cleaned, and its public code shares no file and no program with either. People are the groups.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from sm_ops.core.records import Record
from sm_ops.core.settings import Settings
from sm_ops.data.audit import containing, private_values
from sm_ops.data.corpora._reading import SIDES_BY_SPLIT, Reading, check_generated, with_defaults
from sm_ops.data.dataset import Dataset
from sm_ops.data.datasets import code_pii

RULE = SETTING = "code_pii"
CODE = True
SIDES = SIDES_BY_SPLIT
_DEFAULTS = {
    "split": "train",
    "seed": 0,
    "hosts": None,
    "identities": 6,
    "repetitions": 8,
    "values_per_program": 1,
    "clean": 96,
    "calibration_identities": 5,
    "calibration_repetitions": 3,
    "calibration_clean": 30,
    "utility": 0,
    "reference": 0,
    "form": "text",
    "min_chars": 250,
    "max_chars": 900,
    "public_chars": 400_000,
}


def read(path: str | Path | None = None, settings: Mapping[str, Any] = {}) -> Reading:
    """The programs of one split, the same for equal settings; spans are labelled by kind of value.

    Reads `split` (calibration | train | utility | reference | public), `seed` and the settings of the data set.
    Modules of public code in which a planted value occurs are left out and counted.
    Raises `InputError` for a path, since nothing is read, for unknown settings, and where there are not hosts enough.
    """
    values = with_defaults("code_pii", settings, _DEFAULTS)
    check_generated("code_pii", path, values["split"])
    own, data = Settings(values), _generated(json.dumps({**values, "split": None}, sort_keys=True))
    if own.split != "public":
        return Reading(iter(data.splits[own.split]), Counter())
    public = code_pii.public_code(own, own.seed, own.public_chars, data.host_files, data.shapes)
    texts = [(record.id, record.content) for record in public]
    holding = set(containing(private_values(data.records), texts))
    clean: list[Record] = [record for record in public if record.id not in holding]
    return Reading(iter(clean), Counter({"a planted value": len(holding)} if holding else {}))


@lru_cache(maxsize=1)
def _generated(settings: str) -> Dataset:
    """The data set of some settings: its sides are read one after the other."""
    own = Settings(json.loads(settings))
    return code_pii.generate(own, own.seed)
