"""What stops the build: a broken template, vocabulary, value or oracle, a common line; and equal bytes again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sm_ops.core.errors import InputError, StageError
from sm_ops.pii.documents import generate, templates, vocabularies
from sm_ops.pii.documents.build import build
from sm_ops.pii.documents.checks import disjoint, oracle, shares, values, wellformed
from sm_ops.pii.documents.checks.wellformed import Document, Planted
from sm_ops.pii.documents.plan import places
from sm_ops.pii.documents.templates import Template, slot
from sm_ops.pii.documents.values import numbers as number_values
from sm_ops.pii.documents.values.numbers import Numbers

ROOT = Path(__file__).resolve().parents[3]
unit = pytest.mark.unit


def first(index=0):
    """A positive Korean train place without surface forms."""
    fitting = [place for place in places(42, 1) if place.lang == "ko" and not place.negative and not place.surfaces]
    return fitting[index]


def template(text, negative=False, wishes=(), **named):
    """A template of train."""
    return Template(named.get("id", "ko-train-p-broken"), "ko", "train", negative, "form", text, tuple(wishes))


def built(monkeypatch, broken, place=None):
    """The record that a template gives when it is the only one."""
    monkeypatch.setattr("sm_ops.pii.documents.build.templates", lambda *_: (broken,))
    return build(place or first(), vocabularies.vocabularies(), Numbers(42, 1))[0]


def document(text, *entities, planted=None, negative=False, target=None, hard=()):
    """A document with entities planted at their first place."""
    places_ = planted or [(text.index(value), text.index(value) + len(value), type_) for type_, value in entities]
    rows = "\n".join(f"{type_}\t{value}" for type_, value in entities) if target is None else target
    record = {"id": text, "template_id": "t", "negative": negative, "source_text": text, "target_tsv": rows}
    record["entities"] = [{"type": type_, "value": value} for type_, value in entities]
    return Document(record, tuple(Planted(*place) for place in places_), tuple(Planted(*place) for place in hard))


@unit
def test_a_template_is_rendered_with_particles_distractors_and_hard_cases(monkeypatch):
    written = template("{p1}{은} {~p1.given} 반; {p1.mobile}; {d1.hour}; {d1.hour}", wishes=[("p1", "noun")])
    made = built(monkeypatch, written)
    person, phone = (entity["value"] for entity in made.record["entities"])
    first_part, *parts = made.record["source_text"].split("; ")
    given = person[1:] if not person.startswith(("남궁", "황보")) else person[2:]
    closed = (ord(person[-1]) - ord("가")) % 28
    assert first_part == f"{person}{'은' if closed else '는'} {given} 반"
    assert parts[0] == phone
    assert parts[1] == parts[2]
    (hard,) = made.hard
    assert first_part[hard.start : hard.end] == given


@unit
@pytest.mark.parametrize("inside", ["p1.shoe", "x1", "d.nothing", "p1.dob.iso.more", "을를", "~", ""])
def test_an_unknown_slot_is_refused(inside):
    with pytest.raises(StageError, match="not known"):
        slot(inside)


@unit
def test_a_template_whose_words_hold_a_gold_value_is_refused(monkeypatch):
    with pytest.raises(StageError, match=r"ko-train-p-broken .* also stands where none was planted"):
        built(monkeypatch, template("{r1}{은} 안다. 배우자 남편 아내 집사람 와이프", wishes=[("r1", "spouse")]))


@unit
def test_a_template_that_writes_values_itself_is_refused():
    for text in ("연락 010-1234-5678", "주민 850101-1234567", "카드 4111-1111-1111-1111", "메일 a@b.co"):
        assert list(values.faults(document(f"{text} 김가상", ("PERSON", "김가상"))))
        assert not list(values.faults(document("연락처 1588-1234 김가상", ("PERSON", "김가상"))))


@unit
@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (document("김가상 이예시 김가상", ("PERSON", "김가상")), "also stands"),
        (document("김가상 김 가 상", ("PERSON", "김가상")), "also stands"),
        (document("번호 010-0123-4567, 01001234567", ("PHONE", "010-0123-4567")), "also stands"),
        (document("김가상", ("PERSON", "김가상"), target="PERSON\t김가"), "parse back"),
        (document("김가상", ("PERSON", "김가상"), negative=True), "negative record has 1"),
        (document("김가상", negative=False), "positive record has 0"),
        (document("김가상", ("PERSON", "이예시"), planted=[(0, 3, "PERSON")]), "not in the text"),
        (
            document("김가상", ("PERSON", "김가상"), planted=[(0, 3, "PERSON"), (1, 3, "REL")]),
            "planted REL is no entity",
        ),
        (document("가나다라", ("PERSON", "가나다"), ("PERSON", "나다라")), "cross"),
        (document("가가가", ("PERSON", "가가"), planted=[(0, 3, "PERSON"), (0, 2, "PERSON")]), "cross"),
        (document("김\u1100\u1161상", ("PERSON", "김"), planted=[(0, 1, "PERSON")]), "not NFC"),
    ],
)
def test_a_malformed_record_is_noticed(wrong, says):
    assert any(says in fault for fault in wellformed.faults(wrong))


@unit
def test_a_hard_case_and_nesting_are_allowed():
    text = "이수 씨와 이수역에서, 수"
    assert not list(wellformed.faults(document(text, ("PERSON", "이수"), hard=[(6, 8, "PERSON")])))
    two = [(0, 3, "PERSON"), (4, 6, "PERSON")]
    nested = document("김가상 가상", ("PERSON", "김가상"), ("PERSON", "가상"), planted=two)
    assert not list(wellformed.faults(nested))


@unit
def test_a_birthday_that_is_not_the_head_of_its_owners_number_is_noticed():
    text = "850101-3000001 1985-01-02"
    wrong = document(text, ("RRN", "850101-3000001"), ("DOB", "1985-01-02"))
    assert any("head" in fault for fault in values.faults(wrong))
    right = document(text.replace("-02", "-01"), ("RRN", "850101-3000001"), ("DOB", "1985-01-01"))
    assert not list(values.faults(right))


@unit
def test_an_account_without_a_bank_is_noticed():
    assert any("bank" in fault for fault in values.faults(document("000-12-345678", ("ACCOUNT", "000-12-345678"))))


@unit
@pytest.mark.parametrize(
    ("wish", "text"),
    [("p2=noun", "{p1}"), ("p1.age=ancient", "{p1}"), ("p2.is=r9", "{p1} {p2} {r1}"), ("co=물산", "{p1}")],
)
def test_a_wish_that_says_nothing_is_refused(monkeypatch, wish, text):
    monkeypatch.setattr("sm_ops.pii.documents.templates.ko_train.POSITIVE", f"=== one form {wish}\n{text}\n")
    with pytest.raises(StageError, match="wishes"):
        list(templates._cell("train", "ko", False))


@unit
def test_a_template_that_is_too_long_is_refused(monkeypatch):
    monkeypatch.setattr("sm_ops.pii.documents.templates.ko_train.POSITIVE", "=== one form\n" + "{p1}.\n" * 13)
    with pytest.raises(StageError, match="more than"):
        list(templates._cell("train", "ko", False))


@unit
def test_a_relation_word_in_a_template_is_refused():
    disjoint.no_relation_words(template("{p1} 형제 기업"))
    disjoint.no_relation_words(template("어머니", negative=True))
    with pytest.raises(StageError, match="어머니"):
        disjoint.no_relation_words(template("{p1} 어머니"))


@unit
def test_a_vocabulary_that_is_too_small_or_names_twice_stops_the_build(monkeypatch):
    with pytest.raises(StageError, match="district has"):
        vocabularies.split("district", ["가상구", "견본구"])
    monkeypatch.setattr("sm_ops.pii.documents.vocabularies.english_names.FIRST", ["Taylor", "Taylor"])
    with pytest.raises(StageError, match="twice"):
        vocabularies.build()
    monkeypatch.setattr("sm_ops.pii.documents.vocabularies.english_names.FIRST", ["Gayeon"])
    with pytest.raises(StageError, match="Latin spelling"):
        vocabularies.build()


@unit
def test_lines_and_templates_that_partitions_share_stop_the_build(monkeypatch, made):
    every = list(templates.all_templates())
    line = "이 줄은 훈련과 시험이 함께 씁니다 정말로"
    shared = [template(f"{{p1}} {line}"), Template("ko-test-p-x", "ko", "test", False, "chat", f"{{p2}} {line}")]
    monkeypatch.setattr(disjoint, "all_templates", lambda: [*every, *shared])
    with pytest.raises(StageError, match="text line in common"):
        disjoint.judged([])
    alike = [template(f"{line} {{p1}} 셋"), Template("ko-test-p-x", "ko", "test", False, "chat", f"{line} 넷")]
    monkeypatch.setattr(disjoint, "all_templates", lambda: [*every, *alike])
    with pytest.raises(StageError, match="overlaps"):
        disjoint.judged([])
    with pytest.raises(StageError, match="train ko has 32 positive"):
        disjoint._enough(every[20:])
    with pytest.raises(StageError, match="genres of its own"):
        disjoint._own_genres([each for each in every if each.genre not in ("chat", "medical", "columns")])


@unit
def test_overlap_is_jaccards_index_of_5_grams():
    assert disjoint.grams("abcdef") == {"abcde", "bcdef"}
    assert disjoint.overlap(disjoint.grams("abcdef"), disjoint.grams("abcdeg")) == pytest.approx(1 / 3)


@unit
def test_a_number_of_two_people_stops_the_build():
    person = build(first(), vocabularies.vocabularies(), Numbers(42, 1))[0]
    twin = Document(person.record | {"id": "another"}, person.planted)
    with pytest.raises(StageError, match="somebody else's"):
        disjoint.distinct_numbers([person, twin])


@unit
def test_a_cell_with_too_little_of_a_type_stops_the_build():
    made = [
        Document(record, ())
        for partition in ("train", "validation", "test")
        for lang in ("ko", "en")
        for record in _cell(partition, lang)
    ]
    with pytest.raises(StageError, match="of the gold pairs"):
        shares.judged(made)


def _cell(partition, lang):
    rows = [{"type": "PERSON", "value": "김가상"}]
    return [{"partition": partition, "lang": lang, "negative": not n, "entities": rows if n else []} for n in range(5)]


@unit
def test_an_oracle_that_is_off_stops_the_build():
    good = document("김가상 씨", ("PERSON", "김가상"))
    with pytest.raises(StageError, match=r"gold oracle gives over_redaction_rate 1\.0, not 0\.0"):
        oracle.judged([Document(good.record | {"target_tsv": "PERSON\t김가"}, good.planted)])
    assert oracle.judged([good, document("없음", negative=True)])["empty"]["documents_leak_rate"] == 0.5


@unit
def test_a_broken_maker_of_values_leaves_nothing_behind(monkeypatch, tmp_path):
    monkeypatch.setattr(number_values.Numbers, "card", lambda *_: "4111-1111-1111-1111")
    with pytest.raises(StageError, match="CARD value could be somebody's") as caught:
        generate(tmp_path / "data")
    assert "4111" not in str(caught.value)
    assert not (tmp_path / "data").exists()


@unit
@pytest.mark.parametrize("scale", [0, 37, -1])
def test_a_scale_that_the_numbers_do_not_carry_is_refused(tmp_path, scale):
    with pytest.raises(InputError, match="between 1 and 36"):
        generate(tmp_path, scale=scale)


def test_processes_with_other_hash_seeds_write_the_same_bytes(made, tmp_path):
    for hash_seed in ("1", "4242"):
        code = f"import pathlib, sm_ops.pii.documents as d; d.generate(pathlib.Path({str(tmp_path / hash_seed)!r}))"
        environment = os.environ | {"PYTHONHASHSEED": hash_seed, "LC_ALL": "C", "TZ": "Asia/Seoul"}
        subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, env=environment)
        for path in made.folder.iterdir():
            assert (tmp_path / hash_seed / path.name).read_bytes() == path.read_bytes(), path.name


def test_a_larger_scale_has_as_many_records_more_by_the_same_rules(tmp_path):
    manifest = generate(tmp_path, seed=7, scale=2)
    assert manifest["records"] == 4400
    assert manifest["partitions"]["test"]["en"]["records"] == 160
    assert manifest["surface_forms"]["train"]["spaced"] == 307  # 15 percent of 2,048
    assert "used more often" in (tmp_path / "README.md").read_text(encoding="utf-8")
