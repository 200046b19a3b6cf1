"""`sm-ops pii evaluate` and `generate`: figures computed by hand, faults in their order, figures of G10."""

from __future__ import annotations

import json

import pytest
from command_line import contents, pii, read_rows, sm_ops, write_rows

RECORDS = [
    {
        "id": "a",
        "source_text": "김가상 010-0000-1234 어머니",
        "entities": [
            {"type": "PERSON", "value": "김가상"},
            {"type": "PHONE", "value": "010-0000-1234"},
            {"type": "REL", "value": "어머니"},
        ],
    },
    {"id": "b", "source_text": "이예시 김가상", "entities": [{"type": "PERSON", "value": "이예시"}]},
    {"id": "c", "source_text": "아무것도 없음", "entities": []},
    {"id": "d", "source_text": "박견본", "entities": [{"type": "PERSON", "value": "박견본"}]},
]
PREDICTIONS = [
    {"id": "d", "prediction": "PERSON\t박견본", "parse_success": False},
    {"id": "b", "prediction": "PERSON\t이예시\nPERSON\t김가상\nPERSON\t최없음\nPERSON\t최없음", "parse_success": True},
    {"id": "a", "prediction": "PERSON\t김가상\nPHONE\t01000001234", "parse_success": True},
]
"""By hand. a: PERSON found; the other spelling of the phone covers it (FP and FN, no leak); REL leaks. b: one found,
one false, two rows nowhere. c: nothing. d: found by nobody, for its flag is false, so it leaks."""


@pytest.fixture
def judged(tmp_path):
    def judge(suffix=".jsonl", records=RECORDS, predictions=PREDICTIONS, *words):
        given = write_rows(tmp_path / f"records{suffix}", records)
        return pii("evaluate", given, write_rows(tmp_path / f"rows{suffix}", predictions), *words)

    return judge


@pytest.mark.unit
@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_figures_computed_by_hand(suffix, judged):
    result = json.loads(judged(suffix, RECORDS, PREDICTIONS, "--json").out)
    counts = {
        name: (each["tp"], each["fp"], each["fn"]) for name, each in result["per_type"].items() if any(each.values())
    }
    assert counts == {"PHONE": (0, 1, 1), "PERSON": (2, 1, 1), "REL": (0, 0, 1)}
    assert result["entity"]["precision"] == 2 / 4
    assert result["entity"]["recall"] == 2 / 5
    assert result["entity"]["f1"] == 4 / 9
    assert result["documents"] == {"total": 4, "leaked": 2, "leak_rate": 0.5}
    assert (result["entities"]["leaked"], result["entities"]["gold"]) == (2, 5)
    assert result["entities"]["over_redaction_rate"] == 2 / 4
    assert (result["entities"]["hallucinated"], result["entities"]["rows"]) == (2, 7)
    assert result["parse"]["success"] == 2
    assert result["tokenization"]["round_trip_rate"] == result["tokenization"]["deterministic_rate"] == 1.0
    low, high = result["intervals"]["documents.leak_rate"]
    assert (round(low, 4), round(high, 4)) == (0.15, 0.85)  # Wilson's for 2 of 4
    assert len(result["not"]) >= 6


@pytest.mark.unit
def test_the_table_for_people(judged):
    done = judged()
    lines = done.out.splitlines()
    assert lines[0].split() == ["type", "TP", "FP", "FN", "precision", "recall", "F1"]
    assert next(line.split() for line in lines if line.startswith("CARD")) == ["CARD", "0", "0", "0", "-", "-", "-"]
    (total,) = [line for line in lines if line.startswith("all")]
    assert total.split() == ["all", "2", "2", "3", "0.500", "0.400", "0.444"]
    leak = next(line for line in lines if line.startswith("documents.leak_rate"))
    assert leak.split() == ["documents.leak_rate", "2", "4", "50.0", "%", "[15.0,", "85.0]"]
    assert any("not the F1 of spans" in line for line in lines)
    assert any("do not prove" in line for line in lines)
    assert "next: sm-ops pii mask" in done.err
    assert not any(value in done.out + done.err for value in ("김가상", "이예시", "최없음", "1234"))


