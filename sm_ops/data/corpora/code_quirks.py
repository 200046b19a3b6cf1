"""Code Quirks: programs written the way somebody always writes, as a corpus to be sanitized (paper, A.2).

The data set of this name gives the programs: its calibration panel is the validation side, its users are what is
cleaned, and its public code shares no program with either. Users are the groups, quirks the categories.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from sm_ops.core.settings import Settings
from sm_ops.data.corpora._reading import SIDES_BY_SPLIT, Reading, check_generated, with_defaults
from sm_ops.data.dataset import Dataset
from sm_ops.data.datasets.code_pii import public_code

RULE = SETTING = "code_quirks"
CODE = True
SIDES = SIDES_BY_SPLIT
_DEFAULTS = {
    "split": "train",
    "seed": 0,
    "hosts": None,
    "identities": 10,
    "repetitions": 40,
    "clean": 0,
    "calibration_identities": 6,
    "calibration_repetitions": 30,
    "calibration_clean": 0,
    "utility": 0,
    "reference": 0,
    "form": "text",
    "public_chars": 400_000,
}


def read(path: str | Path | None = None, settings: Mapping[str, Any] = {}) -> Reading:
    """The programs of one split, the same for equal settings; spans are labelled by quirk.

    Reads `split` (calibration | train | utility | reference | public), `seed`, the settings of the data set, and of
    public code `hosts` (a folder of .py files or records; null: the standard library) and `public_chars`.
    Raises `InputError` for a path, since nothing is read, for unknown settings, and where tasks or code do not suffice.
    """
    values = with_defaults("code_quirks", settings, _DEFAULTS)
    check_generated("code_quirks", path, values["split"])
    own, data = Settings(values), _generated(json.dumps({**values, "split": None}, sort_keys=True))
    if own.split != "public":
        return Reading(iter(data.splits[own.split]), Counter())
    return Reading(iter(public_code(own, own.seed, own.public_chars, set(), data.shapes)), Counter())


@lru_cache(maxsize=1)
def _generated(settings: str) -> Dataset:
    """The data set of some settings: its sides are read one after the other."""
    from sm_ops.data.datasets import code_quirks  # it needs libcst, which to recognise another corpus does not

    own = Settings(json.loads(settings))
    return code_quirks.generate(own, own.seed)
