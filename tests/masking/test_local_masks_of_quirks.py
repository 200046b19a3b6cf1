"""The local rule on Code Quirks, from the data to the masks on disk, beside the rule word by word."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet as pq
import pytest
import stepping
from masking import brute_force

from sm_ops.core.errors import StageError
from sm_ops.data.records import read_records
from sm_ops.masking import mask_files
from sm_ops.scoring.scores import read_scores
from sm_ops.scoring.tokenize import load_tokenizer, tokenize_all

POINTS = {"SM20": 0.2, "SM70": 0.7}
QUIRKS = {
    "name": "quirks",
    "data": {
        "dataset": "code_quirks", "identities": 2, "repetitions": 2, "clean": 1, "calibration_identities": 2,
        "calibration_repetitions": 2, "calibration_clean": 1, "utility": 8, "reference": 6, "public_chars": 30_000,
    },
    "base": {"layers": 1, "width": 16, "heads": 2, "context": 64, "vocab_size": 384, "epochs": 1},
    "references": {"ngram": {"backend": "ngram", "vocab_size": 512}},
    "masking": {
        "reference": "ngram", "select": "local", "n": 2, "k": 2, "radius": 32, "propagate": "group",
        "targets": [*POINTS.values()], "baselines": {"random": [*POINTS.values()], "goldfish": [2, 3]},
        "acceptable_collateral": 0.9,
    },
}  # fmt: skip


def quirks(folder: Path, section: str, **values) -> dict:
    """The config, with the labels themselves as a detector."""
    labels = {"detector": "gold", "settings": {"records": str(folder / "synthesize" / "train.jsonl")}}
    config = {
        **QUIRKS,
        "masking": {**QUIRKS["masking"], "detectors": {"regex": {"detector": "regex"}, "labels": labels}},
    }
    return {**config, section: {**config[section], **values}}


class Masked:
    """What the step mask wrote, and what it was made of."""

    def __init__(self, folder, form):
        self.folder = folder
        self.made = stepping.make(
            stepping.steps_of(quirks(folder, "data", form=form)), folder, "mask", without=("execute",)
        )
        tokenizer = load_tokenizer(self.made["base/model"])
        self.records = {split: list(read_records(self.made[f"synthesize/{split}.jsonl"])) for split in SPLITS}
        self.tokens = {split: tokenize_all(own, tokenizer) for split, own in self.records.items()}
        self.scored = {split: read_scores(self.made[f"score@ngram/{split}.parquet"])[0] for split in SPLITS}
        rows = mask_files.read(self.made["mask/masks.parquet"])
        self.masks = {row.condition: {} for row in rows}
        for row in rows:
            self.masks[row.condition][row.id] = row.mask
        metadata = pq.read_schema(self.made["mask/masks.parquet"]).metadata
        self.thresholds = json.loads(metadata[b"rule"])["thresholds"]
        self.coverage = json.loads(self.made["mask/coverage.json"].read_text())

    def by_the_words(self, split: str, r_max: float) -> list[list[bool]]:
        """Windows of two, a rank among up to 64, two votes, copies within the user; then characters, then tokens."""
        rule = SimpleNamespace(windows="fixed", n=2, agg="mean", k=2, select="local", r_max=r_max, radius=32,
                               propagate="group", prop_n=None)  # fmt: skip
        masks = []
        marked = brute_force.mask(self.scored[split], rule, self.records[split])
        for scored, own, tokens in zip(self.scored[split], marked, self.tokens[split], strict=True):
            places = np.column_stack([scored.tokens.starts, scored.tokens.ends])[np.array(own, bool)]
            met = brute_force.overlap(np.column_stack([tokens.starts, tokens.ends]), places)
            masks.append([bool(a and b) for a, b in zip(met, tokens.eligible, strict=True)])
        return masks

    def recall(self, split: str, masks: list[list[bool]]) -> float:
        hits = targets = 0
        for record, tokens, mask in zip(self.records[split], self.tokens[split], masks, strict=True):
            private = {c for start, end, _ in record.content_spans for c in range(start, end)}
            for start, end, eligible, hit in zip(tokens.starts, tokens.ends, tokens.eligible, mask, strict=True):
                if eligible and private & set(range(start, end)):
                    targets, hits = targets + 1, hits + hit
        return hits / targets


SPLITS = ("calibration", "train")


@pytest.fixture(scope="module", params=["text", pytest.param("chat", marks=pytest.mark.slow)])
def masked(request, tmp_path_factory):
    return Masked(tmp_path_factory.mktemp(request.param), request.param)


def test_masks_are_those_of_the_rule_word_by_word(masked):
    for point in POINTS:
        expected = masked.by_the_words("train", masked.thresholds[point]["r_max"])
        assert [masked.masks[point][record.id] for record in masked.records["train"]] == expected
        assert any(map(any, expected))


def test_a_threshold_is_the_smallest_rank_that_reaches_its_recall_on_the_panel(masked):
    for point, target in POINTS.items():
        r_max = masked.thresholds[point]["r_max"]
        rank = np.nextafter(r_max, -np.inf)  # OP-24: the largest rank that is selected
        assert masked.recall("calibration", masked.by_the_words("calibration", r_max)) >= target
        assert masked.recall("calibration", masked.by_the_words("calibration", rank)) < target


def test_every_condition_is_named_and_counted(masked):
    names = ["unmasked", "oracle", "SM20", "SM70", "random20", "random70", "goldfish2", "goldfish3", "regex",
             "labels"]  # fmt: skip
    assert list(masked.masks) == names
    assert masked.coverage.keys() == {*names}
    counts = {name: sum(map(sum, own.values())) for name, own in masked.masks.items()}
    assert counts == {name: own["budget_tokens"] for name, own in masked.coverage.items()}
    assert counts["random20"] == counts["SM20"] > 0
    assert counts["random70"] == counts["SM70"] > counts["SM20"]
    assert counts["goldfish2"] > counts["goldfish3"] > 0
    assert (
        masked.recall("train", [*masked.masks["oracle"].values()]) == masked.coverage["oracle"]["target_coverage"] == 1
    )
    assert masked.coverage["SM70"]["target_coverage"] == masked.recall("train", [*masked.masks["SM70"].values()])


def test_a_detector_that_knows_the_labels_is_the_oracle(masked):
    assert masked.masks["labels"] == masked.masks["oracle"]
    about = json.loads(masked.made["mask/detectors.json"].read_text())
    assert about.keys() == {"regex", "labels"}
    assert about["labels"]["chosen"] == "own"
    assert about["labels"]["training"]["target_coverage"] == 1
    assert about["labels"]["training"]["masked"] == masked.coverage["oracle"]["budget_tokens"]
    assert masked.coverage["labels"] == masked.coverage["oracle"]


def test_ids_of_users_are_no_part_of_a_mask_file(masked):
    assert {row for own in masked.masks.values() for row in own} == {record.id for record in masked.records["train"]}


def test_what_costs_too_much_is_refused_with_the_setting_that_decides(masked, tmp_path):
    strict = stepping.steps_of(quirks(masked.folder, "masking", acceptable_collateral=0.001))
    shutil.copytree(masked.folder, tmp_path / "strict", ignore=shutil.ignore_patterns("calibrate", "mask"))
    with pytest.raises(StageError, match=r"rate of 0\.1%.* masking\.acceptable_collateral, now 0\.001\. ") as caught:
        stepping.make(strict, tmp_path / "strict", "mask")
    assert caught.value.code == "calibration-costly"
    assert not [*(tmp_path / "strict" / "mask").iterdir()]