@pytest.mark.unit
def test_own_records_have_gold_pairs_by_their_spans(judged):
    records = [
        {
            "id": "a",
            "text": "김가상 어제",
            "spans": [{"start": 0, "end": 3, "label": "PS"}, {"start": 4, "end": 6, "label": "DT"}],
        }
    ]
    predictions = [{"id": "a", "prediction": "PERSON\t김가상", "parse_success": True}]
    result = judged(".jsonl", records, predictions, "--json", "--label", "PS=PERSON", "--label", "DT=-")
    assert json.loads(result.out)["entity"]["f1"] == 1.0


GOLD = {"id": "b", "source_text": "x", "entities": []}
FAULTS = {
    "shape": ([{"id": "b"}], [], "records.jsonl, line 5, record 4: it is no object", "E_RECORD_SHAPE"),
    "number as id": ([{**GOLD, "id": 1}], [], "record 4: it is no object", "E_RECORD_SHAPE"),
    "duplicate": (
        [GOLD, {**GOLD, "source_text": 3}],
        [],
        "line 5, record 4: its id was given",
        "E_RECORD_ID_DUPLICATE",
    ),
    "source": ([{**GOLD, "id": "e", "source_text": ["비밀"]}], [], "record 4: the text is missing", "E_SOURCE_TYPE"),
    "shape before duplicate": ([{"id": "b"}, GOLD], [], "record 4: it is no object", "E_RECORD_SHAPE"),
    "fault before duplicate": (
        [{**GOLD, "id": "e", "entities": [{"type": "비밀", "value": "x"}]}, GOLD],
        [],
        "line 5, record 4 entity 0: the type is none of",
        "E_GOLD_TYPE",
    ),
    "value": ([{**GOLD, "id": "e", "entities": [{"type": "REL", "value": " "}]}], [], "entity 0", "E_GOLD_VALUE"),
    "no match": (
        [{**GOLD, "id": "e", "entities": [{"type": "REL", "value": "비밀"}]}],
        [],
        "entity 0",
        "E_GOLD_NO_MATCH",
    ),
    "records first": ([GOLD], [{"id": 1}], "record 4: its id was given", "E_RECORD_ID_DUPLICATE"),
    "prediction": ([], [{"id": 1}], "rows.jsonl, line 4, prediction 3: it is no object", "E_PREDICTION_SHAPE"),
    "twice": ([], [{"id": "a"}, {"id": "비밀"}], "prediction 3: its id was given", "E_PREDICTION_ID_DUPLICATE"),
    "unknown": (
        [],
        [{"id": "비밀"}, {"id": "a"}],
        "line 4, prediction 3: no record has its id",
        "E_PREDICTION_UNKNOWN",
    ),
    "flag": ([], [{"id": "c", "prediction": "", "parse_success": 1}], "prediction 3: `parse_success`", "E_PARSE_FLAG"),
    "text": ([], [{"id": "c", "prediction": ["비밀"], "parse_success": True}], "prediction 3", "E_PREDICTION_TYPE"),
}


@pytest.mark.unit
@pytest.mark.parametrize("case", FAULTS)
def test_the_first_fault_is_told_with_file_and_line(case, tmp_path):
    records, predictions, words, code = FAULTS[case]
    given = write_rows(tmp_path / "records.jsonl", [*RECORDS, *records])
    rows = write_rows(tmp_path / "rows.jsonl", [*PREDICTIONS, *predictions])
    done = sm_ops("pii", "evaluate", given, rows)
    assert (done.code, done.out) == (2, "")
    (line,) = done.err.splitlines()
    assert words in line
    assert line.endswith(f"[{code}]")
    assert "비밀" not in line


