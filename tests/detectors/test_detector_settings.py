"""Labels, settings and refusals that all detectors share."""

from __future__ import annotations

import subprocess
import sys

import pytest

from sm_ops.core import registry
from sm_ops.core.errors import InputError
from sm_ops.detectors.batches import own_threshold
from sm_ops.detectors.detector import Detection, in_order
from sm_ops.detectors.labels import LABELS, type_of
from sm_ops.pii.types import TYPES

pytestmark = pytest.mark.unit
NAMES = sorted(registry.members("detector"))


def test_the_members_are_the_files():
    assert {"regex", "presidio", "privacy_filter"} <= set(NAMES)
    assert not {"detector", "labels", "bioes"} & set(NAMES)


def test_labels_lead_to_the_nine_types_or_to_none():
    assert set(LABELS.values()) == {*TYPES, None}
    assert all(type_of(name) == name for name in TYPES)
    assert type_of("KR_FRN") == "RRN"  # G7: foreign residents' numbers are RRNs
    assert type_of("secret") is None


@pytest.mark.parametrize("name", NAMES)
def test_an_unknown_setting_is_refused_with_the_nearest(name):
    with pytest.raises(InputError, match=r"no setting 'treshold'; the nearest is threshold"):
        registry.load("detector", name).load({"treshold": 0.5})


def test_detectors_say_whether_validation_data_has_to_choose_their_threshold():
    assert own_threshold("regex", {}) == own_threshold("presidio", {"threshold": 0.9}) == 0.0
    for name in ("privacy_filter", "classifier"):
        assert own_threshold(name, {}) == own_threshold(name, {"output": "decoded"}) == 0.0
        assert own_threshold(name, {"output": "log_odds"}) is own_threshold(name, {"output": "soft"}) is None


@pytest.mark.parametrize("name", ["privacy_filter", "classifier"])
def test_outputs_and_their_thresholds_are_checked(name):
    with pytest.raises(InputError, match="output is 'odds'; give one of decoded, log_odds, soft"):
        registry.load("detector", name).load({"output": "odds"})
    with pytest.raises(InputError, match="give a number of log-odds"):
        registry.load("detector", name).load({"output": "soft", "threshold": "high"})


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("threshold", [-0.1, 1.5, "0.5", True, None, float("nan")])
def test_a_threshold_is_a_number_from_0_to_1(name, threshold):
    with pytest.raises(InputError, match="from 0 to 1"):
        registry.load("detector", name).load({"threshold": threshold})


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("presidio", "presidio_analyzer"),
        ("presidio", "spacy"),
        ("privacy_filter", "transformers"),
        ("privacy_filter", "torch"),
        ("classifier", "transformers"),
        ("classifier", "torch"),
        ("credsweeper", "credsweeper"),
        ("detect_secrets", "detect_secrets"),
    ],
)
def test_a_missing_package_is_one_sentence(name, package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError, match=r"needs the package .*sm-ops\[detectors\]") as caught:
        registry.load("detector", name).load({})
    assert caught.value.code == "missing-package"
    assert caught.value.__cause__ is None


def test_importing_the_detectors_imports_no_heavy_package():
    heavy = (
        "torch", "transformers", "presidio_analyzer", "spacy", "credsweeper", "onnxruntime", "detect_secrets", "pandas",
        "prefect", "mlflow", "dvc", "boto3",
    )  # fmt: skip
    program = (
        "import sys\nfrom sm_ops.core.registry import load\nimport sm_ops.pii.baselines\n"
        f"for name in {NAMES}: load('detector', name)\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_best_score_stands_for_one_place_and_label():
    found = [Detection(5, 9, "B", 0.1), Detection(0, 3, "A", 0.2), Detection(5, 9, "B", 0.9), Detection(5, 9, "A", 0.5)]
    assert in_order(found) == [(0, 3, "A", 0.2), (5, 9, "A", 0.5), (5, 9, "B", 0.9)]
