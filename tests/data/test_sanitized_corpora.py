"""Corpora to be sanitized: published layouts from small files made here, and what recognises them."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from sm_ops.core import registry
from sm_ops.core.errors import InputError
from sm_ops.data.corpora._recognise import recognise

pytestmark = pytest.mark.unit


def lines(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def read(name, path, **settings):
    return registry.load("corpus", name).read(path, settings)


def at(text, value):
    return {"start": text.index(value), "end": text.index(value) + len(value)}


def labelled(record):
    return [(record.text[span.start : span.end], span.label) for span in record.spans]


CODE = "a = 'blue 😀'\nb = 'whale'\nc = 'moss'\n"
CONTEXT = {
    "id": "x.py:1-3", "repo": "some/where", "commit": "c0", "license": "MIT", "ext": ".py", "first_line": 1,
    "text": CODE, "split": "open",
    "spans": [
        at(CODE, "blue 😀") | {"label": "true", "category": "Password"},
        at(CODE, "whale") | {"label": "false", "category": "Token"},
        at(CODE, "moss") | {"label": "ambiguous", "category": "Token"},
        at(CODE, "blue") | {"label": "true", "category": "Auth:Token"},
    ],
}  # fmt: skip
FINDING = {"id": "samples/keys.yaml", "text": CODE, "split": "open",
           "spans": [at(CODE, "moss") | {"label": "true", "category": "Key", "severity": "low"}]}  # fmt: skip
PROSE = "Ada lives in Ulm."
CASE = {"id": "001", "text": PROSE, "tab_split": "dev", "annotator": "one", "year": 2001,
        "spans": [at(PROSE, "Ada") | {"type": "PERSON", "identifier": "DIRECT"},
                  at(PROSE, "Ulm") | {"type": "LOC", "identifier": "NO_MASK"}]}  # fmt: skip
POST = {"id": "P1", "kind": "Forum Post", "text": PROSE,
        "spans": [at(PROSE, "Ada") | {"type": "PERSON", "identifier": "QUASI"},
                  at(PROSE, "Ulm") | {"type": "LOC", "identifier": "NO_MASK"}]}  # fmt: skip
FILLED = {"id": "p1", "template_id": "4", "masked": "{{PERSON}} lives in {{GPE}}.", "text": PROSE,
          "spans": [at(PROSE, "Ada") | {"type": "PERSON"}, at(PROSE, "Ulm") | {"type": "GPE"}]}  # fmt: skip
PROXY = {"id": "s0", "text": PROSE,
         "spans": [at(PROSE, "Ulm") | {"type": "CITY"}, at(PROSE, "Ada") | {"type": "FIRSTNAME"}]}  # fmt: skip
KOREAN = {"id": "k1", "source": "nsmc", "text": PROSE, "spans": [at(PROSE, "Ada") | {"type": "PS"}]}
TAGGED = {"source": "wiki", "tokens": ["Ada", "L.", "of", "Ulm", "Ulm"],
          "tags": ["B-PER", "I-PER", "O", "B-LOC", "B-LOC"]}  # fmt: skip
OWN = {"id": "r1", "text": PROSE, "spans": [at(PROSE, "Ada") | {"label": "name"}]}
LAYOUTS = {
    "creddata": CONTEXT, "credsweeper": FINDING, "tab": CASE, "panorama": POST, "presidio": FILLED, "kiji": PROXY,
    "klue": KOREAN, "piibench": TAGGED, "records": OWN,
}  # fmt: skip
REFUSED = [(name, row) for name, row in LAYOUTS.items() if name not in ("tab", "piibench", "records")]


# ---- recognition ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_published_file_is_recognised_by_its_first_labelled_row(name, tmp_path):
    bare = {key: value for key, value in LAYOUTS[name].items() if key != "tags"} | {"id": "0", "spans": []}
    bare = bare if name != "piibench" else LAYOUTS[name]
    file = lines(tmp_path / "x.jsonl", bare | {"id": "0"}, LAYOUTS[name] | {"id": "1"})
    assert recognise(file) == name
    assert len(list(read(name, file))) == 2


def test_what_has_no_labels_or_no_published_layout_is_our_own(tmp_path):
    assert recognise(lines(tmp_path / "x.jsonl", {"id": "1", "text": "none", "source": "here"})) == "records"
    assert recognise(lines(tmp_path / "y.jsonl", OWN | {"kind": "note"})) == "records"
    (tmp_path / "z.parquet").touch()
    assert recognise(tmp_path / "z.parquet") == "records"
    with pytest.raises(InputError, match="nothing at"):
        recognise(tmp_path / "absent.jsonl")


def test_the_benchmarks_own_list_of_cases_is_recognised(tmp_path):
    (tmp_path / "echr.json").write_text(json.dumps([{"doc_id": "1", "text": "x", "annotations": {"one": {}}}]))
    assert recognise(tmp_path / "echr.json") == "tab"


# ---- what each takes -----------------------------------------------------------------------------------


def test_creddata_keeps_true_credentials_and_leaves_unclear_ones_out(tmp_path):
    (record,) = read("creddata", lines(tmp_path / "x.jsonl", CONTEXT))
    assert labelled(record) == [("blue 😀", "Password"), ("blue", "Auth:Token")]
    assert (record.id, record.group, record.text) == ("x.py:1-3", "some/where", CODE)
    start = CODE.index("moss")
    assert record.meta == {
        "ext": ".py",
        "split": "open",
        "left_out": [[start, start + 4]],
        "anchors": {
            "Auth:Token": {"true": 1, "false": 0, "ambiguous": 0},
            "Password": {"true": 1, "false": 0, "ambiguous": 0},
            "Token": {"true": 0, "false": 1, "ambiguous": 1},
        },
    }
    (record,) = read("creddata", tmp_path / "x.jsonl", ambiguous="other")
    assert "left_out" not in record.meta


@pytest.mark.parametrize(
    ("name", "spans", "meta", "group"),
    [
        ("credsweeper", [("moss", "Key")], {"ext": ".yaml", "split": "open"}, "samples/keys.yaml"),
        ("tab", [("Ada", "PERSON")], {"annotator": "one", "split": "dev", "year": 2001}, "001"),
        ("panorama", [("Ada", "PERSON")], {"kind": "Forum Post"}, "P1"),
        ("klue", [("Ada", "PS")], {"source": "nsmc"}, "k1"),
    ],
)
def test_documents_are_their_own_groups_and_only_targets_are_spans(name, spans, meta, group, tmp_path):
    (record,) = read(name, lines(tmp_path / "x.jsonl", LAYOUTS[name]))
    assert (labelled(record), record.meta, record.group) == (spans, meta, group)


@pytest.mark.parametrize("name", ["tab", "panorama"])
def test_identifiers_say_what_is_a_target(name, tmp_path):
    file = lines(tmp_path / "x.jsonl", LAYOUTS[name])
    (record,) = read(name, file, identifiers=["NO_MASK"])
    assert labelled(record) == [("Ulm", "LOC")]
    with pytest.raises(InputError, match="identifiers"):
        list(read(name, file, identifiers=["ALL"]))


@pytest.mark.parametrize("name", ["presidio", "kiji"])
def test_sentences_of_one_template_are_one_group(name, tmp_path):
    other = "Bob lives in Rome."
    types = [span["type"] for span in LAYOUTS[name]["spans"]]
    filled = dict(zip(types, ("Bob", "Rome") if name == "presidio" else ("Rome", "Bob"), strict=True))
    same = {"id": "2", "text": other, "spans": [at(other, value) | {"type": type} for type, value in filled.items()]}
    third = {"id": "3", "text": "Ada?", "spans": [{"start": 0, "end": 3, "type": types[0]}], "masked": "{{PERSON}}?"}
    first, second, third = read(name, lines(tmp_path / "x.jsonl", LAYOUTS[name], LAYOUTS[name] | same, third))
    assert first.group == second.group != third.group
    assert sorted(labelled(second)) == sorted((value, type) for type, value in filled.items())


# ---- tokens with tags ----------------------------------------------------------------------------------


def tagged(tmp_path, tokens, tags, **more):
    (record,) = read("piibench", lines(tmp_path / "x.jsonl", {"tokens": tokens, "tags": tags} | more))
    return record


@pytest.mark.parametrize(
    ("tags", "spans"),
    [
        (["B-PER", "I-PER", "O", "B-LOC"], [("Ada L.", "PER"), ("Ulm", "LOC")]),
        (["B-PER", "B-PER", "O", "O"], [("Ada", "PER"), ("L.", "PER")]),
        (["I-PER", "I-PER", "I-LOC", "I-LOC"], [("Ada L.", "PER"), ("of Ulm", "LOC")]),
        (["B-PER", "I-LOC", "O", "I-LOC"], [("Ada", "PER"), ("L.", "LOC"), ("Ulm", "LOC")]),
        (["B-PER", "O", "I-PER", "O"], [("Ada", "PER"), ("of", "PER")]),
        (["O", "O", "O", "O"], []),
    ],
)
def test_tags_become_spans_of_tokens_joined_by_single_spaces(tags, spans, tmp_path):
    record = tagged(tmp_path, ["Ada", "L.", "of", "Ulm"], tags, source="wiki", split="test")
    assert (record.text, labelled(record)) == ("Ada L. of Ulm", spans)
    assert record.meta == {"source": "wiki", "split": "test"}
    assert (record.id, record.group) == ("x-000001", "x-000001")


def test_rows_may_call_their_tags_otherwise_and_bring_ids(tmp_path):
    file = lines(tmp_path / "x.jsonl", {"id": 7, "tokens": ["Ulm"], "ner_tags": ["B-LOC"]},
                 {"id": "b", "tokens": ["Ulm"], "labels": ["B-LOC"]}, {"tokens": [], "tags": []})  # fmt: skip
    reading = read("piibench", file)
    assert [(record.id, labelled(record)) for record in reading] == [("7", [("Ulm", "LOC")]), ("b", [("Ulm", "LOC")])]
    assert reading.skipped == Counter({"no text": 1})


def test_roles_divide_ten_thousand_records_as_the_paper_does(tmp_path):
    file = lines(tmp_path / "x.jsonl", *({"tokens": ["Ulm"], "tags": ["O"]} for _ in range(1_000)))
    ids = {role: {record.id for record in read("piibench", file, role=role)}
           for role in ("tuning", "screening", "fit", "held_out", "calibration", "all")}  # fmt: skip
    assert {role: len(own) for role, own in ids.items()} == {
        "tuning": 304, "screening": 101, "fit": 101, "held_out": 494, "calibration": 405, "all": 1_000,
    }  # fmt: skip
    assert ids["tuning"] | ids["screening"] == ids["calibration"]
    assert ids["calibration"] | ids["fit"] | ids["held_out"] == ids["all"]
    assert ids["tuning"] != {record.id for record in read("piibench", file, role="tuning", seed=1)}
    with pytest.raises(InputError, match="no role 'tunning'; the nearest is tuning"):
        read("piibench", file, role="tunning")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"tags": ["B-PER"]}, "field tags: has 1 entries for 5 tokens"),
        ({"tags": [1, 2, 0, 3, 3]}, r"field tags\[0\]: must be a string; replace numbers"),
        ({"tags": ["B-PER", "Ada", "O", "O", "O"]}, r"field tags\[1\]: is none of O"),
        ({"tags": ["B-", "O", "O", "O", "O"]}, r"field tags\[0\]: is none of O"),
        ({"tags": None}, "field tags: is missing"),
        ({"tokens": "Ada"}, "field tokens: must be a list"),
        ({"tokens": ["", "L.", "of", "Ulm", "Ulm"]}, r"field tokens\[0\]: is empty and begins"),
        ({"id": ""}, "field id: is empty"),
    ],
)
def test_a_bad_row_of_tags_is_refused_by_field_and_no_value(change, said, tmp_path):
    refused(read("piibench", lines(tmp_path / "x.jsonl", {"tokens": ["fine"], "tags": ["O"]}, TAGGED | change)), said)


# ---- refusals ------------------------------------------------------------------------------------------


def refused(reading, said):
    with pytest.raises(InputError, match=said) as caught:
        list(reading)
    assert "x.jsonl, line 2" in str(caught.value)
    assert not any(word in str(caught.value) for word in ("Ada", "Ulm", "blue", "whale", "moss"))


@pytest.mark.parametrize(("name", "row"), REFUSED)
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"id": None}, "field id: is missing"),
        ({"text": 7}, "field text: must be a string"),
        ({"spans": None}, "field spans: is missing"),
        ({"spans": {}}, "field spans: must be a list"),
        ({"spans": ["Ada"]}, r"field spans\[0\]: must be an object"),
        ({"spans": [{"start": 3, "end": 3}]}, r"field spans\[0\].start/end: must be whole numbers"),
        ({"spans": [{"start": 0, "end": 400}]}, r"field spans\[0\].start/end: must be whole numbers"),
        ({"spans": [{"start": 0, "end": True}]}, r"field spans\[0\].start/end: must be whole numbers"),
        ({"spans": [{"start": 0, "end": 3}]}, r"spans\[0\], field (label|type|identifier): is missing"),
        ({"id": "first"}, "field id: is the same as in line 1"),
    ],
)
def test_a_bad_row_is_refused_by_line_and_field_and_no_value(name, row, change, said, tmp_path):
    refused(read(name, lines(tmp_path / "x.jsonl", row | {"id": "first"}, row | change)), said)


@pytest.mark.parametrize(
    ("name", "row", "said"),
    [
        ("creddata", CONTEXT | {"spans": [{**CONTEXT["spans"][0], "label": "maybe"}]}, "label: is none of true, false"),
        ("creddata", CONTEXT | {"repo": ""}, "field repo: is empty"),
        ("credsweeper", FINDING | {"spans": [{**FINDING["spans"][0], "label": "false"}]}, "label: is not true"),
        ("presidio", FILLED | {"masked": None}, "field masked: is missing"),
    ],
)
def test_what_a_layout_asks_for_is_missed(name, row, said, tmp_path):
    refused(read(name, lines(tmp_path / "x.jsonl", LAYOUTS[name] | {"id": "first"}, row)), said)


@pytest.mark.parametrize("name", sorted(set(LAYOUTS) - {"records", "tab"}))
def test_empty_files_and_folders_are_refused(name, tmp_path):
    with pytest.raises(InputError, match="holds no"):
        list(read(name, lines(tmp_path / "x.jsonl")))
    if name != "piibench":
        with pytest.raises(InputError, match="is a folder"):
            list(read(name, tmp_path))


def test_blank_documents_are_left_out_and_counted(tmp_path):
    reading = read("klue", lines(tmp_path / "x.jsonl", KOREAN | {"text": " ", "spans": []}, KOREAN | {"id": "k2"}))
    assert [record.id for record in reading] == ["k2"]
    assert reading.skipped == Counter({"no text": 1})


def test_unknown_handling_of_unclear_credentials_is_refused(tmp_path):
    with pytest.raises(InputError, match="is left_out or other"):
        read("creddata", lines(tmp_path / "x.jsonl", CONTEXT), ambiguous="targets")