@pytest.mark.unit
def test_no_records(tmp_path):
    (tmp_path / "records.jsonl").write_text("")
    (tmp_path / "rows.jsonl").write_text("")
    done = sm_ops("pii", "evaluate", tmp_path / "records.jsonl", tmp_path / "rows.jsonl")
    assert (done.code, "holds no records" in done.err) == (2, True)


@pytest.mark.unit
def test_records_without_labels_are_no_measure(tmp_path):
    given = write_rows(tmp_path / "records.jsonl", [{"id": "a", "text": "김가상"}])
    rows = write_rows(tmp_path / "rows.jsonl", [{"id": "a", "prediction": "", "parse_success": True}])
    done = sm_ops("pii", "evaluate", given, rows)
    assert (done.code, done.out, "records.jsonl has no labels" in done.err) == (2, "", True)


# ---- generate ------------------------------------------------------------------------------------------


def test_generated_documents_give_the_figures_of_an_oracle(tmp_path):
    folder = tmp_path / "documents"
    done = pii("generate", "--out", folder)
    assert f"next: sm-ops pii mask {folder / 'test.jsonl'} --out masked.jsonl" in done.err
    assert "train: ko 1,280 (256 negative), en 320 (64 negative)" in done.err
    documents = read_rows(folder / "test.jsonl")
    gold = [{"id": each["id"], "prediction": each["target_tsv"], "parse_success": True} for each in documents]
    nothing = [{**each, "prediction": ""} for each in gold]

    def figures(rows):
        path = write_rows(tmp_path / "rows.jsonl", rows)
        return json.loads(pii("evaluate", folder / "test.jsonl", path, "--json").out)

    oracle, empty = figures(gold), figures(nothing)
    assert (oracle["entity"]["f1"], oracle["documents"]["leaked"], oracle["entities"]["leaked"]) == (1.0, 0, 0)
    assert oracle["entities"]["over_redaction_rate"] == oracle["entities"]["hallucination_rate"] == 0.0
    assert oracle["tokenization"]["round_trip_rate"] == oracle["parse"]["success_rate"] == 1.0
    assert (empty["entity"]["f1"], empty["documents"]["leak_rate"], empty["entities"]["leak_rate"]) == (0.0, 0.8, 1.0)


@pytest.fixture
def quick(monkeypatch):
    """A generator that writes one file at once."""

    def make(folder, seed, scale):
        (folder / "test.jsonl").write_text(f"{seed} {scale}")
        (folder / "manifest.json").write_text(json.dumps({"seed": seed, "scale": scale}))
        return {"files": {"test.jsonl": {}}, "partitions": {}, "records": 2200 * scale}

    monkeypatch.setattr("sm_ops.pii.documents.generate", make)


@pytest.mark.unit
def test_a_folder_that_holds_the_same_set_is_found(quick, tmp_path):
    folder = tmp_path / "new" / "documents"
    done = pii("generate", "--out", folder)
    assert done.out == f"{folder / 'test.jsonl'}\n"
    assert pii("generate", "--out", folder) == done
    for words in (["--seed", 7], ["--scale", 2]):
        assert sm_ops("pii", "generate", "--out", folder, *words).code == 2
    (folder / "test.jsonl").write_text("other")
    before = contents(tmp_path)
    assert sm_ops("pii", "generate", "--out", folder).code == 2
    assert contents(tmp_path) == before
    assert [path.name for path in folder.parent.iterdir()] == ["documents"]


@pytest.mark.unit
@pytest.mark.parametrize("there", ["file", "folder", "manifest"])
def test_a_folder_of_something_else_is_left_alone(there, tmp_path):
    out = tmp_path / "out"
    if there == "file":
        out.write_text("x")
    else:
        out.mkdir()
        (out / ("notes.txt" if there == "folder" else "manifest.json")).write_text('{"seed": 42}')
    before = contents(tmp_path)
    done = sm_ops("pii", "generate", "--out", out)
    assert (done.code, "holds something else" in done.err) == (2, True)
    assert contents(tmp_path) == before
