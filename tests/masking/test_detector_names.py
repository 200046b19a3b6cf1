"""Detectors as conditions: their names, their place among the others, and the steps and DVC stages they make."""

from __future__ import annotations

from typing import Any

import pytest

from sm_ops.core.config import built, resolve
from sm_ops.core.config.surprise import MASK_FILES
from sm_ops.core.errors import InputError
from sm_ops.evaluation.frontier import family
from sm_ops.masking.conditions import trained_in
from sm_ops.plans import plan
from sm_ops.stages import MASK
from sm_ops.versioning.pipeline import dvc_stages

pytestmark = pytest.mark.unit
REGEX = {"detector": "regex"}


def config(**detectors: Any) -> dict[str, Any]:
    masking = {"targets": [0.95], "baselines": {"goldfish": [2, 3]}, "detectors": detectors}
    return resolve(built({"name": "mine", "seeds": [0], "masking": masking}, "mine.yaml"))


def refusal(**detectors: Any) -> str:
    with pytest.raises(InputError) as caught:
        plan(config(**detectors))
    assert caught.value.__cause__ is None
    return caught.value.hint


@pytest.mark.parametrize(
    "name",
    [
        "base",
        "unmasked",
        "oracle",
        "oracle2",
        "SM95",
        "SM_category",
        "SM95_clip",
        "random95",
        "goldfish",
        "goldfish3.5",
    ],
)
def test_no_detector_has_the_name_of_another_condition(name) -> None:
    assert f"masking.detectors: the name '{name}' is that of another condition" in refusal(**{name: REGEX})


@pytest.mark.parametrize("output", [output.key for output in MASK.outputs])
def test_no_detector_has_the_name_of_a_file_of_the_step(output) -> None:
    assert f"the name '{output}' is that of a file of the step mask" in refusal(**{output: REGEX})


def test_the_names_of_the_masks_files_are_said_alike() -> None:
    """A config knows no stages, so it repeats them."""
    assert {*MASK_FILES} == {output.key for output in MASK.outputs}


@pytest.mark.parametrize(
    ("detection", "words"),
    [
        ({}, "masking.detectors.mine.detector is missing"),
        ({"detector": "regx"}, "there is no detector 'regx'; the nearest is regex"),
        ({"detector": "regex", "threshold": 1}, "masking.detectors.mine.threshold"),
        ({"detector": "regex", "target": 1.5}, "masking.detectors.mine.target is 1.5"),
        (
            {"detector": "regex", "target": 0.9},
            "masking.detectors.mine.target: the detector 'regex' so set says itself",
        ),
    ],
)
def test_what_a_detector_cannot_be_is_told(detection, words) -> None:
    assert words in refusal(mine=detection)


def test_detectors_come_last_and_are_a_family_of_their_own() -> None:
    names = [*trained_in(config(regex=REGEX, keys2={"detector": "detect_secrets"}))]
    assert names == ["unmasked", "oracle", "SM95", "random95", "goldfish2", "goldfish3", "regex", "keys2"]
    assert [family(name) for name in names] == [
        "unmasked", "oracle", "SM", "random", "goldfish", "goldfish", "detector", "detector",
    ]  # fmt: skip
    assert family("SM95_clip") == "SM"
    assert family("base") == "base"


def test_a_detector_reads_both_labelled_splits_once_and_its_target_is_no_part_of_that() -> None:
    filter_ = {"detector": "privacy_filter", "settings": {"output": "log_odds"}}
    plans = [{s.name: s for s in plan(config(opf={**filter_, "target": target}))} for target in (0.5, 0.9)]
    one, other = (steps["detect@opf"] for steps in plans)
    assert one == other
    assert {output.name for output in one.stage.outputs} == {"calibration.parquet", "train.parquet"}
    mask = plans[0]["mask"]
    assert mask.inputs["detections/opf/train"] == ("detect@opf", "train.parquet")
    assert mask.inputs["calibration"] == ("synthesize", "calibration.jsonl")
    assert "opf.parquet" in {output.name for output in mask.stage.outputs}
    assert {"train@opf-0", "attack@opf-0", "evaluate@opf-0"} <= plans[0].keys()
    assert not [name for name in plans[0] if name.startswith("detect@") and name != "detect@opf"]


def test_dvc_detects_again_where_a_detector_is_set_otherwise() -> None:
    stages = dvc_stages(plan(config(regex=REGEX, **{"my-keys": {"detector": "detect_secrets"}})))
    assert stages["detect"]["matrix"] == {"detection": ["regex", "my-keys"]}
    assert stages["detect"]["params"] == ["masking.detectors.${item.detection}"]
    assert "out/detect@my-keys/train.parquet.sha256" in stages["mask"]["deps"]
    assert "my-keys" in stages["train"]["matrix"]["condition"]
