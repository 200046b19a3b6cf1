"""Both formats are read unchanged and refused in words; the generated sets are what the paper's are: 45 and 22."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record
from sm_ops.core.settings import Settings
from sm_ops.rewriting.benchmarks import rat, redac
from sm_ops.rewriting.benchmarks.population import Population
from sm_ops.rewriting.benchmarks.reading import json_in

pytestmark = pytest.mark.unit

SETTINGS = Settings({"levels": [1, 2], "documents": None})

TRANSCRIPT = {
    "id": 7,
    "profile": {"sex": "Female"},
    "direct_identifiers": {"phone number": "(201) 555-0123"},
    "indirect_identifiers": {"DOB": "3 June 1970", "ST": "Oregon/OR", "SEX": "Female"},
    "features": ["DOB", "ST", "SEX", "phone number"],
    "difficulty": 1,
    "prompt": "left out",
    "text": "Call 201 555 0123. I was born on June 3rd, 1970 in Oregon.",
    "scenario": "Meeting transcript",
}
MEMO = {
    "id": "m",
    "text": "Ann is ill. The shop is open.",
    "policy": "No health.",
    "propositions": [
        {"text": "Ann is ill.", "label": "sensitive"},
        {"text": "The shop is open.", "label": "nonsensitive"},
        {"text": "Ann is well liked.", "label": "ambiguous"},
        {"text": "Ann left.", "label": "disputed"},
        {"text": "Ann has a cold.", "label": "sensitive", "supported": False},
    ],
}


def written(tmp_path, *rows, name="rows.jsonl"):
    path = tmp_path / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_transcript_is_read_with_its_profile_and_where_its_values_stand(tmp_path):
    path = written(tmp_path, TRANSCRIPT, {**TRANSCRIPT, "difficulty": 3})
    (record,) = rat.read(path, SETTINGS)
    assert (record.id, record.group, record.content) == ("1-7", "7", TRANSCRIPT["text"])
    assert record.meta["direct"] == {"phone number": "(201) 555-0123"}
    found = {span.label: record.content[span.start : span.end] for span in record.spans}
    assert found == {"phone number": "201 555 0123", "DOB": "June 3rd, 1970", "ST": "Oregon"}


def test_a_folder_of_levels_is_read(tmp_path):
    for level in (1, 2, 3):
        written(tmp_path, {**TRANSCRIPT, "difficulty": level}, name=f"level_{level}.jsonl")
    assert [record.id for record in rat.read(tmp_path, SETTINGS)] == ["1-7", "2-7"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"text": None}, "line 1, field text: is missing"),
        ({"difficulty": "1"}, "field difficulty: must be a whole number"),
        ({"direct_identifiers": []}, "field direct_identifiers: must be an object"),
        ({"difficulty": 3}, "no transcript of level 1, 2"),
    ],
)
def test_a_bad_transcript_is_refused_by_place_and_field(tmp_path, change, said):
    with pytest.raises(InputError) as caught:
        list(rat.read(written(tmp_path, TRANSCRIPT | change), SETTINGS))
    assert said in caught.value.hint
    assert "0123" not in caught.value.hint


def test_propositions_count_unless_ambiguous_disputed_or_unsupported(tmp_path):
    (record,) = redac.read(written(tmp_path, MEMO), SETTINGS)
    assert [each["text"] for each in redac.counted(record)] == ["Ann is ill.", "The shop is open."]
    assert redac.excluded(record) == {"ambiguous": 1, "disputed": 1, "unsupported sensitive": 1}
    asked = redac.question(record, record.content)[-1]["content"]
    assert "well liked" not in asked
    assert "Ann left" not in asked


def test_the_playground_layout_is_read(tmp_path):
    row = {
        "id": "p", "policy": "No places.",
        "texts": [{"label": "edited", "text": "x"}, {"label": "original", "text": "He is from M."}],
        "qa": [{"q": "Where from?", "a": "M.", "redact": True}, {"q": "Who?", "a": "He", "redact": False}],
    }  # fmt: skip
    (record,) = redac.read(written(tmp_path, row), SETTINGS)
    assert record.content == "He is from M."
    assert [each["label"] for each in record.meta["propositions"]] == ["sensitive", "nonsensitive"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"policy": ""}, "field policy: is empty"),
        ({"propositions": [{"text": "x", "label": "secret"}]}, "propositions[0].label: must be one of sensitive,"),
        ({"propositions": [{"text": "x", "label": "sensitive", "supported": "no"}]}, "must be true or false"),
    ],
)
def test_a_bad_document_is_refused_by_place_and_field(tmp_path, change, said):
    with pytest.raises(InputError) as caught:
        list(redac.read(written(tmp_path, MEMO | change), SETTINGS))
    assert said in caught.value.hint


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ('{"disclosed": [2]}', (1, 1)),
        ('Sure: {"disclosed": [1, 2]} as asked', (0, 1)),
        ('{"disclosed": []}', (1, 0)),
    ],
)
def test_the_judge_says_what_is_left(tmp_path, answer, expected):
    (record,) = redac.read(written(tmp_path, MEMO), SETTINGS)
    outcome = redac.outcome(record, answer)
    assert outcome is not None
    assert (outcome["removed"], outcome["kept"]) == expected
    assert (outcome["sensitive"], outcome["nonsensitive"]) == (1, 1)


@pytest.mark.parametrize("answer", ["none", '{"disclosed": [3]}', '{"disclosed": ["1"]}', '{"disclosed": [true]}'])
def test_an_answer_that_cannot_be_read_is_no_outcome(tmp_path, answer):
    (record,) = redac.read(written(tmp_path, MEMO), SETTINGS)
    assert redac.outcome(record, answer) is None
    assert rat.outcome(record, "I do not know", None) is None


def test_transcripts_are_fifteen_profiles_at_three_levels_and_share_nobody():
    validation, application, clean = rat.generate(3, SETTINGS)
    assert Counter(record.meta["level"] for record in validation) == {1: 15, 2: 15, 3: 15}
    assert len({record.group for record in validation}) == 15
    assert (len(application), {record.meta["level"] for record in application}) == (40, {1, 2})
    assert not {record.group for record in validation} & {record.group for record in application}
    names = [record.meta["direct"]["name"] for record in (*validation, *application)]
    assert len(set(names)) == 35
    assert rat.generate(3, SETTINGS) == (validation, application, clean)
    lines = {line for record in (*validation, *application) for line in record.content.split("\n") if "[" not in line}
    assert not lines & {line for record in clean for line in record.content.split("\n") if line.strip()} - {""}


def test_a_level_says_values_plainly_oddly_or_by_hints():
    validation, _, _ = rat.generate(0, SETTINGS)
    for record in validation:
        values = record.meta["direct"]
        plain = {name for name, value in values.items() if value in record.content}
        assert plain == (set(values) if record.meta["level"] == 1 else set())
        assert {span.label for span in record.spans} == {*values, *record.meta["indirect"]}


def test_documents_are_22_and_spans_are_their_sensitive_sentences():
    validation, application, _ = redac.generate(5, SETTINGS)
    assert (len(validation), len(application)) == (22, 30)
    assert len({record.meta["policy"] for record in validation}) > 3
    for record in validation:
        marked = {record.content[span.start : span.end] for span in record.spans}
        assert marked == {each["text"] for each in record.meta["propositions"] if each["label"] == "sensitive"
                          and each["supported"]}  # fmt: skip
        assert all(each["text"] in record.content for each in redac.counted(record))
    assert {"ambiguous", "disputed"} <= set(sum((redac.excluded(record) for record in application), Counter()))


def test_goals_and_questions_name_no_value():
    validation, _, _ = rat.generate(0, SETTINGS)
    memos, _, _ = redac.generate(0, SETTINGS)
    values = [*validation[0].meta["direct"].values(), *validation[0].meta["indirect"].values()]
    told = rat.goal(validation[0]) + json.dumps(rat.question(validation[0], "gone"))
    assert not [value for value in values if value in told and len(value) > 6]
    assert not [each for each in memos[0].meta["propositions"] if each["text"] in redac.goal(memos[0])]


def test_people_alike_are_counted_in_a_table(tmp_path):
    table = tmp_path / "people.csv"
    table.write_text("SEX,ST\nFemale,Oregon/OR\nFemale,Texas/TX\nMale,Oregon/OR\nFemale,Oregon/OR\n")
    people = Population(table, people=400)
    assert people.alike({"SEX": "female", "ST": "Oregon/OR"}) == 200
    assert people.alike({"SEX": "Male", "ST": "Texas/TX"}) == 0
    assert people.alike({"OCCP": "Nurse"}) == float("inf")
    (tmp_path / "empty.csv").write_text("SEX\n")
    with pytest.raises(InputError, match="holds no person"):
        Population(tmp_path / "empty.csv")


def test_json_is_found_whatever_stands_around_it():
    assert json_in('```json\n{"a": [1]}\n```', dict) == {"a": [1]}
    assert json_in("[1] and [2]", list) is None
    assert json_in("nothing", dict) is None


def test_records_carry_what_the_judge_needs(tmp_path):
    (record,) = redac.read(written(tmp_path, MEMO), SETTINGS)
    assert isinstance(record, Record)
    assert redac.sent(record, "new") == ["new", "Ann is ill.", "The shop is open."]
