"""Corpora: each layout from a small file made here, the real one where it is; units and splits of what they give."""

from __future__ import annotations

import json
import random
import string
from collections import Counter
from itertools import pairwise

import pytest

from sm_ops.core import registry
from sm_ops.core.errors import InputError
from sm_ops.core.records import Message, Record, Span
from sm_ops.data.records import write_records
from sm_ops.data.units import cut, split

pytestmark = pytest.mark.unit


def read(name, path=None, **settings):
    return registry.load("corpus", name).read(path, settings)


def lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def labelled(record):
    return [(record.text[s.start : s.end], s.label) for s in record.spans]


@pytest.mark.parametrize("name", sorted(registry.members("corpus")))
def test_every_corpus_refuses_unknown_settings_and_wrong_paths(name, tmp_path):
    with pytest.raises(InputError, match=f"The corpus '{name}' has no setting 'unheard'"):
        read(name, tmp_path, unheard=1)
    with pytest.raises(InputError, match=r"path|nothing at"):
        read(name, tmp_path / "absent")
    if not hasattr(registry.load("corpus", name), "SIDES"):
        with pytest.raises(InputError, match="name it"):
            read(name)


# ---- standoff ------------------------------------------------------------------------------------------


def mention(text, value, entity, identifier="QUASI", **more):
    start = text.index(value)
    return {"start_offset": start, "end_offset": start + len(value), "entity_type": entity,
            "identifier_type": identifier, "span_text": value, **more}  # fmt: skip


TEXT = "Mr Kim 😀 lives in Ulm.\n\nHe is a baker."
LISTED = [
    {
        "doc_id": "001-1",
        "text": TEXT,
        "dataset_type": "dev",
        "annotations": {
            "annotator2": {"entity_mentions": [mention(TEXT, "Ulm", "LOC")]},
            "annotator1": {
                "entity_mentions": [
                    mention(TEXT, "Ulm", "LOC", "NO_MASK"),
                    mention(TEXT, "Kim", "PERSON", "DIRECT"),
                    mention(TEXT, "Kim", "PERSON", "DIRECT", entity_mention_id="again"),
                ]
            },
        },
    },
    {"doc_id": "001-2", "text": "None.", "annotations": {"annotator2": {"entity_mentions": []}}},
]
BY_LINE = [
    {"id": "a", "text": TEXT, "tab_split": "train", "annotator": "x", "year": 2001,
     "spans": [{"start": 3, "end": 6, "type": "PERSON", "identifier": "DIRECT", "entity": "e1"}]}
]  # fmt: skip


def test_standoff_reads_the_benchmarks_own_layout(tmp_path):
    file = tmp_path / "echr_dev.json"
    file.write_text(json.dumps(LISTED), encoding="utf-8")
    first, second = read("standoff", file)
    assert (first.id, first.group, first.text) == ("001-1", "001-1", TEXT)
    assert labelled(first) == [("Kim", "PERSON"), ("Ulm", "LOC")]
    assert first.meta == {"split": "dev", "annotator": "annotator1"}
    assert (second.spans, second.meta["annotator"]) == ((), "annotator2")


@pytest.mark.parametrize(
    ("settings", "expected", "skipped"),
    [
        ({"annotator": "annotator2"}, [[("Ulm", "LOC")], []], {}),
        ({"annotator": "annotator1"}, [[("Kim", "PERSON"), ("Ulm", "LOC")]], {"other annotators": 1}),
        ({"identifiers": ["DIRECT", "QUASI"]}, [[("Kim", "PERSON")], []], {}),
        ({"label": "identifier"}, [[("Kim", "DIRECT"), ("Ulm", "NO_MASK")], []], {}),
    ],
)
def test_standoff_takes_an_annotator_identifiers_and_a_label(settings, expected, skipped, tmp_path):
    file = tmp_path / "tab.json"
    file.write_text(json.dumps(LISTED), encoding="utf-8")
    reading = read("standoff", file, **settings)
    assert [labelled(record) for record in reading] == expected
    assert reading.skipped == Counter(skipped)


