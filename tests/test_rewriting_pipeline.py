"""A whole run against a stand-in: an endpoint that fails midway, the same command again, and what is left behind."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace

import pytest
from chat_stand_in import answering, inside
from driving import run_steps, start_steps

from sm_ops.core import fs
from sm_ops.core.config import load_pipeline, resolve
from sm_ops.core.errors import InputError
from sm_ops.core.fingerprint import payload
from sm_ops.core.home import find_run
from sm_ops.plans import plan
from sm_ops.report.rewriting.html import write_report
from sm_ops.rewriting.benchmarks import rat
from sm_ops.rewriting.measures import sentence_bleu

CONFIG = """\
flow: rewriting
name: rewriting_test
data: {{benchmark: redac, documents: 3}}
conditions:
  unmodified: {{kind: unmodified}}
  masked: {{kind: direct, selector: surprise, budget: 0.2}}
  route: {{kind: route, selector: both, budget: 0.3, quantiles: retrospective}}
  full: {{kind: rewrite, style: zero_shot}}
endpoints:
  rewriter: {{url: "{url}", model: stand-in, calls: {{attempts: 1}}}}
  judge: {{url: "{url}", model: stand-in, calls: {{attempts: 1, at_once: 1}}}}
"""
FAILING = 7
"""The request, from 0, at which the endpoint breaks down in the first run."""


def stand_in(body: dict, number: int) -> str:
    """The judge looks for each proposition word for word; the rewriter blanks a sentence, or the first line."""
    text = inside("text", body) or ""
    if listed := inside("propositions", body):
        stated = [int(n) for n, each in re.findall(r"^(\d+)\. (.*)$", listed, re.MULTILINE) if each in text]
        return json.dumps({"disclosed": stated})
    return "Left out." if inside("sentence", body) else "\n".join(["Left out.", *text.split("\n")[1:]])


@pytest.fixture(scope="module")
def done(tmp_path_factory) -> SimpleNamespace:
    """The run ended at a failing endpoint, was started again, and has its report."""
    place = tmp_path_factory.mktemp("rewriting")
    home, config = place / "home", place / "own.yaml"
    with answering(lambda body, number: 400 if number >= FAILING else stand_in(body, number)) as (url, first):
        config.write_text(CONFIG.format(url=url))
        failing = start_steps(home, config=config, jobs=1)
        _, failed = failing.communicate(timeout=300)
        assert failing.returncode
        port = int(url.rpartition(":")[2].partition("/")[0])
    with answering(stand_in, port) as (_, second):
        run_steps(home, config=config, jobs=1)
    write_report(find_run(home), home)
    return SimpleNamespace(home=home, failed=failed, first=first, second=second)


def restricted(done, name: str) -> list[dict]:
    (path,) = (done.home / "restricted").glob(f"*/*/{name}")
    return [json.loads(line) for line in path.read_text().splitlines()]


def results(done) -> dict:
    return fs.read_json(find_run(done.home).folder / "results.json")


def test_a_failing_endpoint_ends_the_run_in_words_and_what_was_answered_is_not_asked_again(done):
    assert "refused the call with status 400" in done.failed
    calls = sum(row["calls"] + row["evaluation"]["calls"] for row in results(done)["rows"])
    assert FAILING + len(done.second) == calls


def test_what_the_judge_says_is_what_a_search_for_the_propositions_finds(done):
    documents = restricted(done, "records.jsonl")
    rows = {row["condition"]: row for row in results(done)["rows"]}
    assert rows["unmodified"]["security"]["value"] == 0
    assert rows["unmodified"]["utility"]["value"] == 1
    left = {"sensitive": [], "nonsensitive": []}
    texts = {path.parent.name: path for path in (done.home / "restricted" / "rewrite_apply").glob("*/rewritten.jsonl")}
    step = find_run(done.home).steps["rewrite_apply@full"]
    rewritten = [json.loads(line)["text"] for line in texts[step["fingerprint"][:16]].read_text().splitlines()]
    for document, text in zip(documents, rewritten, strict=True):
        for each in document["meta"]["propositions"]:
            if each["label"] in left and each["supported"]:
                left[each["label"]].append(each["text"] in text)
    full = rows["full"]
    assert full["security"]["value"] == pytest.approx(1 - sum(left["sensitive"]) / len(left["sensitive"]))
    assert full["utility"]["value"] == pytest.approx(sum(left["nonsensitive"]) / len(left["nonsensitive"]))
    assert full["bleu"]["value"] == pytest.approx(
        sum(sentence_bleu(d["text"], t) for d, t in zip(documents, rewritten, strict=True)) / 3
    )


def test_calls_and_costs_are_those_that_were_made(done):
    found = results(done)
    rows = {row["condition"]: row for row in found["rows"]}
    assert (rows["full"]["calls"], rows["full"]["input_tokens"], rows["full"]["cached_tokens"]) == (3, 300, 60)
    expected = (240 * 5 + 60 * 0.5 + 30 * 30) / found["data"]["tokens"]["records"]
    assert rows["full"]["usd"] == pytest.approx(expected)
    assert rows["route"]["calls"] == rows["route"]["chosen"] > 0
    assert rows["route"]["retrospective"]
    assert rows["masked"]["calls"] == 0
    (crossing,) = found["crossings"]
    assert crossing["dearer"] == (rows["route"]["usd"] > rows["full"]["usd"])


def test_no_text_leaves_the_restricted_root_and_all_that_was_sent_is_listed(done):
    lines = [json.loads(line) for line in (done.home / "restricted" / "sent.jsonl").read_text().splitlines() if line]
    assert len(lines) == len(done.first) + len(done.second)
    listed = {digest for line in lines for digest in line["texts"]}
    documents = restricted(done, "records.jsonl")
    assert {fs.sha256(document["text"].encode()) for document in documents} <= listed
    sentences = [line for document in documents for line in document["text"].split(". ") if len(line) > 20]
    for path in done.home.rglob("*"):
        if path.is_file() and "restricted" not in path.relative_to(done.home).parts:
            content = path.read_bytes()
            assert not [line for line in sentences if line.encode() in content], path
    assert '<svg role="img"' in (find_run(done.home).folder / "report.html").read_text()


def test_guesses_are_compared_as_the_benchmark_does():
    assert rat.is_right("phone number", "201 555 0123", "(201) 555-0123")
    assert not rat.is_right("phone number", "201 555 0124", "(201) 555-0123")
    assert rat.is_right("DOB", "3rd june 1970", "3 June 1970")
    assert not rat.is_right("DOB", "4 June 1970", "3 June 1970")
    assert rat.is_right("ST", "oregon", "Oregon/OR")
    assert rat.is_right("ST", "or", "Oregon/OR")
    assert not rat.is_right("SEX", "male", "Female")
    assert not rat.is_right("name", "", "Ann Lee")
    (record, *_), _, _ = rat.generate(0, SimpleNamespace(levels=[1], documents=1))
    guess = json.dumps({"name": record.meta["direct"]["name"].lower()})
    assert rat.outcome(record, guess, None) == {"identified": True, "direct": 1, "indirect": 0, "attributes": 9}
    listed = json.dumps({"NAME": [record.meta["direct"]["name"], "Someone"], "email": None, "SSN": {}})
    assert rat.outcome(record, listed, None)["direct"] == 1
    alike = json.dumps(record.meta["indirect"])
    assert rat.outcome(record, alike, None)["identified"]
    partly = json.dumps({"ST": record.meta["indirect"]["ST"]})
    assert not rat.outcome(record, partly, None)["identified"]
    few, many = SimpleNamespace(alike=lambda known: 5.0), SimpleNamespace(alike=lambda known: 6.0)
    assert rat.outcome(record, partly, few)["identified"]
    assert not rat.outcome(record, partly, many)["identified"]


def test_bleu_of_equal_texts_is_one_and_of_a_changed_word_by_hand():
    assert sentence_bleu("a b c d e", "a b c d e") == 1
    # precisions 4/5, 3/4, 2/3, 1/2 and equal lengths
    # one word of five alike: no longer run is, and each counts as a tenth of one
    assert sentence_bleu("a b c d e", "a v w x y") == pytest.approx((1 / 5 * 0.1 / 4 * 0.1 / 3 * 0.1 / 2) ** 0.25)
    assert sentence_bleu("a b c d e", "a b c d x") == pytest.approx((4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** 0.25)


@pytest.mark.unit
def test_a_plan_sends_nothing_unless_the_config_names_an_endpoint():
    steps = {step.name: step for step in plan(resolve(load_pipeline("rewriting_tiny")))}
    assert "rewrite_select@surprise_route" in steps
    assert not [name for name in steps if name.startswith("rewrite_judge")]
    applied = [name.partition("@")[2] for name in steps if name.startswith("rewrite_apply")]
    assert applied == ["unmodified", "random_direct", "surprise_direct", "regex_direct", "regex_native"]
    assert all(step.settings["endpoints"] == {} for name, step in steps.items() if name.startswith("rewrite_apply"))


@pytest.mark.unit
def test_a_second_score_file_counts_whatever_the_reference_is_called(tmp_path):
    """By its content, as the first does; elsewhere `violating` is a prompt."""

    def scored(prompted: str):
        (tmp_path / "violating.jsonl").write_text(prompted)
        files = f"{{backend: file, model: {tmp_path}/a.jsonl, violating: {tmp_path}/violating.jsonl}}"
        overrides = [f'references={{"my.scores": {files}}}', "selectors.surprise.reference=my.scores"]
        steps = plan(resolve(load_pipeline("rewriting_tiny", overrides)))
        return payload(next(step for step in steps if step.name == "rewrite_score@surprise"), {})

    first, second = scored("one"), scored("other")
    assert first["places"]["reference.violating"] != second["places"]["reference.violating"]
    assert first["settings"] == second["settings"]


def test_prices_and_ways_of_calling_change_no_request():
    named = ["endpoints.rewriter.url=https://m.example/v1", "endpoints.rewriter.model=m"]
    one, other = (
        {step.name: step.settings for step in plan(resolve(load_pipeline("rewriting_tiny", [*named, *more])))}
        for more in ([], ["endpoints.rewriter.prices.input=1"])
    )
    assert {name for name in one if one[name] != other[name]} == {"rewrite_data"}
    assert one["rewrite_apply@zero_shot"]["endpoints"]["rewriter"]["url"] == "https://m.example/v1"


@pytest.mark.unit
@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("endpoints.rewriter.url=https://m.example/v1", "url and model are named together"),
        ("endpoints.rewriter={url: 'https://me:pw@m.example', model: m}", "holds no user, password, query"),
        ("endpoints.rewriter.calls.key=a-key-itself", "names an environment variable"),
        ("conditions.x={kind: route, selector: surprise}", "needs a budget"),
        ("conditions.x={kind: route, selector: suprise, budget: 0.1}", "the nearest is surprise"),
        ("conditions.x={kind: direct, selector: surprise}", "only a detector knows what to mask"),
        ("conditions.x={kind: rewrite}", "needs a style"),
        ("selectors.x={kind: both, of: [surprise, both]}", "made of others itself"),
        ("references.x={backend: ngram, prompt: '{policy}'}", "has no use for prompt"),
    ],
)
def test_a_wrong_config_is_refused_in_words(override, said):
    with pytest.raises(InputError) as caught:
        load_pipeline("rewriting_tiny", [override])
    assert said in caught.value.hint
