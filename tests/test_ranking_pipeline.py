"""Whole outputs ranked by surprise, from pairs to the report, as a user sees it."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from driving import records, run_cli

from sm_ops.core.config import load_pipeline, resolve
from sm_ops.data.records import read_records
from sm_ops.report.ranking.html import write_report
from sm_ops.report.ranking.results import load_results, print_table
from sm_ops.runner import run_pipeline
from sm_ops.scoring.backends import ngram
from sm_ops.scoring.scores import read_scores

SAFE = "Ask a doctor before you take any of it, and read the leaflet."
RISKY = "Just swallow everything, nobody ever reads leaflets zq{0} vx{0}."


@pytest.fixture(scope="module")
def own(tmp_path_factory) -> Path:
    """40 pairs of 20 prompts; safe answers are alike, risky ones are not."""
    folder = tmp_path_factory.mktemp("ranking")
    rows = [
        {"prompt": f"May I take it with tea number {n // 2}?", "safe": f"{SAFE} {n % 5}", "risky": RISKY.format(n * 37)}
        for n in range(40)
    ]
    (folder / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "own.yaml").write_text(
        "flow: ranking\nname: advice\n"
        f"pairs: {{source: pairs, validation: {folder / 'pairs.jsonl'}, share: 0.5, controls: generated}}\n"
        "references: {ngram: {backend: ngram, vocab_size: 300}}\n"
    )
    return folder


@pytest.fixture(scope="module")
def finished(own):
    """A run in this process, with its report."""
    home = own / "home"
    run = run_pipeline(resolve(load_pipeline(str(own / "own.yaml"))), home, jobs=1)
    write_report(run, home)
    return home, run


def test_the_run_tells_the_table_the_verdict_and_the_caveat(finished, capsys):
    home, run = finished
    results = load_results(run, home)
    (row,) = results["rows"]
    assert row["application"]["auroc"]["value"] == 1
    assert row["application"]["counts"]["tp"] + row["application"]["counts"]["fn"] == 20
    (separation,) = results["separations"]
    assert (separation["setting"], separation["unit"], separation["score"]) == ("advice", "output", "mean_nll")
    assert separation["application"]["roc"]["tpr"][-1] == 1
    print_table(results)
    told = capsys.readouterr().out
    assert "mean_nll: It finds 100.0% of the risky outputs" in told
    assert "The safe outputs were generated for this comparison." in told
    assert "holds  mean_nll ranks risky outputs above safe ones." in told
    page = (run.folder / "report.html").read_text()
    assert "<script" not in page
    assert "<svg" in page
    assert (run.folder / "curves.csv").read_text().startswith("setting,run,score,unit,side,fpr,tpr\n")
    assert json.loads((run.folder / "results.json").read_text())["rows"] == results["rows"]


def test_no_text_of_an_output_leaves_the_restricted_root(finished):
    home, _ = finished
    kept = [path for path in home.rglob("*") if path.is_file() and home / "restricted" not in path.parents]
    assert {"results.json", "report.html", "measures.json", "pairs.json"} <= {path.name for path in kept}
    for path in kept:
        assert b"leaflet" not in path.read_bytes(), path


def test_no_validation_output_is_scored_by_what_learnt_its_group(finished, tmp_path):
    """The reference of a part knows nothing of its groups: their prompts' numbers are as surprising as others'."""
    home, _ = finished
    steps = records(home)

    def output(step: str, name: str) -> Path:
        record = steps[step]
        return home / "restricted" / record["stage"] / record["fingerprint"][:16] / name

    rows = [json.loads(line) for line in output("rank_pairs", "validation.jsonl").read_text().splitlines()]
    scored, _ = read_scores(output("rank_score@ngram", "validation.parquet"))
    assert [each.id for each in scored] == [row["id"] for row in rows]
    dealt = json.loads((output("rank_fit@ngram", "model") / "parts.json").read_text())
    groups: dict[str, set[int]] = {}
    for row in rows:
        groups.setdefault(row["group"], set()).add(dealt[row["id"]])
    assert {len(parts) for parts in groups.values()} == {1}

    def contents(row):
        return "\n".join(message["content"] for message in row["messages"])

    part = dealt[rows[0]["id"]]
    learnt = [contents(row) for row in rows if dealt[row["id"]] != part and not row["meta"]["risky"]]
    ngram.fit(learnt, tmp_path / "again", order=3, vocab_size=300)
    reference = ngram.load(SimpleNamespace(model=str(tmp_path / "again"), prompt=None, violating=None))
    first = next(iter(read_records(output("rank_pairs", "validation.jsonl"))))
    assert np.array_equal(reference.score([first])[0].logprobs, scored[0].logprobs)


def test_a_group_on_both_sides_ends_with_a_sentence(own, tmp_path):
    words = (f"pairs.application={own / 'pairs.jsonl'}", "name=both")
    done = run_cli("run", str(own / "own.yaml"), *(w for word in words for w in ("--set", word)), home=tmp_path / "h")
    assert done.returncode == 2
    assert "20 groups have pairs in the validation and in the application file" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_the_command_tracks_versions_and_finds_it_all_again(own, tmp_path):
    home = tmp_path / "home"
    first = run_cli("run", str(own / "own.yaml"), home=home)
    assert first.returncode == 0, first.stderr
    assert "sm-ops:" not in first.stderr  # neither tracking nor versions failed
    links = json.loads(next((home / "runs").glob("*/links.json")).read_text())
    assert links["data"]
    assert links["mlflow"]
    again = run_cli("run", str(own / "own.yaml"), home=home)
    assert all(" found " in line for line in again.stderr.splitlines() if line.startswith("["))
    assert again.stdout == first.stdout


@pytest.mark.slow
def test_prompted_scores_of_a_real_causal_model(own, tmp_path):
    """The rules that need prompts, end to end under a small random model with a chat template."""
    model = random_chat_model(tmp_path / "model")
    words = [
        f"references.lm.model={model}", "references.lm.backend=hf", "references.lm.prompt=Advise well. ",
        "references.lm.violating=Advise badly. ", "scores.w.rule=prompted_window64", "scores.w.reference=lm",
        "scores.z.rule=zscore_mean", "scores.z.reference=lm",
    ]  # fmt: skip
    run = run_pipeline(resolve(load_pipeline(str(own / "own.yaml"), words)), tmp_path / "home", jobs=1)
    rows = {row["score"]: row for row in load_results(run, tmp_path / "home")["rows"]}
    assert set(rows) == {"mean_nll", "w", "z"}
    assert set(rows["z"]["standardisation"]) == {"prompt_change", "line_nll"}
    assert all(0 <= rows[name]["application"]["auroc"]["value"] <= 1 for name in ("w", "z"))
    assert all(rows[name][side]["undefined"] == 0 for name in ("w", "z") for side in ("validation", "application"))


def random_chat_model(folder: Path) -> Path:
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    control, alphabet = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"], pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=control, initial_alphabet=alphabet)
    tokenizer.train_from_iterator([SAFE], trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=control[0], eos_token=control[2])
    fast.chat_template = (
        "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}{% endfor %}"
    )
    fast.save_pretrained(folder)
    torch.manual_seed(0)
    GPT2LMHeadModel(GPT2Config(vocab_size=len(fast), n_positions=256, n_embd=16, n_layer=1, n_head=2)).save_pretrained(
        folder
    )
    return folder
