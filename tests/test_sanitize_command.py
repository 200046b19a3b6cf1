"""`sm-ops sanitize` as a user types it: a labelled sample and a corpus in, the verdict and the cleaned corpus out."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest
from calling import call_cli
from driving import run_cli

LINES = ("import os", "def connect(host, port):", "    return open_socket(host, port)", "timeout = 30", "retries = 5",
         "log.info('connected')", "for name in names:", "    print(name)")  # fmt: skip


def contexts(repositories: range, seed: int) -> list[dict]:
    """Rows in the layout of CredData: ordinary code, in each a random password, in every third a build number."""
    draw, rows = Random(seed), []
    for repository in repositories:
        for number in range(6):
            body = [draw.choice(LINES) for _ in range(12)]
            if number % 3 == 0:
                body[-1] = f"build = {draw.randrange(10**9):09d}"
            value = "".join(draw.choice("qwxzjkvQWXZJKV9731") for _ in range(14))
            text = "\n".join([*body[:6], f"password = '{value}'", *body[6:]])
            start = text.index(value)
            span = {"start": start, "end": start + len(value), "label": "true", "category": "Password"}
            rows.append({"id": f"{repository}-{number}", "repo": f"r{repository}", "ext": ".py", "text": text,
                         "spans": [span], "value": value})  # fmt: skip
    return rows


def write(path: Path, rows: list[dict]) -> Path:
    path.write_text("".join(json.dumps({k: v for k, v in row.items() if k != "value"}) + "\n" for row in rows))
    return path


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sanitize")
    rows = contexts(range(5, 8), 2)
    validation, records = write(folder / "v.jsonl", contexts(range(5), 1)), write(folder / "r.jsonl", rows)
    words = ["sanitize", "--validation", str(validation), "--records", str(records), "--out", "out",
             "--set", "corpus.public_chars=0"]  # fmt: skip
    found = run_cli(*words, "--json", home=folder / "home")
    assert found.returncode == 0, found.stderr
    return folder, rows, words, found


def test_a_program_reads_both_sides_the_verdict_and_the_choice(done):
    folder, _, _, found = done
    told = json.loads(found.stdout)
    for side in ("validation", "application"):
        assert told[side].keys() == {"auroc", "char_f1", "tpr", "fpr"}
        assert told[side]["auroc"]["low"] <= told[side]["auroc"]["value"] <= told[side]["auroc"]["high"]
        assert 0 < told[side]["fpr"] < 0.1
        assert told[side]["char_f1"].keys() >= {"value", "low", "high"}
    assert 0.95 < told["application"]["auroc"]["value"] < 1
    assert (told["verdict"]["decision"], told["choice"]["filter"]) == ("suitable", "surprise")
    assert told["verdict"]["reason"].endswith(".")
    measures = json.loads((folder / "out" / "measures.json").read_text())
    assert measures["filters"]["surprise"]["application"]["auroc"] == told["application"]["auroc"]
    assert {folder / each for each in told["files"]} == set((folder / "out").iterdir())
    assert {"redacted.jsonl", "report.html", "measures.json", "redaction.json"} <= {
        Path(each).name for each in told["files"]
    }


def test_the_cleaned_corpus_has_every_record_without_its_value(done):
    folder, rows, _, _ = done
    cleaned = [json.loads(line) for line in (folder / "out" / "redacted.jsonl").read_text().splitlines()]
    assert [each["id"] for each in cleaned] == [row["id"] for row in rows]
    for row, each in zip(rows, cleaned, strict=True):
        assert each.keys() == {"id", "text"}
        assert row["value"] not in each["text"]
        kept, position = each["text"].split("[MASKED]"), 0
        for piece in kept:
            position = row["text"].index(piece, position) + len(piece)
    kept = sum(len(each["text"].replace("[MASKED]", "")) for each in cleaned)
    assert kept > 0.8 * sum(len(row["text"]) for row in rows)


def test_nobody_reads_a_value_in_what_is_printed_or_written_beside_the_corpus(done):
    folder, rows, _, found = done
    printed = [found.stdout, found.stderr]
    printed += [path.read_text() for path in (folder / "out").iterdir() if path.name != "redacted.jsonl"]
    assert not any(row["value"] in text for row in rows for text in printed)
    (restricted,) = (folder / "home").rglob("redacted.jsonl")  # as clean as the filter, so not for everybody
    assert restricted.relative_to(folder / "home").parts[0] == "restricted"


def test_the_cleaned_corpus_is_handed_to_a_release(done, monkeypatch, capsys):
    folder, rows, _, _ = done
    monkeypatch.chdir(folder)
    monkeypatch.setenv("SM_OPS_HOME", str(folder / "home"))
    (folder / "about.yaml").write_text("title: Code\ndescription: Code without passwords.\n")
    built = call_cli(monkeypatch, capsys, "release", "build", "code@1", "--about", "about.yaml")
    assert built.returncode == 0, built.stderr
    release = folder / "home" / "releases" / "code@1"
    shard = (release / "data" / "records.jsonl").read_text()
    assert [json.loads(line)["id"] for line in shard.splitlines()] == [row["id"] for row in rows]
    verdict = json.loads((release / "evidence" / "suitability.json").read_text())
    assert (verdict["filter"], verdict["decision"]) == ("surprise", "suitable")
    assert str(folder) not in (release / "config.json").read_text()
    checked = call_cli(monkeypatch, capsys, "release", "check", "code@1")
    found = dict(line.split()[1::-1] for line in checked.stdout.splitlines() if line.startswith(("pass", "fail")))
    assert (found["known_values"], found["coverage"], found["suitability"]) == ("pass", "pass", "pass")


@pytest.mark.slow
def test_where_no_filter_is_suitable_the_reason_comes_out_and_no_text(tmp_path):
    """Targets are ordinary words here, which surprise no model of code."""
    rows = contexts(range(6), 3)
    for row in rows:
        start = row["text"].index("\n") + 1
        row["spans"] = [{"start": start, "end": start + 4, "label": "true", "category": "Word"}]
    validation, records = write(tmp_path / "v.jsonl", rows[:18]), write(tmp_path / "r.jsonl", rows[18:])
    words = ["sanitize", "--validation", str(validation), "--records", str(records), "--set", "corpus.public_chars=0"]
    found = run_cli(*words, "--out", "none", home=tmp_path / "home")
    assert found.returncode == 0, found.stderr
    assert "No filter is suitable" in " ".join(found.stdout.split())
    assert (tmp_path / "none" / "report.html").is_file()
    assert not (tmp_path / "none" / "redacted.jsonl").exists()
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "redacted.jsonl").write_text("{}\n")
    stale = run_cli(*words, "--out", "old", home=tmp_path / "home")
    assert stale.returncode == 2
    assert "of an earlier run" in stale.stderr
    assert (tmp_path / "old" / "redacted.jsonl").read_text() == "{}\n"


@pytest.mark.unit
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--validation", "absent.jsonl", "--records", "r.jsonl"], "absent.jsonl"),
        (["--records", "r.jsonl"], "without validation"),
        (["--validation", "r.jsonl"], "validation alone cleans nothing"),
        (["--validation", "r.jsonl", "--records", "r.jsonl", "--detector", "regexp"], "the nearest is regex"),
        (["--validation", "r.jsonl", "--records", "r.jsonl", "--filter", "presidio"], "use: there is no filter"),
        (["--validation", "r.jsonl", "--records", "r.jsonl", "--acceptable", "2"], "acceptable_collateral"),
        (["--validation", "r.jsonl", "--records", "r.jsonl", "--corpus", "tabb"], "the nearest is tab"),
        (["--validation", "r.jsonl", "--records", "r.jsonl", "--contrast"], "an n-gram is not"),
    ],
)
def test_a_command_that_cannot_work_says_so_at_once(words, told, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SM_OPS_HOME", str(tmp_path / "home"))
    write(tmp_path / "r.jsonl", contexts(range(2), 3))
    found = call_cli(monkeypatch, capsys, "sanitize", *words)
    assert found.returncode == 2
    assert told in found.stderr
    assert "Traceback" not in found.stderr
    assert not (tmp_path / "home" / "runs").exists()


@pytest.mark.slow
def test_a_model_that_is_told_to_keep_and_to_remove_is_one_more_filter(tmp_path):
    """Neither instruction means a thing to a model without training: its contrast separates nothing."""
    from sm_ops.training import models, tiny

    tokenizer = tiny.train_tokenizer(LINES * 20, 400, tmp_path / "model")
    shape = SimpleNamespace(layers=1, width=16, heads=2)
    models.save(tiny.new_model(shape, len(tokenizer), 512, tokenizer.bos_token_id, seed=0), tmp_path / "model")
    validation = write(tmp_path / "v.jsonl", contexts(range(4), 1))
    records = write(tmp_path / "r.jsonl", contexts(range(4, 8), 2))
    words = ["sanitize", "--validation", str(validation), "--records", str(records), "--reference", "model"]
    found = run_cli(*words, "--contrast", "--out", "out", "--json", home=tmp_path / "home")
    assert found.returncode == 0, found.stderr
    told, measured = json.loads(found.stdout), json.loads((tmp_path / "out" / "measures.json").read_text())
    assert measured["filters"].keys() == {"surprise", "contrast", "regex"}
    assert [(each["surprise"], each["other"]) for each in measured["combinations"]] == [
        ("surprise", "regex"), ("contrast", "regex")
    ]  # fmt: skip
    contrast = measured["filters"]["contrast"]["validation"]
    assert 0.2 < contrast["auroc"]["value"] < 0.8
    assert contrast["roc"] != measured["filters"]["surprise"]["validation"]["roc"]
    assert told["choice"]["filter"] is None
