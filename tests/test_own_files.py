"""Surprise masking on files of one's own: the three commands, with scores made by hand and with a model."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from driving import ROOT, run_cli

from sm_ops import surprise
from sm_ops.core.errors import InputError, StageError
from sm_ops.core.records import Record, Span
from sm_ops.data.records import read_records, write_records

WORDS = ["owner", " is", " mara", "lind", ",", " she", " likes", " tea"]
SURPRISES = [1.0, 1.0, 9.0, 8.0, 1.0, 1.0, 2.0, 1.0]
TEXT = "".join(WORDS)
START, END = TEXT.index("mara"), TEXT.index(",")


def rows(count: int, surprises: list[float] = SURPRISES) -> list[dict]:
    """Scores of one's own, a token a word: two suspicious ones, which are the target."""
    ends = np.cumsum([len(word) for word in WORDS]).tolist()
    return [
        {
            "id": f"r{number}",
            "token_ids": list(range(len(WORDS))),
            "offsets": list(zip([0, *ends[:-1]], ends, strict=True)),
            "logprobs": [-value for value in surprises],
        }
        for number in range(count)
    ]


def records(count: int, labelled: bool = True) -> list[Record]:
    spans = (Span(START, END, "name"),) if labelled else ()
    return [Record(f"r{n}", text=TEXT, group=f"person-{n % 4}", spans=spans) for n in range(count)]


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Records and scores in the present folder: labelled `validation`, unlabelled `train`."""
    monkeypatch.chdir(tmp_path)
    for name, labelled in (("validation", True), ("train", False)):
        write_records(tmp_path / f"{name}.jsonl", records(8, labelled))
        lines = "".join(json.dumps(row) + "\n" for row in rows(8))
        (tmp_path / f"{name}-scores.jsonl").write_text(lines)
    return tmp_path


RULE = ["--set", "n=1", "--set", "k=1", "--set", "propagate=none"]


def told(*arguments: str) -> subprocess.CompletedProcess[str]:
    return run_cli(*arguments, home=Path("home").absolute())


def calibrated(*more: str) -> tuple[int, str, str]:
    done = told("calibrate", "validation.jsonl", "--scores", "validation-scores.jsonl", *RULE, *more)
    return done.returncode, done.stdout, done.stderr


def test_three_commands_from_own_scores_to_a_masked_set(files):
    code, out, err = calibrated("--target", "0.5", "--target", "1", "--json")
    assert code == 0, err
    report = json.loads(out)
    assert report["points"]["SM50"]["tau"] == 9.0
    assert report["points"]["SM100"]["tau"] == 8.0
    assert report["points"]["SM100"]["target_coverage"] == 1.0
    assert report["points"]["SM100"]["collateral_rate"] == 0.0
    assert report["auroc"] == 1.0
    assert report["independent_units"] == 4
    assert report["points"]["SM100"]["interval"] == pytest.approx([0.025 ** (1 / 4), 1.0])  # 4 of 4
    assert report["verdict"]["advice"] == "use it"
    assert report["chosen"] == "SM100"

    command = ["mask", "train.jsonl", "--scores", "train-scores.jsonl", "--calibration", "calibration.json"]
    done = told(*command, "--redact")
    assert done.returncode == 0, done.stderr
    names = ("train.parquet", "masks.parquet", "bound.json", "redacted.jsonl")
    assert done.stdout.split() == [f"masked/{name}" for name in names]
    table = pq.read_table(files / "masked" / "train.parquet").to_pylist()
    assert [row["labels"] for row in table] == [[-100, 1, -100, -100, 4, 5, 6, 7]] * 8  # nothing precedes the first
    masks = pq.read_table(files / "masked" / "masks.parquet").to_pylist()
    [reason] = masks[0]["why"]
    assert (reason["start"], reason["end"]) == (START - 1, END)
    assert [window["score"] for window in reason["windows"]] == [9.0, 8.0]
    redacted = list(read_records(files / "masked" / "redacted.jsonl"))
    assert {record.text for record in redacted} == {"owner is[MASKED], she likes tea"}
    assert [record.group for record in redacted] == [f"person-{n % 4}" for n in range(8)]


def test_auto_compares_the_papers_rules_and_verifies_on_people_who_did_not_choose(files):
    done = told("calibrate", "validation.jsonl", "--scores", "validation-scores.jsonl", "--auto", "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert set(report["candidates"]) == {"code", "mixed text"}
    best = max(report["candidates"].values(), key=lambda each: each["acceptable"]["target_coverage"])
    assert report["rule"] == best["rule"]
    assert report["independent_units"] == report["verification"]["independent_units"] == 2
    assert report["verification"]["target_coverage"] is not None


def test_confidence_that_so_few_people_cannot_show_is_refused_in_words(files):
    code, out, err = calibrated("--target", "0.5", "--confidence", "0.95")
    assert code == 0, err
    assert "do not use it" in out
    assert "at least 5 independent units" in out  # 0.5^5 < 0.05 < 0.5^4
    done = told("mask", "train.jsonl", "--scores", "train-scores.jsonl", "--calibration", "calibration.json")
    assert done.returncode == 3
    assert not (files / "masked").exists()


def test_confidence_asks_for_more_recall_than_the_target(files):
    code, out, err = calibrated("--target", "0.5", "--confidence", "0.9", "--json")
    assert code == 0, err
    # Of 4 units, 4 must be covered: 3 of 4 show at least 0.32 only, 4 of 4 show 0.1^(1/4) = 0.56.
    assert json.loads(out)["points"]["SM50"]["target_coverage"] == 1.0


def test_application_data_tells_the_gap(files):
    """Where the same words are half as surprising, the threshold covers less."""
    lines = "".join(json.dumps(row) + "\n" for row in rows(8, [1, 1, 9, 3, 1, 1, 4, 1]))
    (files / "there.jsonl").write_text(lines)
    more = ["--application", "validation.jsonl", "--application-scores", "there.jsonl", "--acceptable", "0.1"]
    code, out, err = calibrated("--target", "1", "--json", *more)
    assert code == 0, err
    application = json.loads(out)["application"]
    assert application["points"]["SM100"]["target_coverage"] == 0.5
    assert application["acceptable"]["target_coverage"] == 0.5  # 3.0 would cost 8 of 48 others
    assert application["gap"] == 0.5


def test_another_filter_is_completed_by_what_it_leaves(files):
    """The other filter finds the first half of each name; the threshold is tuned on the second."""
    found = [Record(record.id, text=TEXT, spans=(Span(START, START + 4, "name"),)) for record in records(8)]
    write_records(files / "other.jsonl", found)
    code, out, err = calibrated("--target", "1", "--json", "--other", "other.jsonl")
    assert code == 0, err
    report = json.loads(out)
    assert report["points"]["SM100"]["tau"] == 8.0
    assert report["target_tokens"] == 8  # "lind" alone
    beside = report["other"]
    assert beside["jaccard"] == 0.5
    coverages = {name: beside[name]["target_coverage"] for name in ("alone", "union", "intersection", "residual")}
    assert coverages == {"alone": 0.5, "union": 1.0, "intersection": 0.5, "residual": 0.5}
    command = ["mask", "train.jsonl", "--scores", "train-scores.jsonl", "--calibration", "calibration.json"]
    done = told(*command, "--other", "other.jsonl", "--combine", "residual")
    assert done.returncode == 0, done.stderr
    labels = pq.read_table(files / "masked" / "train.parquet")["labels"].to_pylist()
    assert labels == [[-100, 1, 2, -100, 4, 5, 6, 7]] * 8
    [reason] = pq.read_table(files / "masked" / "masks.parquet")["why"].to_pylist()[0]
    assert (reason["start"], reason["other"], len(reason["windows"])) == (START + 4, False, 1)
    done = told(*command, "--other", "other.jsonl")
    [reason] = pq.read_table(files / "masked" / "masks.parquet")["why"].to_pylist()[0]
    assert (reason["start"], reason["end"], reason["other"], len(reason["windows"])) == (START - 1, END, True, 2)
    done = told(*command, "--other", "other.jsonl", "--combine", "unoin")
    assert done.returncode == 2
    assert "union" in done.stderr


def test_thresholds_by_category_follow_each_record(files):
    """Two kinds of records, one three times as surprising throughout."""
    kinds = ["quiet", "loud"]
    labelled = [
        Record(f"r{n}", text=TEXT, spans=(Span(START, END, "name"),), meta={"kind": kinds[n % 2]}) for n in range(8)
    ]
    scored = [rows(8, [s * (1 + 2 * (n % 2)) for s in SURPRISES])[n] for n in range(8)]
    (files / "mixed-scores.jsonl").write_text("".join(json.dumps(row) + "\n" for row in scored))
    scores = surprise.Scores.load(files / "mixed-scores.jsonl")
    rule = {"n": 1, "k": 1, "propagate": "none"}
    calibration = surprise.calibrate(labelled, scores, rule=rule, by="kind")
    thresholds = calibration.report["categories"]["thresholds"]
    assert (thresholds["quiet"]["tau"], thresholds["loud"]["tau"]) == (8.0, 24.0)
    masked = surprise.mask(labelled, scores, calibration, point="SM_category")
    assert {tuple(np.flatnonzero(mask)) for mask in masked.masks} == {(2, 3)}


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--set", "windows=lien"], "the nearest is line"),
        (["--set", "k=9"], "k 9 is larger than n 1"),
        (["--target", "0"], "target recall"),
        (["--acceptable", "0"], "acceptable collateral rate"),
        (["--verify", "validation.jsonl"], "--verify-scores"),
        (["--auto"], "leave out the rule's settings"),
        (["--tokenizer", "nowhere/model"], "nowhere/model"),
        (["--by", "kind"], "meta.kind"),
        (["--confidence", "1"], "between 0 and 1"),
        (["--confidence", "0"], "between 0 and 1"),
    ],
)
def test_what_a_user_gets_wrong_is_told_in_a_sentence(files, more, words):
    code, out, err = calibrated(*more)
    assert code == 2
    assert words in err
    assert "Traceback" not in err
    assert not out


def test_no_result_takes_the_place_of_an_input(files):
    """Whatever is read stays as it was, byte for byte, and nothing else is written."""
    calibrated()
    for name in ("train.parquet", "redacted.jsonl"):
        (files / name).write_bytes((files / "train.jsonl").read_bytes() if "jsonl" in name else b"")
    before = {path.name: path.read_bytes() for path in files.iterdir() if path.is_file()}
    scored = ("--scores", "validation-scores.jsonl")
    for arguments in (
        ("score", "train.jsonl", "--model", "m", "--out", "train.jsonl"),
        ("score", "train.jsonl", "--model", "m", "--out", "scores.csv"),
        ("score", "train.jsonl", "--model", "m", "--out", "train.jsonl/x.parquet"),
        ("calibrate", "validation.jsonl", *scored, "--out", "validation.jsonl"),
        ("calibrate", "validation.jsonl", *scored, "--other", "train.jsonl", "--out", "./train.jsonl"),
        ("calibrate", "validation.jsonl", *scored, "--out", "calibration.txt"),
        ("mask", "redacted.jsonl", "--scores", "train-scores.jsonl", "--calibration", "calibration.json", "--out", "."),
        ("mask", "train.jsonl", "--scores", "train.parquet", "--calibration", "calibration.json", "--out", "."),
    ):
        done = told(*arguments)
        assert done.returncode == 2, arguments
        assert "--out" in done.stderr or "ends in" in done.stderr, done.stderr
    assert {path.name: path.read_bytes() for path in files.iterdir() if path.is_file()} == before


def test_a_redaction_of_another_mask_is_not_left_beside_this_one(files):
    calibrated()
    command = ["mask", "train.jsonl", "--scores", "train-scores.jsonl", "--calibration", "calibration.json"]
    assert told(*command, "--point", "SM50", "--redact").returncode == 0
    done = told(*command, "--point", "SM95")
    assert done.returncode == 2
    assert "redacted.jsonl" in done.stderr


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda row: row | {"token_ids": [1, 2], "offsets": [[0, 5], [5, 8]], "logprobs": [-1, -1]}, "position 9"),
        (lambda row: row | {"logprobs": [-value for value in row["logprobs"]]}, "above 0"),
        (lambda row: row | {"id": "r0"}, "7 repeated ids"),
        (lambda row: row | {"offsets": [[0, 5]] * 7 + [[0, 99]]}, "outside"),
    ],
    ids=["cut", "positive", "repeated", "outside"],
)
def test_scores_that_do_not_fit_their_records_are_refused(files, change, words):
    lines = "".join(json.dumps(change(row)) + "\n" for row in rows(8))
    (files / "validation-scores.jsonl").write_text(lines)
    code, _, err = calibrated()
    assert code == 2
    assert words in err
    assert "mara" not in err


def test_what_an_other_filter_says_of_another_text_is_refused(files):
    turned = [Record(record.id, text=TEXT[::-1], spans=record.spans) for record in records(8)]
    write_records(files / "other.jsonl", turned)
    code, _, err = calibrated("--other", "other.jsonl")
    assert code == 2
    assert "Record 0 has another text" in err


def test_a_point_out_of_reach_is_told_and_vetoes_nothing(files):
    """One of the two target tokens has no score: half of the targets can be masked, and that is offered."""
    lines = "".join(json.dumps(row) + "\n" for row in rows(8, [1, 1, 9, float("inf"), 1, 1, 2, 1]))
    (files / "validation-scores.jsonl").write_text(lines.replace("-Infinity", "null"))
    code, out, err = calibrated("--target", "0.5", "--target", "0.9")
    assert code == 0, err
    assert "use it: SM50" in out
    assert "Out of reach: SM90." in out
    done = told(
        "mask", "validation.jsonl", "--scores", "validation-scores.jsonl", "--calibration", "calibration.json"
    )
    assert "SM50: 8 of 64 tokens masked: 8 of 16 labelled ones and 0 of 48 others" in done.stderr
    assert "8 tokens have no usable score" in done.stderr


def test_damaged_and_missing_calibrations_are_told(files):
    calibrated()
    whole = json.loads((files / "calibration.json").read_text())
    command = ["mask", "train.jsonl", "--scores", "train-scores.jsonl", "--calibration", "calibration.json"]
    for text in ("{", "[]", json.dumps({"sm_ops_format": "calibration/1"}), json.dumps(whole | {"sm_ops_format": "x"})):
        (files / "calibration.json").write_text(text)
        done = told(*command)
        assert done.returncode == 2
        assert "calibrate again" in done.stderr
    (files / "calibration.json").unlink()
    done = told(*command)
    assert done.returncode == 2
    assert "calibration.json" in done.stderr


def test_scores_of_other_records_or_references_are_refused(files):
    some = surprise.Scores.load(files / "validation-scores.jsonl")
    with pytest.raises(InputError, match="Record 8 has no scores"):
        surprise.calibrate(records(9), some)
    calibration = surprise.calibrate(records(8), some, rule={"n": 1, "k": 1, "propagate": "none"})
    other = surprise.Scores(some.scored, type(some.source)(reference="another"))
    with pytest.raises(InputError, match="another"):
        surprise.mask(records(8), other, calibration)
    for pair in ({"verify": (records(8), other)}, {"application": (records(8), other)}):
        with pytest.raises(InputError, match="another"):
            surprise.calibrate(records(8), some, **pair)
    with pytest.raises(InputError, match="nearest is SM95"):
        surprise.mask(records(8), some, calibration, point="SM96")


def test_nothing_to_calibrate_on_is_a_verdict_and_stops_masking(files):
    some = surprise.Scores.load(files / "train-scores.jsonl")
    calibration = surprise.calibrate(records(8, labelled=False), some)
    assert calibration.verdict["advice"] == "do not use it"
    with pytest.raises(StageError, match="no target tokens"):
        surprise.mask(records(8), some, calibration)


@pytest.fixture
def model(tmp_path):
    """A small GPT-2 over letters, built on the spot, in the folder `reference-model`."""
    import torch
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    letters = {"<|endoftext|>": 0, **{chr(97 + i): i + 1 for i in range(26)}, " ": 27, ",": 28}
    tokenizer = Tokenizer(models.WordLevel(letters, unk_token="<|endoftext|>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    tokenizer.decoder = decoders.Fuse()
    folder = tmp_path / "reference-model"
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<|endoftext|>").save_pretrained(folder)
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=29, n_embd=16, n_layer=1, n_head=2, n_positions=64, bos_token_id=0, eos_token_id=0)
    GPT2LMHeadModel(config).eval().save_pretrained(folder)
    return folder


def test_a_score_is_the_models_own(model):
    """Every score is the logarithm of its softmax, the first token's after BOS."""
    import torch
    from transformers import GPT2LMHeadModel

    scores = surprise.score([Record("a", text="abc cab")], str(model))
    ids = torch.tensor([[0, 1, 2, 3, 27, 3, 1, 2]])
    with torch.inference_mode():
        logits = GPT2LMHeadModel.from_pretrained(model)(ids[:, :-1]).logits
    expected = logits.double().log_softmax(-1)[0].gather(1, ids[0, 1:, None])[:, 0].tolist()
    assert scores.scored[0].logprobs.tolist() == pytest.approx(expected, abs=4e-6)


def test_the_example_of_the_docs_runs(files, model, capsys):
    [block] = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs/how-to/own-files.md").read_text(), re.M | re.S)
    exec(block, {})
    assert capsys.readouterr().out.startswith(("use", "do not use"))
    table = pq.read_table(files / "masked" / "train.parquet")
    assert table.num_rows == 8


def test_commands_with_a_model_end_to_end(files, model):
    done = told("score", "train.jsonl", "--model", "reference-model", "--out", "again.parquet")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["again.parquet"]
    assert "Loading" not in done.stderr
    scores = surprise.Scores.load(files / "again.parquet")
    assert scores.source.prefix == "<|endoftext|>"
    assert all(np.isfinite(each.logprobs).all() for each in scores.scored)


def test_a_model_that_is_not_there_is_told_in_a_sentence(files):
    done = told("score", "train.jsonl", "--model", "./nowhere")
    assert done.returncode == 2
    assert "nowhere" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (files / "scores.parquet").exists()
