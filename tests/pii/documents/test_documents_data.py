"""The data set as a user finds it: sizes, shares, offsets, disjointness, recomputed here from the files."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections import Counter

import pytest

from sm_ops.pii.documents.vocabularies.words import EMAIL_WORDS

pytestmark = pytest.mark.unit

SIZES = {
    ("train", "ko"): (1280, 256),
    ("train", "en"): (320, 64),
    ("validation", "ko"): (160, 32),
    ("validation", "en"): (40, 8),
    ("test", "ko"): (320, 64),
    ("test", "en"): (80, 16),
}
TYPES = ["RRN", "CARD", "EMAIL", "PHONE", "DOB", "ACCOUNT", "ADDRESS", "PERSON", "REL"]
NUMBERS = ("RRN", "CARD", "PHONE", "ACCOUNT")
KEYS = ["id", "lang", "partition", "template_id", "negative", "source_text", "entities", "target_tsv"]


def cell(made, partition, lang):
    """The records of one cell."""
    return [row for row in made.records if (row["partition"], row["lang"]) == (partition, lang)]


def planted(made, partition, *types):
    """The texts of all planted places of some types in a partition."""
    return [
        row["source_text"][start:end]
        for row in made.records
        if row["partition"] == partition
        for start, end, type_ in made.spans[row["id"]]
        if type_ in types
    ]


def folded(number):
    """Digits alone, full-width ones as plain."""
    return re.sub("[^0-9]", "", unicodedata.normalize("NFKC", number))


@pytest.mark.parametrize("where", SIZES)
def test_every_cell_has_its_records_and_a_fifth_of_them_is_negative(made, where):
    rows = cell(made, *where)
    assert (len(rows), sum(row["negative"] for row in rows)) == SIZES[where]
    assert {row["id"] for row in rows} == {f"{where[1]}-{where[0]}-{number:04d}" for number in range(len(rows))}


@pytest.mark.parametrize("where", SIZES)
def test_every_type_is_a_twentieth_of_the_gold_pairs_of_every_cell(made, where):
    types = Counter(entity["type"] for row in cell(made, *where) for entity in row["entities"])
    assert min(types[type_] for type_ in TYPES) >= 0.05 * types.total()


def test_records_have_the_keys_in_order_and_stand_by_the_hash_of_their_ids(made):
    for partition in ("train", "validation", "test"):
        raw = (made.folder / f"{partition}.jsonl").read_bytes()
        rows = [row for row in made.records if row["partition"] == partition]
        assert [list(row) for row in rows] == [KEYS + ["raw_text"] * ("raw_text" in row) for row in rows]
        ids = [row["id"] for row in rows]
        assert ids == sorted(ids, key=lambda name: hashlib.sha256(name.encode()).hexdigest())
        assert b"\r" not in raw
        assert not raw.startswith(b"\xef\xbb\xbf")
        assert raw.endswith(b"}\n")
        assert json.dumps(rows[0], ensure_ascii=False, separators=(",", ":")).encode() == raw.split(b"\n")[0]


def test_entities_stand_at_planted_places_in_their_order(made):
    for row in made.records:
        text = row["source_text"]
        places = sorted((start, -end, type_) for start, end, type_ in made.spans[row["id"]])
        values = [(type_, text[start:-end]) for start, end, type_ in places]
        on_one_line = [pair for pair in dict.fromkeys(values) if "\n" not in pair[1] and "\r" not in pair[1]]
        assert [(entity["type"], entity["value"]) for entity in row["entities"]] == on_one_line
        assert row["target_tsv"] == "\n".join(f"{type_}\t{value}" for type_, value in on_one_line)
        assert row["negative"] == (not values)
        assert len(row["entities"]) <= 8
        for _, value in values:
            assert value == value.strip()
            assert unicodedata.is_normalized("NFC", value)


def test_a_gold_spelling_stands_nowhere_else(made):
    for row in made.records:
        covered = [(start, end) for start, end, _ in made.spans[row["id"]] + made.hard[row["id"]]]
        for entity in row["entities"]:
            for match in re.finditer(f"(?={re.escape(entity['value'])})", row["source_text"]):
                end = match.start() + len(entity["value"])
                text = row["source_text"]
                around = text[match.start() - 1 : match.start() + 1], text[end - 1 : end + 1]
                if not any(pair.isdecimal() and len(pair) == 2 for pair in around):
                    assert any(first <= match.start() and end <= last for first, last in covered), row["id"]


def test_hard_cases_are_stations_and_nouns(made):
    hard = [row for row in made.records if made.hard[row["id"]]]
    assert {row["template_id"] for row in hard} >= {"ko-train-p-station-meet", "ko-train-p-noun-class"}
    assert any(re.search(r"이수 씨와 이수역|신길 씨와 신길역", row["source_text"]) for row in hard)


@pytest.mark.parametrize(("partition", "positives"), [("train", 1024), ("validation", 128), ("test", 256)])
def test_surface_forms_have_their_shares(made, partition, positives):
    texts = {row["id"]: row["source_text"] for row in made.records}
    positive = [row for row in cell(made, partition, "ko") if not row["negative"]]
    names = {row["id"]: [e["value"] for e in row["entities"] if e["type"] == "PERSON"] for row in positive}
    numbers = {
        row["id"]: [texts[row["id"]][start:end] for start, end, type_ in made.spans[row["id"]] if type_ in NUMBERS]
        for row in positive
    }

    def spaced(value):
        return re.fullmatch(r"[가-힣](\s+)[가-힣](?:\1[가-힣])+", value)

    def repeated(row):
        if row["template_id"] in ("ko-train-p-silver-center", "ko-train-p-id-check"):  # these have two spellings anyway
            return False
        plain = [value for value in numbers[row["id"]] if not re.search(r"[０-９\n]", value)]
        return len({folded(value) for value in plain}) < len(set(plain))

    shares = {
        "gap": sum(any(re.fullmatch("[가-힣]{1,2} [가-힣]{2,3}", name) and name.replace(" ", "") in names[row["id"]]
                       for name in names[row["id"]]) for row in positive),
        "spaced": sum(any(map(spaced, names[row["id"]])) for row in positive),
        "separators": sum(map(repeated, positive)),
        "fullwidth": sum(any(re.search("[０-９]", value) for value in numbers[row["id"]]) for row in positive),
        "wrapped": sum(any("\n" in value for value in numbers[row["id"]]) for row in positive),
        "crlf": sum("\r\n" in row["source_text"] for row in positive),
        "nfd": sum("raw_text" in row for row in positive),
        "marker": sum(bool(re.search(r"\[[A-Z]+_[12]\]", row["source_text"])) for row in positive),
    }  # fmt: skip
    wanted = {"gap": 10, "spaced": 15, "separators": 10, "fullwidth": 3, "wrapped": 3, "crlf": 5, "nfd": 3, "marker": 5}
    tolerated = {"gap": 0.02, "spaced": 0.03, "separators": 0.01}  # short names; templates with such spellings
    for form, percent in wanted.items():
        assert shares[form] / positives == pytest.approx(percent / 100, abs=tolerated.get(form, 0.005)), form
        assert made.manifest["surface_forms"][partition][form] == round(positives * percent / 100)
    for row in positive:
        assert row["source_text"].count("\n") == row["source_text"].count("\r\n") or "\r" not in row["source_text"]
        if "raw_text" in row:
            assert unicodedata.normalize("NFC", row["raw_text"]) == row["source_text"] != row["raw_text"]


def test_partitions_share_no_template_number_name_place_or_local_part(made):
    def of(partition):
        rows = [row for row in made.records if row["partition"] == partition]
        addresses = " ".join(planted(made, partition, "ADDRESS"))
        return {
            "templates": {row["template_id"] for row in rows},
            "numbers": {folded(value) for value in planted(made, partition, *NUMBERS)},
            "heads": {folded(value)[:6] for value in planted(made, partition, "RRN")},
            "people": {re.sub(r"\s", "", value) for value in planted(made, partition, "PERSON")},
            "local parts": {value.partition("@")[0] for value in planted(made, partition, "EMAIL")},
            "roads": set(re.findall(r"(?<![0-9가-힣])[가-힣]+(?:로|길)(?=[0-9 ])|\w+-(?:ro|gil|daero)", addresses)),
            "districts": set(re.findall(r"[가-힣]{3}[구군](?= )|\w+-(?:gun|gu)(?=,)", addresses)),
        }

    train, validation, test = of("train"), of("validation"), of("test")
    for kind in train:
        assert min(map(len, (train[kind], validation[kind], test[kind]))) > 10
        assert (train[kind] & validation[kind]) | (train[kind] & test[kind]) | (validation[kind] & test[kind]) == set()


def test_email_words_and_rare_surnames_belong_to_one_partition(made):
    words = {
        partition: {
            part for local in planted(made, partition, "EMAIL") for part in re.findall("[a-z]+", local.split("@")[0])
        }
        & set(EMAIL_WORDS)
        for partition in ("train", "validation", "test")
    }
    assert min(map(len, words.values())) > 5
    assert (words["train"] & words["test"]) | (words["train"] & words["validation"]) == set()
    names = {partition: planted(made, partition, "PERSON") for partition in words}
    for surname, own in (
        ("제갈", "test"),
        ("독고", "test"),
        ("사공", "validation"),
        ("남궁", "train"),
    ):
        assert [where for where in names if any(name.startswith(surname) for name in names[where])] == [own]


def test_foreigners_have_foreigners_numbers(made):
    centuries: dict[str, set[str]] = {}
    for row in made.records:
        for number in (e["value"] for e in row["entities"] if e["type"] == "RRN"):
            centuries.setdefault(row["template_id"], set()).add(folded(number)[6])
    assert centuries["ko-train-p-foreign-worker"] == centuries["ko-validation-p-nanum"] == {"7", "8"}
    assert centuries["ko-train-p-lease"] == centuries["ko-train-p-loan"] == {"3", "4"}


def test_a_number_stands_in_one_record_only(made):
    owners: dict[str, set[str]] = {}
    for row in made.records:
        for start, end, type_ in made.spans[row["id"]]:
            if type_ in NUMBERS:
                owners.setdefault(folded(row["source_text"][start:end]), set()).add(row["id"])
    assert len(owners) > 2800
    assert max(map(len, owners.values())) == 1


def test_test_says_which_surnames_and_relation_words_are_new(made):
    entities = [(row, entity) for row in made.records for entity in row["entities"]]
    assert all(set(entity) == {"type", "value"} for row, entity in entities if row["partition"] != "test")
    test = [entity for row, entity in entities if row["partition"] == "test"]
    relations = {(entity["value"], entity["seen_rel"]) for entity in test if entity["type"] == "REL"}
    train = {entity["value"] for row, entity in entities if row["partition"] == "train" and entity["type"] == "REL"}
    assert {("시누이", False), ("처남", False), ("stepfather", False), ("배우자", True)} <= relations
    assert len({word for word, seen in relations if not seen}) >= 12
    assert all((word in train) == seen for word, seen in relations)
    surnames = {(entity["value"][:2], entity["seen_surname"]) for entity in test if "seen_surname" in entity}
    assert ("제갈", False) in surnames
    assert ("독고", False) in surnames
    assert {seen for surname, seen in surnames if surname[0] in "김이박최" and surname[1] >= "가"} == {True}


def test_the_manifest_speaks_of_the_files_that_are_there(made):
    assert json.loads((made.folder / "manifest.json").read_text(encoding="utf-8")) == made.manifest
    for name, said in made.manifest["files"].items():
        data = (made.folder / name).read_bytes()
        assert said == {"bytes": len(data), "records": data.count(b"\n"), "sha256": hashlib.sha256(data).hexdigest()}
    assert made.manifest["seed"] == 42
    assert "/" not in json.dumps(list(made.manifest["files"]))
    assert {path.name for path in made.folder.iterdir()} == {*made.manifest["files"], "manifest.json", "README.md"}


def test_the_oracles_give_the_figures_of_the_rule(made):
    gold, empty = made.manifest["checks"]["G10"]["gold"], made.manifest["checks"]["G10"]["empty"]
    ones = {"parse_success_rate", "deterministic_rate", "round_trip_rate"}
    assert gold == {name: float(name in ones | {"f1"}) for name in gold}
    assert len(gold) == 8
    assert empty["documents_leak_rate"] == 0.8
    assert empty["entities_leak_rate"] == 1.0
    assert empty["f1"] == 0.0
    assert all(empty[name] == 1.0 for name in ones)


def test_templates_are_many_and_tests_ones_are_their_own(made):
    judged = made.manifest["checks"]["G11"]
    least = {"train ko": 40, "train en": 16, "validation ko": 10, "validation en": 5, "test ko": 20, "test en": 10}
    for name, number in least.items():
        positive, negative = judged["templates"][name]
        assert positive >= number
        assert negative >= 8
        partition, lang = name.split()
        assert len({row["template_id"] for row in cell(made, partition, lang)}) == positive + negative
    assert len(judged["test_genres"]) >= 3
    assert judged["largest_5gram_overlap"] <= 0.30


def test_the_card_says_what_the_numbers_are_not(made):
    card = (made.folder / "README.md").read_text(encoding="utf-8")
    for words in (
        "What the numbers are not",
        "nothing generalises from here",
        "shape only",
        "proven by date",
        "shape-only probes that are made, looked at and never stored",
        "김 과장",
        "2200 documents",
    ):
        assert words in " ".join(card.split())
    assert "{" not in card
