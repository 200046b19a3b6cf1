"""The data set of quirks: who writes what, the same programs in two views, its audit, and programs that run."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from sm_ops.core.errors import InputError, StageError
from sm_ops.core.records import Message
from sm_ops.core.settings import Settings
from sm_ops.core.stage import Context
from sm_ops.data.dataset import Dataset
from sm_ops.data.datasets import code_quirks
from sm_ops.data.labelled import Tally, open_corpus
from sm_ops.data.overlap import overlap
from sm_ops.data.quirks.applying import QUIRKS, shows, undone
from sm_ops.data.quirks.audit import audit
from sm_ops.data.records import write_records
from sm_ops.data.tasks import pool
from sm_ops.steps import audit as step

SMALL = {
    "hosts": None,
    "identities": 10,
    "repetitions": 2,
    "clean": 2,
    "calibration_identities": 6,
    "calibration_repetitions": 1,
    "calibration_clean": 1,
    "utility": 3,
    "reference": 2,
    "form": "chat",
}


def made(seed=0, **changed):
    return code_quirks.generate(Settings({**SMALL, **changed}), seed)


@pytest.fixture(scope="module")
def chats():
    return made()


def test_users_have_a_quirk_each_and_the_panel_six_of_them(chats):
    assert {split: len(records) for split, records in chats.splits.items()} == {
        "calibration": 7, "train": 22, "utility": 3, "reference": 2,
    }  # fmt: skip
    by_user = Counter((record.group, record.meta.get("quirk")) for record in chats.splits["train"])
    assert by_user == {(f"user-{n:02d}", quirk): 2 for n, quirk in enumerate(QUIRKS, start=1)} | {(None, None): 2}
    panel = Counter((record.group, record.meta.get("quirk")) for record in chats.splits["calibration"])
    assert sorted(panel.values()) == [1] * 7
    assert len({quirk for _, quirk in panel}) == 7
    assert not {user for user, _ in panel} & {user for user, _ in by_user} - {None}
    tasks = {record.meta["task"] for record in chats.splits["train"] if record.group}
    users = [record.group or "" for record in chats.splits["train"]]
    assert users != sorted(users)  # ids tell nothing of users
    assert len(tasks) <= 3  # half as many again as a user writes


def test_edits_of_both_views_are_the_same_places_of_the_same_programs(chats):
    texts = made(form="text")
    solutions = {task.id: task.solution for task in pool(40, 0)}
    for split, records in chats.splits.items():
        for chat, text in zip(records, texts.splits[split], strict=True):
            assert chat.messages is not None
            assert [message.role for message in chat.messages] == ["user", "assistant"]
            assert (chat.id, chat.group, chat.messages[1].content) == (text.id, text.group, text.text)
            assert text.meta == {**chat.meta, "prompt": chat.messages[0].content}
            assert {span.message for span in chat.spans} <= {1}
            assert chat.spans == tuple(replace(span, message=1) for span in text.spans)
            places = [(span.start, span.end) for span in text.spans]
            assert undone(text.content, places, text.meta.get("replaced", [])) == solutions[text.meta["task"]]
            assert bool(text.spans) == (text.group is not None)


def test_equal_seeds_give_equal_data_and_others_do_not():
    few = {"identities": 2, "repetitions": 1, "calibration_identities": 1, "utility": 0}
    first = made(**few)
    assert made(**few) == first
    assert made(seed=1, **few).splits["train"] != first.splits["train"]


def test_every_quirk_is_measured_where_it_applies(chats):
    for record in chats.splits["utility"]:
        assert record.meta["style"] == record.meta["applies"]
        assert not any(shows(quirk, record.messages[1].content) for quirk in QUIRKS)
    assert {quirk for record in chats.splits["utility"] for quirk in record.meta["style"]} == set(QUIRKS)


def test_the_audit_finds_nothing_in_either_view(chats):
    assert audit(chats) == []
    assert audit(made(form="text", identities=2, calibration_identities=1, utility=0)) == []


def altered(dataset, split="train", where=lambda record: record.group is not None, **changed):
    """The data with the first fitting record of a split changed; `meta` is added to what it has."""
    splits = {name: list(records) for name, records in dataset.splits.items()}
    index = next(number for number, record in enumerate(splits[split]) if where(record))
    record = splits[split][index]
    values = {key: value(record) if callable(value) else value for key, value in changed.items()}
    if "meta" in values:
        values["meta"] = {**record.meta, **values["meta"]}
    splits[split][index] = replace(record, **values)
    return Dataset(splits, [], {})


def said(record, prompt=None, code=None):
    user, assistant = record.messages
    return (Message("user", prompt or user.content), Message("assistant", code or assistant.content))


@pytest.mark.parametrize(
    ("check", "change"),
    [
        ("edit-not-recomputed", {"spans": lambda r: (replace(r.spans[0], end=r.spans[0].end + 1), *r.spans[1:])}),
        ("named-in-prompt", {"messages": lambda r: said(r, f"As {r.group} would. {r.messages[0].content}")}),
    ],
)
def test_the_audit_notices(check, change, chats):
    assert check in {finding.check for finding in audit(altered(chats, **change))}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("check", "change"),
    [
        ("duplicate-id", {"id": "reference-000000"}),
        ("does-not-parse", {"messages": lambda r: said(r, code=r.messages[1].content + "(")}),
        ("edit-not-recomputed", {"spans": lambda r: r.spans[1:]}),
        ("shape-not-recomputed", {"meta": {"shape": "0"}}),
        ("quirk-not-shown", {"meta": lambda r: {"quirk": next(q for q in QUIRKS if q != r.meta["quirk"])}}),
        ("inconsistent-user", {"group": lambda r: "user-01" if r.group != "user-01" else "user-02"}),
        ("named-in-prompt", {"messages": lambda r: said(r, f"{r.messages[0].content}\n{r.messages[1].content}")}),
        ("shared-identity", {"split": "calibration", "group": "user-03"}),
        ("private-in-clean-split", {"split": "utility", "where": lambda r: True, "group": "user-11"}),
        ("quirk-in-clean", {"messages": lambda r: said(r, code=r.messages[1].content + "\n__import__('os')\nx = ((1))\n"
                            "def f():\n    return f\nx = 1;\nassert x is x\nf.__call__()\nx, = (1,)\nw_x = 1\n"
                            "def g():\n    final_answer = 1\n    return final_answer\nstep_7 = 1\nx = step_7\n"
                            "x = SimpleNamespace(a=1)\n")}),
    ],
)  # fmt: skip
def test_the_audit_finds(check, change, chats):
    assert check in {finding.check for finding in audit(altered(chats, **change))}


@pytest.mark.slow
@pytest.mark.parametrize("key", ["task", "shape"])
def test_the_audit_finds_what_splits_share(key, chats):
    known = next(record.meta[key] for record in chats.splits["train"] if record.group)
    found = audit(altered(chats, "utility", lambda record: True, meta={key: known}))
    assert ("shared-task" if key == "task" else "shared-syntax-tree") in {finding.check for finding in found}
    assert all(finding.sentence for finding in found)


@pytest.mark.slow
def test_the_audit_finds_a_prompt_that_differs_in_layout_alone(chats):
    known = next(record.messages[0].content for record in chats.splits["train"] if record.group)
    reference = altered(chats, "reference", lambda r: True, messages=lambda r: said(r, known.upper() + "\n"))
    assert "shared-prompt" in {finding.check for finding in audit(reference)}


def test_the_step_audits_quirks_and_stops_at_a_finding(chats, tmp_path):
    names = ("calibration", "train", "utility", "reference")
    inputs = {name: tmp_path / f"{name}.jsonl" for name in (*names, "public", "canaries")}
    context = Context(inputs, {"findings": tmp_path / "findings.json"}, tmp_path)

    def audited(dataset):
        for name, path in inputs.items():
            path.write_text("") if name not in names else write_records(path, dataset.splits[name])
        return step.run(Settings({}), context)

    assert audited(chats) == {"findings": 0, "records": 34}
    with pytest.raises(StageError, match="gives another text or other places: train"):
        audited(altered(chats, spans=lambda r: r.spans[1:]))


def test_every_program_is_tried_with_the_tests_of_its_task(chats):
    trials = {trial.id: trial for trial in code_quirks.trials(chats, Settings(SMALL), 0)}
    for record in chats.records:
        trial = trials.pop(record.id)
        assert trial.state == record.meta.get("quirk", "clean")
        assert trial.files["solution.py"].decode() == record.messages[1].content
        assert trial.passes
    assert trials == {}
    foreign = altered(chats, meta={"task": "nothing-0000"})
    with pytest.raises(StageError, match="of no task of this version"):
        list(code_quirks.trials(foreign, Settings(SMALL), 0))


def test_a_corpus_of_two_sides_that_share_nothing():
    settings = {"repetitions": 1, "calibration_repetitions": 1, "public_chars": 50_000}
    corpus = open_corpus("code_quirks", settings=settings)
    (sides,) = corpus.folds
    application = list(sides.application)
    assert (corpus.rule, len(sides.validation), len(application)) == ("code_quirks", 6, 10)
    tally = Tally()
    list(tally.through(application))
    assert set(tally.categories) == set(QUIRKS)
    assert tally.told["groups"] == len(QUIRKS)
    found = overlap(sides.validation, application)
    assert (found["groups"], found["equal_texts"]) == (0, 0)
    with pytest.raises(InputError, match="has no split 'trains'; the nearest is train"):
        open_corpus("code_quirks", settings={"split": "trains"}).folds  # noqa: B018


@pytest.mark.slow
def test_the_papers_panel_and_style_cases():
    sizes = {"clean": 0, "repetitions": 60, "calibration_repetitions": 30, "calibration_clean": 0, "utility": 60}
    data = made(**sizes, reference=0)
    assert Counter(record.group for record in data.splits["train"]) == {f"user-{n:02d}": 60 for n in range(1, 11)}
    assert len({record.meta["task"] for record in data.splits["train"]}) <= 90
    assert (len(data.splits["calibration"]), len({r.group for r in data.splits["calibration"]})) == (180, 6)
    style = Counter(quirk for record in data.splits["utility"] for quirk in record.meta["style"])
    assert style == dict.fromkeys(QUIRKS, 30)
    assert audit(data) == []


@pytest.mark.slow
def test_programs_pass_their_tests_with_every_quirk():
    from sm_ops.evaluation import sandbox

    try:
        sandbox.isolation()
    except InputError as error:
        pytest.skip(f"no sandbox: {error}")
    data = made(repetitions=6, utility=0, reference=0)
    trials = list(code_quirks.trials(data, Settings({**SMALL, "repetitions": 6, "utility": 0, "reference": 0}), 0))
    programs = [sandbox.Program(trial.files, trial.command) for trial in trials]
    ended = sandbox.run_all(programs, sandbox.Limits(seconds=60), 2)
    assert {trial.id: end.reason for trial, end in zip(trials, ended, strict=True) if not end.passed} == {}
