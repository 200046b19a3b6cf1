"""Sides of a labelled corpus: folds without a common group, families, regimes, the audit, and opening by name."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record, Span
from sm_ops.data import families
from sm_ops.data.folds import folds
from sm_ops.data.labelled import Tally, open_corpus
from sm_ops.data.overlap import overlap
from sm_ops.data.regimes import REGIMES

pytestmark = pytest.mark.unit


def pool(*sizes):
    """Records of groups of these sizes."""
    return [Record(f"{name}-{n}", text="x", group=f"g{name}") for name, size in enumerate(sizes) for n in range(size)]


def groups(records):
    return {record.group for record in records}


# ---- folds ---------------------------------------------------------------------------------------------


def test_each_fold_halves_the_pool_by_group_and_folds_differ():
    records = pool(*[5] * 40)
    found = folds(records, 3, seed=0)
    for fold in found:
        assert not groups(fold.validation) & groups(fold.application)
        assert sorted(r.id for r in fold.validation + fold.application) == sorted(r.id for r in records)
        assert len(fold.validation) == 100
        assert [r for r in records if r in fold.validation] == fold.validation
    assert len({tuple(sorted(groups(fold.validation))) for fold in found}) == 3
    assert folds(records, 5, seed=0)[:3] == found
    assert folds(records, 3, seed=1) != found


def test_the_order_of_records_changes_nothing():
    records = pool(3, 1, 4, 1, 5, 9, 2, 6)
    ids = [{r.id for r in fold.validation} for fold in folds(records, 2, seed=4)]
    assert [{r.id for r in fold.validation} for fold in folds(records[::-1], 2, seed=4)] == ids


def test_halves_are_as_equal_as_whole_groups_allow():
    for seed in range(20):
        (fold,) = folds(pool(8, 1, 1), 1, seed=seed)
        assert {len(fold.validation), len(fold.application)} <= {1, 2, 8, 9}
        (fold,) = folds(pool(*[3] * 11), 1, seed=seed)
        assert len(fold.validation) in (15, 18)


def test_sides_of_given_sizes_are_filled_exactly_and_share_no_group():
    records = pool(*[7] * 30)
    for fold in folds(records, 3, seed=0, validation=90, application=100):
        assert (len(fold.validation), len(fold.application)) == (90, 100)
        assert not groups(fold.validation) & groups(fold.application)


def test_a_record_without_group_is_its_own():
    (fold,) = folds([Record(f"r{n}", text="x") for n in range(10)], 1, seed=0)
    assert len(fold.validation) == len(fold.application) == 5


@pytest.mark.parametrize(
    ("sizes", "given", "said"),
    [
        ([4], {}, "application side of fold 0 would have 0 records: the 4 of the pool are of 1 groups"),
        ([4, 4], {"application": 5}, "application side of fold 0 would have 4 records"),
        ([2, 2], {"validation": 9}, "validation side of fold 0 would have 4 records"),
        ([2, 2], {"validation": 0}, "1 or more"),
    ],
)
def test_a_pool_that_is_too_small_is_told(sizes, given, said):
    with pytest.raises(InputError, match=said):
        folds(pool(*sizes), 1, seed=0, **given)


# ---- the audit -----------------------------------------------------------------------------------------


def test_the_audit_counts_groups_equal_texts_and_near_duplicates():
    words = [f"w{n}" for n in range(60)]
    validation = [
        Record("v1", text=" ".join(words), group="a"),
        Record("v2", text="short text", group="b"),
        Record("v3", text="another one"),
    ]
    application = [
        Record("a1", text=" ".join([*words[:-1], "other"]), group="a"),
        Record("a2", text="short  text", group="c"),
        Record("a3", text="short text", group="b"),
        Record("a4", text="quite different", group="b"),
        Record("a5", text="as different"),
    ]
    assert overlap(validation, iter(application)) == {
        "records": 5, "groups": 2, "records_of_shared_groups": 3, "equal_texts": 2, "near_duplicates": 1,
        "threshold": 0.8,
    }  # fmt: skip
    assert overlap(validation, [])["records"] == 0


# ---- families ------------------------------------------------------------------------------------------


def test_a_map_gives_each_label_its_family_however_it_is_written(tmp_path):
    (tmp_path / "map.yaml").write_text("FIRST_NAME: people\nzip code: places\n")
    (tmp_path / "map.json").write_text('{"FIRST_NAME": "people", "zip code": "places"}')
    for name in ("map.yaml", "map.json"):
        family_of = families.load(str(tmp_path / name))
        assert [family_of(each) for each in ("first-name", "FIRSTNAME", "ZIP_CODE", "SURNAME")] == [
            "people", "people", "places", None,
        ]  # fmt: skip


def test_the_shipped_map_has_the_papers_thirteen_families():
    family_of = families.load("piibench")
    sought = {
        "PASSWORD": "Authentication secrets", "EMAIL": "Contact and accounts", "DATE": "Dates and times",
        "COMPANY_NAME": "Employment and organizations", "CREDIT_CARD": "Financial", "CITY": "Location",
        "BLOOD_TYPE": "Medical and biometric", "MISC": "Miscellaneous", "IPV4": "Network, device, and online",
        "FIRST_NAME": "Personal identity", "SSN": "Record identifiers", "RELIGION": "Sensitive attributes",
        "LICENSE_PLATE": "Vehicles",
    }  # fmt: skip
    assert {label: family_of(label) for label in sought} == sought
    assert set(families.SHIPPED["piibench"].values()) == set(sought.values())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("- FIRST_NAME\n", "no map of labels"),
        ("FIRST_NAME: 3\n", "no map of labels"),
        ("{}", "no map of labels"),
        ("FIRST_NAME: people\nfirst name: others\n", "gives a label twice"),
        ("FIRST_NAME: [people", "map.yaml, line"),
    ],
)
def test_what_is_no_map_is_refused(content, said, tmp_path):
    (tmp_path / "map.yaml").write_text(content)
    with pytest.raises(InputError, match=said):
        families.load(str(tmp_path / "map.yaml"))


def test_an_absent_map_is_told_with_the_shipped_ones(tmp_path):
    with pytest.raises(InputError, match="name a file, or a shipped one: piibench"):
        families.load(str(tmp_path / "map.yaml"))


# ---- regimes -------------------------------------------------------------------------------------------

LABELS = (
    "Password", "Auth:Password", "URL Credentials", "Secret", "Token", "JSON Web Token", "API:Key", "AWS Client ID",
    "Auth:Token", "Token:Secret", "UUID", "PEM Private Key", "Key:Secret",
)  # fmt: skip


def view(name, outside):
    record = Record("r", text="x" * len(LABELS), spans=tuple(Span(n, n + 1, label) for n, label in enumerate(LABELS)),
                    meta={"left_out": [[0, 1]], "ext": ".py"})  # fmt: skip
    seen = REGIMES[name].view(record, outside)
    assert seen is not None
    return [span.label for span in seen.spans], seen.meta["left_out"]


@pytest.mark.parametrize(
    ("name", "inside", "outside"),
    [
        ("credential_1", {"Password", "Auth:Password", "URL Credentials", "Secret"},
         {"Token", "JSON Web Token", "API:Key", "AWS Client ID"}),
        ("credential_2", {"Secret", "Token", "JSON Web Token", "Auth:Token", "Token:Secret"},
         {"Password", "URL Credentials", "API:Key"}),
    ],
)  # fmt: skip
def test_regimes_of_credentials_leave_targets_of_other_categories_out(name, inside, outside):
    for wanted, side in ((inside, False), (outside, True)):
        labels, left_out = view(name, side)
        assert set(labels) == wanted
        assert left_out == [[0, 1], *([n, n + 1] for n, label in enumerate(LABELS) if label not in wanted)]


@pytest.mark.parametrize(
    ("name", "inside"),
    [("text_config", ["", ".md", ".YML", ".pem"]), ("frontend", [".ts", ".jsx"]), ("backend", [".py", ".hs", ".sql"])],
)
def test_regimes_of_files_part_all_kinds_of_files(name, inside):
    every = ["", ".md", ".YML", ".pem", ".ts", ".jsx", ".py", ".hs", ".sql"]
    records = [Record(ext, text="x", meta={"ext": ext}) for ext in [*every, ".unheard"]]
    regime = REGIMES[name]
    assert [r.id for r in records if regime.view(r) is r] == inside
    assert [r.id for r in records if regime.view(r, outside=True) is r] == [ext for ext in every if ext not in inside]


# ---- opening -------------------------------------------------------------------------------------------


def lines(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def context(number, repo, **more):
    spans = [{"start": 0, "end": 2, "label": "true", "category": "Key"},
             {"start": 3, "end": 5, "label": "ambiguous", "category": "Key"}]  # fmt: skip
    return {"id": f"c{number}", "repo": repo, "ext": ".py", "text": f"ab cd {number}", "spans": spans} | more


def test_two_files_are_recognised_each_for_itself_and_the_second_streams(tmp_path):
    one = lines(tmp_path / "one.jsonl", context(1, "a/a"), context(2, "a/b"))
    plain = lines(tmp_path / "plain.jsonl", {"id": "1", "text": "no labels"})
    corpus = open_corpus("auto", one, plain, {"ambiguous": "other"})
    assert (corpus.name, corpus.setting, corpus.rule) == ("creddata", "creddata", "creddata")
    assert corpus.regimes == tuple(REGIMES)
    (sides,) = corpus.folds
    assert [r.group for r in sides.validation] == ["a/a", "a/b"]
    assert not any("left_out" in r.meta for r in sides.validation)
    assert [r.id for r in sides.application] == [r.id for r in sides.application] == ["1"]
    assert corpus.families(["Key"]) is None


def test_one_file_is_cut_into_folds_and_a_side_is_counted(tmp_path):
    file = lines(tmp_path / "one.jsonl", *(context(n, f"a/{n % 4}") for n in range(12)))
    corpus = open_corpus("auto", file, divisions=2, seed=3)
    assert len(corpus.folds) == 2
    tally = Tally()
    assert list(tally.through(corpus.folds[0].application)) == list(corpus.folds[0].application)
    assert tally.told == {
        "records": 6, "groups": 2, "characters": sum(len(r.text) for r in corpus.folds[0].application), "targets": 6,
        "left_out": 6, "categories": {"Key": 6}, "anchors": {"Key": {"true": 6, "false": 0, "ambiguous": 6}},
    }  # fmt: skip


def test_families_come_with_the_corpus_or_a_file_and_an_unknown_label_is_refused(tmp_path):
    row = {"id": "1", "tokens": ["Ada"], "tags": ["B-FIRSTNAME"]}
    file = lines(tmp_path / "one.jsonl", row)
    other = lines(tmp_path / "two.jsonl", row, {"id": "2", "tokens": ["Ada"], "tags": ["B-UNHEARD"]})
    corpus = open_corpus("auto", file, other)
    assert corpus.families(["FIRSTNAME"]) == {"FIRSTNAME": "Personal identity"}
    with pytest.raises(InputError, match=r"Record 1 \(from 0\), spans\[0\]: its label is not in the map") as caught:
        list(corpus.folds[0].application)
    assert "Ada" not in str(caught.value)
    (tmp_path / "own.yaml").write_text("FIRSTNAME: a\nUNHEARD: b\n")
    corpus = open_corpus("auto", file, other, families=str(tmp_path / "own.yaml"))
    labels = Counter(span.label for record in corpus.folds[0].application for span in record.spans)
    assert labels == {"FIRSTNAME": 1, "UNHEARD": 1}


def test_what_cannot_be_opened_is_told(tmp_path):
    bare = lines(tmp_path / "bare.jsonl", {"id": "1", "text": "x"})
    good = lines(tmp_path / "good.jsonl", context(1, "a/a"))
    for arguments, said in (
        (("auto", bare, bare), "read as 'records', labels no target"),
        (("auto", good), "say how many, or name records"),
        (("klue",), "'klue' reads files; name a labelled one"),
        (("credata", good, good), "no corpus 'credata'; the nearest is creddata"),
        (("auto", str(tmp_path / "absent.jsonl"), good), "nothing at"),
    ):
        with pytest.raises(InputError, match=said):
            open_corpus(*arguments)


def test_a_generated_corpus_brings_both_sides_and_public_text_without_a_file():
    corpus = open_corpus("court", settings={"documents": 3})
    (sides,) = corpus.folds
    texts = [[r.text for r in side] for side in (sides.validation, sides.application, corpus.public)]
    assert [len(side) for side in texts] == [3, 3, 3]
    assert len({text for side in texts for text in side}) == 9
    assert overlap(sides.validation, sides.application)["equal_texts"] == 0
