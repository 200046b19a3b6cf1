"""Every detector as a condition of masked training: what it finds in the training records is what is not learned.

A new detector adds what it needs to be loaded in `test_detectors.py`, or nothing.
"""

from __future__ import annotations

import json
import shutil

import pytest
import stepping
from conformance.test_detectors import ABSENT, SETTINGS
from detectors.look_alikes import assignment
from detectors.tiny_filter import make_tiny_filter

from sm_ops.core import registry
from sm_ops.core.errors import InputError
from sm_ops.core.records import Record, Span
from sm_ops.data.records import read_records, write_records
from sm_ops.masking import mask_files
from sm_ops.scoring.tokenize import load_tokenizer, tokenize_all

pytestmark = pytest.mark.slow
SPLITS = ("calibration", "train")
FREE = {"log_odds": None, "soft": None, "recall": 0.5}
"""The Privacy Filter with outputs that leave the threshold to validation, by the largest F1 and by a recall."""


def people(split: str, count: int) -> list[Record]:
    """Records that each hold an address and a made-up credential, which are labelled, and a name, which is not."""
    found = []
    for number in range(count):
        line, credential = assignment(number + 100 * (split == "train"))
        address = f"{split}.{number}@example.com"
        text = f"# Ask Ann Lee, {address}\n{line}\nvalue = {number}\nprint(value + {number})\n"
        places = {label: text.index(value) for label, value in (("EMAIL", address), ("secret", credential))}
        ends = {"EMAIL": places["EMAIL"] + len(address), "secret": places["secret"] + len(credential)}
        spans = tuple(Span(start, ends[label], label) for label, start in places.items())
        found.append(Record(f"{split}-{number}", text=text, group=f"{split}-{number % 3}", spans=spans))
    return found


class Prepared:
    """All that a mask needs but the detector, made once."""

    def __init__(self, folder):
        self.folder = folder / "made"
        for split in SPLITS:
            write_records(folder / f"{split}.jsonl", people(split, 6))
        for split in ("utility", "reference"):
            clean = [Record(f"{split}-{n}", text=f"{split} = {n}\nprint({split} + {n})\n") for n in range(6)]
            write_records(folder / f"{split}.jsonl", clean)
        own = {split: str(folder / f"{split}.jsonl") for split in (*SPLITS, "utility", "reference")}
        self.config = {
            "name": "own",
            "data": {"dataset": "own", "own": own, "public_chars": 20_000},
            "base": {"layers": 1, "width": 16, "heads": 2, "context": 64, "vocab_size": 320, "epochs": 1},
            "references": {"ngram": {"backend": "ngram", "vocab_size": 320}},
            "masking": {"reference": "ngram", "targets": [0.5], "baselines": {"random": []},
                        "acceptable_collateral": 1.0},
        }  # fmt: skip
        stepping.make(stepping.steps_of(self.config), self.folder, "mask")
        shutil.rmtree(self.folder / "mask")

    def under(self, folder, detection):
        """The step mask with one detector, in a folder of its own: its files by name."""
        masking = {**self.config["masking"], "detectors": {"found": detection}}
        shutil.copytree(self.folder, folder)
        made = stepping.make(stepping.steps_of({**self.config, "masking": masking}), folder, "mask")
        tokenizer = load_tokenizer(made["base/model"])
        data = {}
        for split in SPLITS:
            records = list(read_records(made[f"synthesize/{split}.jsonl"]))
            data[split] = list(zip(records, tokenize_all(records, tokenizer), strict=True))
        masks = {row.id: row.mask for row in mask_files.read(made["mask/masks.parquet"]) if row.condition == "found"}
        return Masked(data, masks, *(json.loads(made[f"mask/{name}.json"].read_text()) for name in WRITTEN))


WRITTEN = ("detectors", "coverage", "strip")


