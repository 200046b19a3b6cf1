"""What several processes cannot share is refused before anything runs; their number is part of a result's identity."""

from __future__ import annotations

from pathlib import Path

import pytest

from sm_ops.core.config import load_pipeline, resolve
from sm_ops.core.errors import InputError
from sm_ops.core.fingerprint import payload
from sm_ops.plans import plan

pytestmark = pytest.mark.unit

SMALLEST = Path(__file__).parents[1] / "pipelines" / "smallest.yaml"


@pytest.mark.parametrize(
    ("preset", "overrides", "words"),
    [
        ("tiny", ["train.processes=3"], "3 processes divide neither accumulation 1 nor batch_size 4"),
        ("tiny", ["train.processes=0"], "train.processes is 0"),
        ("tiny", ["train.parallel=fsdp"], "nearest is fsdp2"),
        ("tiny", ["train.processes=2", "train.parallel=fsdp2", "train.optimizer=muon"], "muon needs whole matrices"),
        ("tiny", ["train.processes=2", "train.intervention=clip"], "whole microbatches"),
        ("tiny", ["train.processes=2", "train.compare=[clip]"], "whole microbatches"),
        ("audit_tiny", ["train.processes=2", "train.patience=1", "train.parallel=fsdp2", "train.optimizer=adamw"],
         "patience keeps the weights"),
        ("audit_tiny", ["train.processes=2"], "a private defence is trained in one process"),
        ("pii_tiny", ["tune.processes=2", "base.quantization=4bit"], "a quantized base is tuned in one process"),
    ],
)  # fmt: skip
def test_what_cannot_be_shared_is_refused(preset, overrides, words):
    with pytest.raises(InputError) as refused:
        load_pipeline(preset, overrides)
    assert words in refused.value.hint


@pytest.mark.parametrize(
    "overrides",
    [
        ["train.processes=2"],
        ["train.processes=3", "train.accumulation=6"],
        ["train.processes=2", "train.accumulation=2", "train.compare=[clip]"],
        ["train.parallel=fsdp2", "train.optimizer=muon"],  # of one process
    ],
)
def test_what_can_be_shared_is_not(overrides):
    load_pipeline(str(SMALLEST), overrides)


@pytest.mark.parametrize("override", ["train.processes=2", "train.parallel=fsdp2"])
def test_processes_are_part_of_the_identity_of_what_they_train(override):
    plain, shared = (
        {step.name: payload(step, {}) for step in plan(resolve(load_pipeline(str(SMALLEST), given)))}
        for given in ([], [override])
    )
    assert {name.partition("@")[0] for name in plain if plain[name] != shared[name]} == {"train"}
