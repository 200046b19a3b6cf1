"""Real contexts with credentials: measures of a crude filter against counting characters."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from sm_ops.core.registry import load
from sm_ops.data.folds import folds
from sm_ops.sanitizing.folding import fold
from sm_ops.sanitizing.labels import left_out
from sm_ops.sanitizing.levels import Filter
from sm_ops.sanitizing.measuring import measure
from sm_ops.sanitizing.plan import Plan
from sm_ops.sanitizing.profiles import Profile
from sm_ops.sanitizing.sides import Side

RUN = re.compile(r"[A-Za-z0-9+/_=-]+")
FILTER = Filter("runs", "surprise")


def long_runs(records) -> Side:
    """Long runs of letters and digits are suspicious, by how many digits they hold."""
    profiles = []
    for record in records:
        found = [(*match.span(), sum(map(str.isdigit, match[0]))) for match in RUN.finditer(record.content)]
        columns = [np.array([each[place] for each in found]) for place in range(3)]
        profiles.append(Profile.of(len(record.content), *columns))
    return Side(records, {"runs": profiles})


def masked(record, tau) -> set[int]:
    runs = (match for match in RUN.finditer(record.content) if sum(map(str.isdigit, match[0])) >= tau)
    return {place for match in runs for place in range(*match.span())}


def test_credentials_in_real_code(shared):
    path = shared / "data" / "creddata_subset" / "creddata_open.jsonl"
    if not path.exists():
        pytest.skip("the subset of CredData is not there")
    pool = list(load("corpus", "creddata").read(path))
    parts = folds(pool, 2, seed=0)
    found = [
        measure(long_runs(part.validation), long_runs(part.application), [FILTER], Plan(regimes=["backend"]))
        for part in parts
    ]
    json.dumps(found, allow_nan=False)

    own = found[0]["filters"]["runs"]
    counts = {"tp": 0, "fp": 0, "fn": 0, "tn": 0}
    for record in parts[0].application:
        gold = {place for start, end, _ in record.content_spans for place in range(start, end)}
        seen = set(range(len(record.content)))
        seen -= {place for start, end in left_out(record) for place in range(start, end)} - gold
        hit = masked(record, own["tau"])
        counts["tp"] += len(gold & hit)
        counts["fn"] += len(gold - hit)
        counts["fp"] += len((seen - gold) & hit)
        counts["tn"] += len(seen - gold - hit)
    assert own["application"]["counts"] == counts
    assert own["application"]["clusters"] == len({record.group for record in parts[0].application})
    assert sum(row["anchors"]["true"] for row in own["application"]["categories"]) == sum(
        len(record.spans) for record in parts[0].application
    )
    for name in ("auroc", "f1", "tpr", "fpr"):
        value = own["application"][name]
        assert value["low"] <= value["value"] <= value["high"]

    together = fold(found)["filters"]["runs"]
    values = [each["filters"]["runs"]["application"]["f1"]["value"] for each in found]
    assert together["application"]["f1"]["mean"] == pytest.approx(np.mean(values))
    assert all(1 <= row["supported"] <= 2 for row in together["categories"])