def test_standoff_reads_a_document_a_line_and_a_folder_of_files(tmp_path):
    lines(tmp_path / "b.jsonl", BY_LINE)
    (tmp_path / "a.json").write_text(json.dumps(LISTED), encoding="utf-8")
    (tmp_path / "README.md").write_text("not read")
    found = list(read("standoff", tmp_path))
    assert [record.id for record in found] == ["001-1", "001-2", "a"]
    assert labelled(found[2]) == [("Kim", "PERSON")]
    assert found[2].meta == {"split": "train", "annotator": "x", "year": 2001}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d.pop("doc_id"), "field id: is missing"),
        (lambda d: d.update(text=7), "field text: must be a string"),
        (lambda d: d.update(text="x\ud800"), "field text: holds a lone surrogate"),
        (lambda d: d.update(annotations=[]), "field annotations: must be an object"),
        (lambda d: d["annotations"].update(annotator1={}), "entity_mentions: is missing"),
        (lambda d: d["annotations"]["annotator1"].update(entity_mentions={}), "must be a list"),
        (lambda d: mentions(d)[1].update(end_offset=400), r"mentions\[1\].start_offset/end_offset: must be whole"),
        (lambda d: mentions(d)[1].update(start_offset="3"), "must be whole numbers"),
        (lambda d: mentions(d)[1].update(span_text="Kin"), "span_text: is not what stands there"),
        (lambda d: mentions(d)[1].update(identifier_type="Kim"), "identifier_type: is none of DIRECT"),
        (lambda d: mentions(d)[1].pop("entity_type"), r"mentions\[1\], field entity_type: is missing"),
    ],
)
def test_standoff_names_document_and_field_and_no_value(change, said, tmp_path):
    rows = json.loads(json.dumps(LISTED))
    change(rows[0])
    file = tmp_path / "tab.json"
    file.write_text(json.dumps(rows))
    with pytest.raises(InputError, match=said) as caught:
        list(read("standoff", file))
    assert "tab.json, document 0" in str(caught.value)
    assert not any(word in str(caught.value) for word in ("Kim", "Ulm", "001-1"))


def mentions(document):
    return document["annotations"]["annotator1"]["entity_mentions"]


def test_standoff_refuses_other_files_and_settings(tmp_path):
    bad = tmp_path / "x.json"
    for content in ("{}", "[1]", "[", '"Kim"'):
        bad.write_text(content)
        with pytest.raises(InputError, match=r"x\.json is no ") as caught:
            list(read("standoff", bad))
        assert "Kim" not in str(caught.value)
    bad.write_text(json.dumps([*LISTED, LISTED[0]]))
    with pytest.raises(InputError, match=r"document 2, field id: is the same as in .*document 0"):
        list(read("standoff", bad))
    with pytest.raises(InputError, match="check path and annotator"):
        list(read("standoff", bad, annotator="nobody"))
    for settings in ({"label": "x"}, {"identifiers": ["direct"]}, {"identifiers": []}):
        with pytest.raises(InputError, match="setting `"):
            read("standoff", bad, **settings)


def test_standoff_on_the_real_benchmark(shared):
    """Counts alone: the documents name real people."""
    file = shared / "data" / "tab_echr_144" / "tab_open.jsonl"
    if not file.is_file():
        pytest.skip(f"{file} is not there")
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    found = list(read("standoff", file))
    wanted = Counter(span["type"] for row in rows for span in row["spans"])
    assert len(found) == len(rows) == 73
    assert Counter(span.label for record in found for span in record.spans) == wanted
    assert wanted["PERSON"] == 204
    hidden = read("standoff", file, identifiers=["DIRECT", "QUASI"])
    assert sum(len(record.spans) for record in hidden) == 156 + 2220
    assert all("".join(u.text or "" for u in cut([r], "sentence")) == r.text for r in found)


# ---- enron ---------------------------------------------------------------------------------------------

HEAD = b"Message-ID: <1@x>\r\nFrom: a@x.example\r\nTo: b@x.example\r\nSubject: secret subject\r\n"
MIXED = HEAD + (
    b'Content-Type: multipart/mixed; boundary="B"\r\n\r\n'
    b"--B\r\nContent-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n"
    b"caf=E9\r\n--B\r\nContent-Type: text/html\r\n\r\n<b>no</b>\r\n"
    b'--B\r\nContent-Type: text/plain\r\nContent-Disposition: attachment; filename="a.txt"\r\n\r\nattached\r\n--B--\r\n'
)


@pytest.fixture
def maildir(tmp_path):
    files = {
        "doe-j/inbox/1.": HEAD + b"\r\nHi Bob,\r\n> Ann wrote\r\n",
        "doe-j/inbox/10.": MIXED,
        "doe-j/sent/sub/2.": HEAD + b"Content-Type: text/plain; charset=no-such\r\n\r\n\xe2\x82\xac 5\r\n",
        "doe-j/sent/3.": HEAD + b"Content-Type: text/plain; charset=utf-8\r\n\r\n\xe9t\xe9\r\n",
        "doe-j/sent/4.": b"no header at all\n\nbody\n",
        "doe-j/sent/5.": HEAD + b"\r\n \r\n",
        "doe-j/sent/6.": b"",
        "roe-r/1": HEAD + b"Content-Type: text/plain; charset=unicode_escape\r\n\r\nx \\ud800\r\n",
    }
    for name, data in files.items():
        path = tmp_path / "maildir" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return tmp_path / "maildir"


