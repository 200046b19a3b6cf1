"""Dead code through the whole flow, on parts of the published benchmarks: frozen thresholds, attacks, both verdicts."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from calling import call_cli
from driving import run_cli

pytestmark = pytest.mark.slow

PARTS = {"mbpp": 300, "humaneval": 60}
ATTACKS = {"Fixed-1", "Grammar-1", "Fixed-2", "Grammar-2"}


@pytest.fixture(scope="module")
def settings(shared, tmp_path_factory) -> list[str]:
    folder, words = tmp_path_factory.mktemp("tasks"), []
    for (name, count), side in zip(PARTS.items(), ("validation", "records"), strict=True):
        source = shared / "data" / name / f"{name}.jsonl"
        if not source.exists():
            pytest.skip("the published benchmarks are not beside the repository")
        lines = source.read_text(encoding="utf-8").splitlines(keepends=True)[:count]
        (folder / source.name).write_text("".join(lines), encoding="utf-8")
        words += ["--set", f"corpus.{side}={folder / source.name}"]
    return words


def measured(home, *words: str) -> dict[str, Any]:
    done = run_cli("run", "dead_code", *words, home=home)
    assert done.returncode == 0, done.stderr
    (path,) = home.glob("store/san_measure/*/measures.json")
    return json.loads(path.read_text())


def test_a_threshold_of_five_folds_is_frozen_and_told_by_attack(settings, tmp_path):
    found = measured(tmp_path, *settings, "--set", "use=surprise")
    assert found["unit"] == "lines"
    surprise, depa, tuned = (found["filters"][name] for name in ("surprise", "depa", "depa_tuned"))
    for one in (surprise, tuned):
        assert one["chosen"] == "folds"
        assert len(one["folds"]["folds"]) == 5
        assert one["tau"] == median(fold["tau"] for fold in one["folds"]["folds"])
    assert (depa["chosen"], depa["tau"]) == ("own", 1.5)
    assert surprise["validation"]["auroc"]["value"] > 0.85
    for one in (surprise, depa, tuned):
        assert set(one["validation"]["by"]) == {"Random-1"}
        assert set(one["application"]["by"]) == ATTACKS
        for rate in ("f1", "precision", "tpr"):
            by_attack = [one["application"]["by"][attack][rate]["value"] for attack in ATTACKS]
            assert one["application"]["by_mean"][rate] == pytest.approx(sum(by_attack) / 4)
    _, records = (Path(word.partition("=")[2]) for word in settings[1::2])
    task = json.loads(records.read_text(encoding="utf-8").splitlines()[0])["prompt"]
    (redacted,) = tmp_path.glob("restricted/san_redact/*/redacted.jsonl")
    texts = [json.loads(line)["text"] for line in redacted.read_text(encoding="utf-8").splitlines()]
    assert len(texts) == 4 * PARTS["humaneval"]
    assert all(text.startswith(task) for text in texts[:4]), "the task is context and stays"
    lines = surprise["application"]["counts"]
    assert lines["tp"] + lines["fn"] == 3 * (1 + 1 + 2 + 2)


def test_a_reference_of_another_style_is_told_and_masks_nothing(settings, shared, tmp_path):
    """Prose: to it, ordinary code is stranger than the words of dead code."""
    prose = shared / "data" / "public_text_en" / "public_text_en.jsonl"
    other = ["--set", f"references.ngram.fit={prose}", "--set", "corpus.public_chars=0"]
    found = measured(tmp_path, *settings, *other)
    assert found["filters"]["surprise"]["validation"]["auroc"]["value"] < 0.5
    assert {each["decision"] for each in found["verdicts"].values()} == {"inverted"}
    assert "reference fitted to clean content of this kind" in found["verdicts"]["surprise"]["reason"]
    assert found["choice"]["filter"] is None
    (redacted,) = tmp_path.glob("restricted/san_redact/*/redacted.jsonl")
    assert redacted.read_text() == "", "what was not cleaned is not written as if it were"


def test_the_papers_reference_is_tried_at_its_real_size(settings, monkeypatch, capsys):
    done = call_cli(monkeypatch, capsys, "validate", "dead_code_paper", "--json", *settings)
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["references"]["codellama"]["parameters"] == 6_738_546_688
