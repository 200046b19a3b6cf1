"""The metadata of a release: the tool of the standard validates it and loads the records by it, offline."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from release.described import ABOUT, CHATS, EVIDENCE, TEXTS, described, lines, parquet

from sm_ops.core import fs
from sm_ops.release.croissant import croissant, licence_address
from sm_ops.release.facts import facts_of

Json = dict[str, Any]


def written(folder: Path, **options: Any) -> Json:
    """The metadata of a bundle, written where it belongs."""
    value = croissant(facts_of(folder, manifest=described(folder, **options)), folder)
    fs.write_json(folder / "croissant.json", value)
    return value


def loaded(folder: Path) -> Any:
    """The dataset as mlcroissant reads it, which found nothing to complain of."""
    import mlcroissant

    dataset = mlcroissant.Dataset(folder / "croissant.json")
    assert not dataset.metadata.ctx.issues.errors
    assert not dataset.metadata.ctx.issues.warnings
    return dataset


def test_texts_are_validated_and_loaded(tmp_path: Path) -> None:
    written(tmp_path)
    dataset = loaded(tmp_path)
    assert str(dataset.metadata.ctx.conforms_to.value) == "http://mlcommons.org/croissant/1.1"
    assert [(row["train/id"], row["train/text"]) for row in dataset.records("train")] == [
        (b"n-1", b"call [MASKED] back"),
        (b"n-2", b"[MASKED] wrote on Monday"),
        (b"n-3", b"nothing to hide"),
    ]


def test_chats_in_both_formats_are_validated_and_loaded(tmp_path: Path) -> None:
    written(tmp_path, shards={"chat.jsonl": lines(CHATS), "talk.parquet": parquet(CHATS), "a.parquet": parquet(TEXTS)})
    dataset = loaded(tmp_path)
    for name in ("chat", "talk"):
        first, second = dataset.records(name)
        role, content = f"{name}/messages/role", f"{name}/messages/content"
        assert first[f"{name}/messages"] == [
            {role: b"user", content: b"who is it?"},
            {role: b"assistant", content: b"[MASKED]"},
        ]
        assert (second[f"{name}/id"], second[f"{name}/messages"]) == (b"c-2", [{role: b"user", content: b"thanks"}])
    assert [row["a/text"] for row in dataset.records("a")] == [row["text"].encode() for row in TEXTS]


def test_columns_are_described_by_their_types_and_odd_names_stay_out(tmp_path: Path) -> None:
    rows = [
        {"id": "1", "text": "a", "score": 1, "ok": True, "parts": [1, 2]},
        {"id": "4", "text": "a", "spans": [{"start": 0, "end": 1, "label": "x"}]},
        {"id": "2", "text": "b", "score": 0.5, "ok": None, "parts": [], "meta": {"year": 2020}, "Ada Byron": 1},
        {"id": "3", "text": "c", "meta": {"Ada Byron": {"x": 1}, "source": "desk"}},
    ]
    told = written(tmp_path, shards={"train.jsonl": lines(rows)})
    fields = {field["name"]: field for field in told["recordSet"][0]["field"]}
    assert list(fields) == ["id", "text", "score", "ok", "parts", "spans", "meta"]
    assert [fields[name]["dataType"] for name in ("id", "score", "ok", "parts")] == [
        "sc:Text", "sc:Float", "sc:Boolean", "sc:Integer",
    ]  # fmt: skip
    assert fields["parts"]["isArray"] is True
    assert "isArray" not in fields["text"]
    assert [(leaf["name"], leaf["dataType"]) for leaf in fields["spans"]["subField"]] == [
        ("start", "sc:Integer"), ("end", "sc:Integer"), ("label", "sc:Text"),
    ]  # fmt: skip
    assert [leaf["name"] for leaf in fields["meta"]["subField"]] == ["year", "source"]
    assert "Byron" not in json.dumps(told)


def test_files_carry_size_and_digest(tmp_path: Path) -> None:
    told = written(tmp_path)
    assert told["distribution"] == [
        {
            "@type": "cr:FileObject",
            "@id": "data/train.jsonl",
            "name": "train.jsonl",
            "contentUrl": "data/train.jsonl",
            "contentSize": f"{(tmp_path / 'data/train.jsonl').stat().st_size} B",
            "encodingFormat": "application/jsonlines",
            "sha256": fs.file_hash(tmp_path / "data/train.jsonl"),
        }
    ]


def test_responsible_ai_fields_reach_the_tool(tmp_path: Path) -> None:
    written(tmp_path)
    metadata = loaded(tmp_path).metadata
    assert metadata.data_collection == "Written down by clerks."
    assert metadata.data_annotation_protocol == ["Two readers marked names.", "Labels are by: clerk."]
    assert metadata.data_biases == ["Calls of one desk."]
    assert metadata.data_use_cases == ["Training of small models.", "Not for: Finding people."]
    assert metadata.personal_sensitive_information == ["Names and telephone numbers."]
    assert metadata.data_release_maintenance_plan == (
        "A leak is corrected by a new version within a week. Maintained by: privacy team. Contact: privacy@example.org"
    )
    assert metadata.data_limitations[0] == "Notes are short."
    assert any("No model was trained on the released text itself" in each for each in metadata.data_limitations)
    assert any("Notes of the desk were redacted." in each for each in metadata.data_preprocessing_protocol)
    assert metadata.license == ["https://spdx.org/licenses/CC-BY-4.0.html"]


def test_what_is_not_said_is_left_out_and_still_valid(tmp_path: Path) -> None:
    import mlcroissant

    told = written(tmp_path, about={"title": "Notes", "description": "Notes."}, evidence={}, method="scrubbed")
    assert not {"license", "creator", "isBasedOn", "citeAs", "rai:dataBiases"} & told.keys()
    dataset = mlcroissant.Dataset(tmp_path / "croissant.json")
    assert not dataset.metadata.ctx.issues.errors
    assert len(list(dataset.records("train"))) == 3


@pytest.mark.unit
def test_metadata_depends_on_the_bundle_alone(tmp_path: Path) -> None:
    one, two = (json.dumps(written(tmp_path / name)) for name in ("one", "two"))
    assert one == two
    assert str(tmp_path) not in one


@pytest.mark.unit
@pytest.mark.parametrize(
    ("licence", "told"),
    [
        ("MIT", "https://spdx.org/licenses/MIT.html"),
        ("MIT AND Apache-2.0", "MIT AND Apache-2.0"),
        ("LicenseRef-Own", "LicenseRef-Own"),
    ],
)
def test_a_licence_is_told_by_its_page_in_the_list(licence: str, told: str) -> None:
    assert licence_address(licence) == told


@pytest.mark.unit
def test_no_value_of_a_record_reaches_the_metadata(tmp_path: Path) -> None:
    told = json.dumps(written(tmp_path, shards={"chat.jsonl": lines(CHATS), "a.parquet": parquet(TEXTS)}))
    values = [row["text"] for row in TEXTS] + [row["id"] for row in (*TEXTS, *CHATS)]
    values += [message["content"] for row in CHATS for message in row["messages"] if message["content"] != "[MASKED]"]
    assert [value for value in values if value in told] == []


@pytest.mark.unit
def test_people_and_evidence_are_told_as_text(tmp_path: Path) -> None:
    hostile = '"}],"@id":"http://evil.example/"'
    told = written(tmp_path, about=ABOUT | {"description": hostile}, evidence=EVIDENCE)
    assert json.loads(json.dumps(told))["description"] == hostile