def test_enron_takes_plain_bodies_in_any_charset_and_counts_what_is_none(maildir):
    reading = read("enron", maildir)
    found = {record.meta["file"]: record for record in reading}
    assert {name: record.text for name, record in found.items()} == {
        "doe-j/inbox/1.": "Hi Bob,\n> Ann wrote\n",
        "doe-j/inbox/10.": "café",
        "doe-j/sent/sub/2.": "€ 5\n",
        "doe-j/sent/3.": "été\n",
        "roe-r/1": "x \\ud800\n",
    }
    assert reading.skipped == {"broken": 2, "no text": 1}
    assert [r.group for r in found.values()] == ["doe-j"] * 4 + ["roe-r"]
    assert len({r.id for r in found.values()}) == 5
    assert not any("doe" in r.id or "roe" in r.id for r in found.values())  # ids are shown, folders are names
    assert [r.text for r in read("enron", maildir.parent)] == [r.text for r in found.values()]


def test_enron_reads_whatever_bytes_there_are(tmp_path):
    rng = random.Random(5)
    folder = tmp_path / "box"
    folder.mkdir()
    pieces = [HEAD, MIXED, b"Content-Type: ", b"charset=", b"\x00", b"utf-7", b"hex", b"\r\n", b"=?x?q?=FF?=", b"--B"]
    for number in range(200):
        (folder / str(number)).write_bytes(b"".join(rng.choices([*pieces, rng.randbytes(9)], k=rng.randint(1, 12))))
    reading = read("enron", tmp_path)
    count = sum(bool(record.text.encode()) for record in reading)
    assert count + sum(reading.skipped.values()) == 200
    assert count > 20


def test_enron_needs_mailboxes(tmp_path):
    with pytest.raises(InputError, match="holds no folder"):
        read("enron", tmp_path)


# ---- yelp and records ----------------------------------------------------------------------------------

REVIEWS = [
    {"review_id": "r1", "user_id": "u1", "business_id": "b1", "text": "Dr Kim was kind."},
    {"review_id": "r2", "user_id": "u2", "business_id": "b2", "text": "Good pizza."},
    {"review_id": "r3", "user_id": "u1", "business_id": "b3", "text": " "},
]


def test_yelp_gives_reviews_by_author_and_of_a_category(tmp_path):
    file = lines(tmp_path / "review.json", REVIEWS)
    everything = read("yelp", file)
    assert [(r.id, r.group, r.text) for r in everything] == [
        ("r1", "u1", "Dr Kim was kind."), ("r2", "u2", "Good pizza.")]  # fmt: skip
    assert everything.skipped == {"no text": 1}
    categories = ["Doctors, Health & Medical", ["Pizza"], ["Health & Medical"]]
    rows = [{"business_id": f"b{n}", "categories": each} for n, each in enumerate(categories, start=1)]
    businesses = lines(tmp_path / "business.json", [*rows, {"business_id": "b9", "categories": None}])
    health = read("yelp", file, businesses=businesses)
    assert [r.id for r in health] == ["r1"]
    assert health.skipped == {"other businesses": 1, "no text": 1}
    with pytest.raises(InputError, match="no business of the category 'Zoos'"):
        read("yelp", file, businesses=businesses, category="Zoos")


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"user_id": "u", "text": "Kim"}, "line 1, field review_id: is missing"),
        ({"review_id": "r", "text": "Kim"}, "field user_id: is missing"),
        ({"review_id": "", "user_id": "u", "text": "Kim"}, "field review_id: is empty"),
        ({"review_id": "r", "user_id": "u", "text": ["Kim"]}, "field text: must be a string"),
        (["Kim"], "line 1: the row is not a JSON object"),
    ],
)
def test_yelp_names_line_and_field_and_no_value(row, said, tmp_path):
    with pytest.raises(InputError, match=said) as caught:
        list(read("yelp", lines(tmp_path / "r.json", [row])))
    assert "Kim" not in str(caught.value)


def test_yelp_refuses_a_review_twice(tmp_path):
    with pytest.raises(InputError, match="line 2, field review_id: is the same as in line 1"):
        list(read("yelp", lines(tmp_path / "r.json", REVIEWS[:1] * 2)))


def test_records_are_given_as_they_are(tmp_path):
    mine = [Record("a", text="Kim", group="g", spans=(Span(0, 3, "PERSON"),)), Record("b", text="x")]
    write_records(tmp_path / "r.jsonl", mine)
    assert list(read("records", tmp_path / "r.jsonl")) == mine


# ---- units ---------------------------------------------------------------------------------------------