class Masked:
    def __init__(self, data, masks, detectors, coverage, strip):
        self.data, self.masks = data, masks
        self.about, self.coverage, self.strip = detectors["found"], coverage["found"], strip["masks"]["found"]

    def scores(self, split, detector):
        """By record, for each eligible token the largest score that shares a character with it, or nothing."""
        found = []
        for record, tokens in self.data[split]:
            (detections,) = detector.detect([record.content])
            best: dict[int, float] = {}
            for start, end, _, score in detections:
                for character in range(start, end):
                    best[character] = max(score, best.get(character, score))
            own = []
            for start, end, eligible in zip(tokens.starts, tokens.ends, tokens.eligible, strict=True):
                met = [best[character] for character in range(start, end) if character in best]
                own.append(max(met) if met and eligible else None)
            found.append(own)
        return found

    def counts(self, split, scores, tau):
        """Hits, masked tokens, targets and eligible tokens."""
        hits = masked = targets = eligible = 0
        for (record, tokens), own in zip(self.data[split], scores, strict=True):
            private = {c for start, end, _ in record.content_spans for c in range(start, end)}
            for start, end, counts, score in zip(tokens.starts, tokens.ends, tokens.eligible, own, strict=True):
                target, hit = bool(counts and private & set(range(start, end))), score is not None and score >= tau
                hits, masked = hits + (target and hit), masked + hit
                targets, eligible = targets + target, eligible + bool(counts)
        return hits, masked, targets, eligible


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    return Prepared(tmp_path_factory.mktemp("prepared"))


def same(masked, detector, tau):
    """What the files say is what the detector, asked here, gives from `tau` on."""
    scores = masked.scores("train", detector)
    expected = {
        record.id: [score is not None and score >= tau for score in own]
        for (record, _), own in zip(masked.data["train"], scores, strict=True)
    }
    assert masked.masks == expected
    hits, budget, targets, eligible = masked.counts("train", scores, tau)
    assert masked.coverage["budget_tokens"] == budget
    assert masked.coverage["target_coverage"] == hits / targets
    assert masked.coverage["collateral_rate"] == (budget - hits) / (eligible - targets)
    assert masked.about["training"]["target_coverage"] == hits / targets
    assert any(masked.strip) == any(expected[masked.data["train"][0][0].id])
    hits, budget, targets, _ = masked.counts("calibration", masked.scores("calibration", detector), tau)
    assert masked.about["validation"]["target_coverage"] == hits / targets
    assert masked.about["validation"]["masked"] == budget


@pytest.mark.parametrize("name", sorted(registry.members("detector")))
def test_what_a_detector_finds_is_masked(name, prepared, tmp_path):
    settings = SETTINGS.get(name, lambda folder: {})(tmp_path / "model")
    if name == "gold":
        settings = {"records": str(prepared.folder / "synthesize" / "train.jsonl")}
    try:
        masked = prepared.under(tmp_path / "made", {"detector": name, "settings": settings})
    except InputError as error:
        if error.code not in ABSENT:
            raise
        pytest.skip(str(error))
    same(masked, registry.load("detector", name).load(settings), 0.0)
    assert masked.about["chosen"] == "own"
    assert masked.about["tau"] == 0


@pytest.mark.parametrize("way", FREE)
def test_a_threshold_is_chosen_on_validation_where_a_detector_brings_none(way, prepared, tmp_path):
    """By every threshold there is: the largest F1, among equals the largest; or the largest that reaches the recall."""
    settings = {"model": str(make_tiny_filter(tmp_path / "model")), "token_budget": 64}
    settings["output"] = "soft" if way == "soft" else "log_odds"
    detection = {"detector": "privacy_filter", "settings": settings, "target": FREE[way]}
    masked = prepared.under(tmp_path / "made", detection)
    detector = registry.load("detector", "privacy_filter").load(settings)
    scores = masked.scores("calibration", detector)
    candidates = sorted({score for own in scores for score in own if score is not None}, reverse=True)
    counted = [(tau, *masked.counts("calibration", scores, tau)) for tau in candidates]
    if FREE[way] is None:
        tau = max(counted, key=lambda each: (2 * each[1] / (each[2] + each[3]), each[0]))[0]
    else:
        tau = next(each[0] for each in counted if each[1] / each[3] >= FREE[way])
    assert masked.about["chosen"] == ("recall" if FREE[way] else "max_f1")
    assert masked.about["tau"] == tau
    same(masked, detector, tau)
