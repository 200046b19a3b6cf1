"""The steps of a sanitization on small files: what is fitted, levels of chats, and what a redaction writes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sm_ops.core.records import Message, Record, Span
from sm_ops.core.settings import Settings
from sm_ops.core.stage import Context
from sm_ops.data.records import read_records, write_records
from sm_ops.sanitizing import levels
from sm_ops.sanitizing.levels import Filter, Row
from sm_ops.steps import san_fit, san_levels, san_redact

pytestmark = pytest.mark.unit
REFERENCE = {"backend": "ngram", "model": None, "fit": None, "order": 2, "vocab_size": 300, "prompt": None,
             "violating": None, "workers": 1, "engine": "local"}  # fmt: skip


def context(tmp_path: Path, inputs: dict[str, Path], *outputs: str) -> Context:
    paths = {Path(name).stem: tmp_path / name for name in outputs}
    return Context(inputs, paths, tmp_path / "scratch")


def written(path: Path, records: list[Record]) -> Path:
    write_records(path, records)
    return path


def choice(path: Path, name: str | None, tau: float | None) -> Path:
    path.write_text(json.dumps({"choice": {"filter": name, "tau": tau, "decision": "d", "reason": "r", "more": 1}}))
    return path


def redacted(tmp_path: Path, *folds: tuple[list[Record], str | None, float, list[list[tuple[int, int, float]]]]):
    """Redact folds, each of its records, the choice, and the intervals with levels of each record."""
    sides = {"records-0": {"records": len(folds[0][0])}, "validation-0": {"records": 1}}
    corpus = tmp_path / "corpus.json"
    corpus.write_text(json.dumps({"divided": len(folds) > 1, "sides": sides}))
    inputs = {"corpus": corpus}
    for fold, (records, name, tau, found) in enumerate(folds):
        rows = [Row(record.id, *map(np.array, zip(*own, strict=True))) if own else Row(record.id, *np.empty((3, 0)))
                for record, own in zip(records, found, strict=True)]  # fmt: skip
        path = tmp_path / f"levels-{fold}.parquet"
        levels.write(path, Filter("one", "detector"), rows)
        inputs |= {
            f"records/{fold}": written(tmp_path / f"records-{fold}.jsonl", records),
            f"measures/{fold}": choice(tmp_path / f"measures-{fold}.json", name, tau),
            f"levels/{fold}/one": path,
        }
    own = context(tmp_path, inputs, "redacted.jsonl", "redaction.json", "places.jsonl")
    numbers = san_redact.run(Settings({}), own)
    told = json.loads(own.outputs["redaction"].read_text())
    records = list(read_records(own.outputs["redacted"])) if own.outputs["redacted"].stat().st_size else []
    return numbers, told, records


def test_what_the_filter_masks_and_every_labelled_span_is_gone_and_nothing_else(tmp_path):
    record = Record("a", text="name bob pin 12", group="g", spans=(Span(5, 8, "NAME"),), meta={"ext": ".py"})
    numbers, told, (only,) = redacted(tmp_path, ([record], "one", 2.0, [[(13, 15, 2.0), (0, 4, 1.9)]]))
    assert (only.id, only.text, only.group, only.spans, only.meta) == ("a", "name [MASKED] pin [MASKED]", None, (), {})
    assert (numbers["intervals"], numbers["spans_covered"]) == (2, 1)
    assert told["spans_by_point"] == {"k": 0, "n": 1, "low": None, "high": None}
    assert told["choices"] == {"0": {"filter": "one", "tau": 2.0, "decision": "d", "reason": "r"}}


def test_where_no_filter_is_to_be_taken_no_text_is_written(tmp_path):
    record = Record("a", text="name bob", spans=(Span(5, 8, "NAME"),))
    numbers, told, records = redacted(tmp_path, ([record], None, 0.0, [[(0, 4, 1.0)]]))
    assert records == []
    assert numbers["records"] == 0
    assert told["choices"]["0"]["filter"] is None
    assert told["unwritten"] == 1


def test_records_that_no_fold_cleans_are_counted(tmp_path):
    """Of three records one is on the application side of no fold but one, which has no filter to take."""
    one, two, three = (Record(name, text="abcd") for name in "abc")
    nothing: list = [[], []]
    _, told, records = redacted(tmp_path, ([one, two], None, 0.0, nothing), ([two, three], "one", 1.0, nothing))
    assert ([record.id for record in records], told["unwritten"]) == (["b", "c"], 1)


def test_a_record_of_several_folds_is_cleaned_once_by_the_first(tmp_path):
    one, two, three = (Record(name, text="abcd") for name in "abc")
    _, _, records = redacted(
        tmp_path,
        ([one, two], "one", 1.0, [[(0, 1, 1.0)], [(1, 2, 1.0)]]),
        ([two, three], "one", 5.0, [[(2, 3, 5.0)], [(3, 4, 5.0)]]),
    )
    assert [(record.id, record.text) for record in records] == [
        ("a", "[MASKED]bcd"), ("b", "a[MASKED]cd"), ("c", "abc[MASKED]"),
    ]  # fmt: skip


def test_a_sample_is_judged_by_what_never_saw_its_group_and_targets_are_not_learned(tmp_path):
    """Each of two groups has its own line; the key is a target in one record of each."""
    own_line = {"a": "port = 80\n", "b": "zone = qq\n"}
    records = [
        Record(group, text=line * 4 + "key = jxjxjxjx\n", group=group, spans=(Span(46, 54, "KEY"),))
        for group, line in own_line.items()
    ]
    assert all(record.text[46:54] == "jxjxjxjx" for record in records)
    (tmp_path / "public.jsonl").write_text("")
    (tmp_path / "corpus.json").write_text(json.dumps({"rule": "creddata"}))
    path = written(tmp_path / "r.jsonl", records)
    fitted = context(tmp_path, {"validation": path, "public": tmp_path / "public.jsonl"}, "model")
    assert san_fit.run(Settings({"reference": REFERENCE}), fitted) == {"records": 2, "parts": 2}
    inputs = {"validation": path, "records": path, "corpus": tmp_path / "corpus.json",
              "fitted": fitted.outputs["model"]}  # fmt: skip
    own = context(tmp_path, inputs, "validation.parquet", "records.parquet")
    scorer = {"kind": "surprise", "detector": None, "reference": "n", "rule": {"n": 2}, "settings": {}, "workers": 1}
    numbers = san_levels.run(Settings({"name": "s", "filter": scorer, "reference": REFERENCE}), own)
    assert numbers["tokens"] > 0
    sides = {side: list(levels.read(own.outputs[side])) for side in ("validation", "records")}

    def level(side: str, number: int, start: int, end: int) -> float:
        row = sides[side][number]
        return float(row.levels[(row.starts < end) & (row.ends > start)].max())

    for number in (0, 1):
        assert level("validation", number, 10, 20) > 2 * level("records", number, 10, 20)  # the group's own line
        assert level("records", number, 46, 54) > level("records", number, 10, 20)  # a target, which nothing learned


def test_all_messages_of_a_chat_have_levels_in_its_own_coordinates(tmp_path):
    chat = Record(
        "c", messages=(Message("user", "my card is"), Message("assistant", "please call +1 212 555 0123 now"))
    )
    text = Record("t", text="write to bob@example.com")
    path = written(tmp_path / "r.jsonl", [chat, text])
    about = tmp_path / "corpus.json"
    about.write_text(json.dumps({"rule": None}))
    own = context(
        tmp_path, {"validation": path, "records": path, "corpus": about}, "validation.parquet", "records.parquet"
    )
    detector = {"kind": "detector", "detector": "regex", "reference": None, "rule": {}, "settings": {}, "workers": 1}
    san_levels.run(Settings({"name": "regex", "filter": detector}), own)
    assert levels.about(own.outputs["records"]) == Filter("regex", "detector", 0.0)
    rows = {row.id: row for row in levels.read(own.outputs["records"])}
    assert rows["t"].starts.tolist() == [9]
    assert rows["c"].starts.tolist() == [chat.content.index("+1")]