def test_units_are_paragraphs_or_sentences_with_their_spans():
    text = "\n1. Mr. Kim of J. Doe & Co. came. He left!\n \n\n“So what?” No. 12/3 stands. Art. 8 too…\n"
    spans = (Span(4, 11, "PERSON"), Span(15, 26, "ORG"), Span(text.index("12/3"), text.index("12/3") + 4, "CODE"))
    document = Record("d", text=text, spans=spans, meta={"k": 1, "fields": []})
    paragraphs = cut([document], "paragraph")
    assert [p.text for p in paragraphs] == [
        "\n1. Mr. Kim of J. Doe & Co. came. He left!\n \n\n", "“So what?” No. 12/3 stands. Art. 8 too…\n"]  # fmt: skip
    assert [(p.id, p.group, p.meta) for p in paragraphs] == [("d/1", "d", {"k": 1}), ("d/2", "d", {"k": 1})]
    found = cut([document], "sentence")
    assert [s.text for s in found] == [
        "\n1. Mr. Kim of J. Doe & Co. came. ", "He left!\n \n\n", "“So what?” ", "No. 12/3 stands. ",
        "Art. 8 too…\n"]  # fmt: skip
    assert labelled(found[0]) == [("Mr. Kim", "PERSON"), ("J. Doe & Co", "ORG")]
    assert labelled(found[3]) == labelled(paragraphs[1]) == [("12/3", "CODE")]


def test_a_boundary_within_a_span_is_none_and_chats_stay_whole():
    split_name = Record("d", text="Ann. Lee\n\nBode came. Yes.", spans=(Span(0, 14, "PERSON"),))
    assert [u.text for u in cut([split_name], "sentence")] == ["Ann. Lee\n\nBode came. ", "Yes."]
    assert len(cut([split_name], "paragraph")) == 1
    chat = Record("c", messages=(Message("user", "a.\n\nb."),))
    assert cut([chat], "sentence") == [Record("c", messages=chat.messages, group="c")]
    assert cut([Record("d", text="a.\n\nb.", group="g")], "document") == [Record("d", text="a.\n\nb.", group="g")]
    with pytest.raises(InputError, match="no unit 'word'"):
        cut([chat], "word")


@pytest.mark.parametrize("unit", ["document", "paragraph", "sentence"])
def test_units_joined_are_the_document_and_keep_every_mention(unit):
    rng = random.Random(11)
    for _ in range(300):
        pieces = ["a", "B", ".", "! ", " ", "\n", "\n\n", "é", "😀", "Mr.", "3"]
        text = "".join(rng.choices(pieces, k=rng.randint(0, 30)))
        marks = sorted(rng.sample(range(len(text) + 1), min(6, len(text) + 1)))
        spans = tuple(Span(a, b, "X") for a, b in list(pairwise(marks))[::2])
        units = cut([Record("d", text=text, spans=spans)], unit)
        assert "".join(u.text or "" for u in units) == text
        assert [v for u in units for v, _ in labelled(u)] == [text[s.start : s.end] for s in spans]
        assert all(u.text for u in units) or not text
        assert all(u.text.strip() for u in units) or not text.strip()


# ---- splits --------------------------------------------------------------------------------------------

SHARES = {"train": 0.5, "others": 0.25, "validation": 0.25}


def documents(count=40):
    rng = random.Random(1)
    return [
        Record(f"{name}/{n}", text="x", group=name if name != "d3" else None)
        for name in (f"d{k}" for k in range(count))
        for n in range(rng.randint(1, 9))
    ]


def test_a_split_keeps_groups_together_and_shares_about_right():
    records = documents()
    parts = split(records, SHARES, seed=4)
    groups = [{r.group or r.id for r in part} for part in parts.values()]
    assert sum(map(len, groups)) == len(set().union(*groups))
    assert sorted(r.id for part in parts.values() for r in part) == sorted(r.id for r in records)
    for name, share in SHARES.items():
        assert abs(len(parts[name]) - share * len(records)) <= 9  # within one group
        assert parts[name] == [r for r in records if r in parts[name]]


def test_a_split_goes_by_names_and_seed_not_by_order():
    records = documents()
    parts = split(records, SHARES, seed=4)
    again = split(records[::-1], dict(reversed(SHARES.items())), seed=4)
    assert {k: {r.id for r in v} for k, v in parts.items()} == {k: {r.id for r in v} for k, v in again.items()}
    assert split(records, SHARES, seed=5) != parts


def test_what_shares_leave_over_is_unused_and_empty_parts_are_refused():
    parts = split(documents(), {"a": 0.2, "b": 0.0}, seed=0)
    assert 0 < len(parts["a"]) < 60
    assert parts["b"] == []
    with pytest.raises(InputError, match="part 'others' is empty: 1 groups"):
        split([Record("a", text="x")], SHARES, seed=0)
    for shares in ({"a": 0.6, "b": 0.5}, {"a": -0.1}):
        with pytest.raises(InputError, match="make them sum to 1"):
            split(documents(), shares, seed=0)


def test_ids_of_units_are_unique():
    found = cut([Record(name, text="One. Two. Three.") for name in string.ascii_lowercase], "sentence")
    assert len({unit.id for unit in found}) == 78
