"""Exposure rank: the form of random strings, the rank by hand, and a difference to the public model."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace

import pytest
from counting_model import CountingModel

from sm_ops.attacks.material import Material
from sm_ops.attacks.members import exposure
from sm_ops.core.records import Record, Span
from sm_ops.core.sensitive import Sensitive

pytestmark = pytest.mark.unit

CHARACTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 -.é김이박"
ROWS = [("r0", "Kim 042-77 was here. Kim wrote.", ((0, 3, "PERSON"), (4, 10, "CODE"), (21, 24, "PERSON"))),
        ("r1", "Bea 118-20", ((0, 3, "PERSON"), (4, 10, "CODE")))]  # fmt: skip
RECORDS = [Record(name, text=text, spans=tuple(Span(*span) for span in spans)) for name, text, spans in ROWS]
MATERIAL = Material(records=RECORDS)


def settings(canaries: int = 10, space: int = 50) -> SimpleNamespace:
    return SimpleNamespace(canaries=canaries, space=space)


def strings(value: str, most: int = 100, texts: tuple[str, ...] = ()) -> list[str]:
    return exposure.random_strings(value, exposure.replacements(texts), most, seed=0)


def test_random_strings_keep_the_form():
    drawn = strings("aZ-09 x.")
    assert len(set(drawn)) == 100
    for each in drawn:
        assert each != "aZ-09 x."
        assert [each[2], each[5], each[7]] == ["-", " ", "."]
        assert each[0].islower() and each[6].islower() and each[1].isupper() and each[3:5].isdecimal()  # noqa: PT018
        assert each.isascii()


def test_other_letters_come_from_the_texts_by_category_and_script():
    drawn = strings("김é", texts=("김이박 é è Ω", "α"))
    assert set(drawn) == {first + second for first in "김이박" for second in "éè"} - {"김é"}


def test_a_small_space_is_taken_whole():
    assert sorted(strings("7")) == list("012345689")
    assert strings("--") == []
    assert len({*strings("42", most=98), "42"}) == 99  # one short of all: drawn
    assert set(strings("42", most=99)) == {f"{n:02}" for n in range(100)} - {"42"}


def test_exposure_by_hand():
    assert exposure.exposure(1024, better=0, tied=0) == pytest.approx(10)
    assert exposure.exposure(1024, better=1, tied=0) == pytest.approx(9)
    assert exposure.exposure(1024, better=1, tied=4) == pytest.approx(8)
    assert exposure.exposure(1000, better=999, tied=0) == pytest.approx(0)


def test_ranks_of_a_model_that_is_known():
    """Seen once behind the prefix: 0. After it 4 and so on have one count more than all else: ranks follow by hand."""
    model = CountingModel("0123456789", ["04", "04", "13"], order=1)
    own = Material(records=[Record("r", text="04 13 77", spans=tuple(Span(a, a + 2, "CODE") for a in (0, 3, 6)))])
    rows = {row["fingerprint"]: row for row in exposure.run(model, own, settings(space=1000), 0)}
    p = {(None, 0): 3 / 14, (None, 1): 2 / 14, (0, 4): 3 / 13, (1, 3): 2 / 12}

    def chance(text: str) -> float:
        a, b = map(int, text)
        rest = {0: 1 / 13, 1: 1 / 12}.get(a, 1 / 11)
        return p.get((None, a), 1 / 14) * p.get((a, b), rest)

    for value in ("04", "13", "77"):
        row = rows[own.fingerprint("CODE", value)]
        everything = [chance(f"{n:02}") for n in range(100)]
        better = sum(each > chance(value) + 1e-12 for each in everything)
        tied = sum(abs(each - chance(value)) < 1e-12 for each in everything) - 1
        assert (row["space"], row["better"], row["tied"]) == (100, better, tied)
        assert row["exposure"] == pytest.approx(math.log2(100) - math.log2(1 + better + tied / 2))
    assert rows[own.fingerprint("CODE", "04")]["exposure"] == pytest.approx(math.log2(100))


def test_values_of_each_class_without_themselves():
    rows = exposure.run(CountingModel(CHARACTERS), MATERIAL, settings(), 0)
    assert [(row["class"], row["length"]) for row in rows].count(("PERSON", 3)) == 2
    assert {row["occurrences"] for row in rows if row["class"] == "PERSON"} == {1, 2}
    assert not any(value in json.dumps(rows) for value in ("Kim", "Bea", "042-77", "118-20"))
    assert exposure.run(CountingModel(CHARACTERS), MATERIAL, settings(canaries=1), 0)[0]["class"] == "CODE"
    reversed_ = exposure.run(CountingModel(CHARACTERS), Material(records=RECORDS[::-1]), settings(canaries=1), 0)
    assert [row["length"] for row in reversed_] == [6, 3]


def test_canaries_come_before_values():
    canaries = [SimpleNamespace(id="c", kind="password", value=Sensitive("Kim 12"))]
    (row,) = exposure.run(CountingModel(CHARACTERS), Material(records=RECORDS, canaries=canaries), settings(), 0)
    assert (row["class"], row["length"], row["occurrences"]) == ("password", 6, 0)


def test_what_a_model_learnt_is_exposed_beyond_the_public_model():
    learnt = CountingModel(CHARACTERS, ["Kim", "042-77", "Bea", "118-20"])
    rows, public = (exposure.run(model, MATERIAL, settings(), 0) for model in (learnt, CountingModel(CHARACTERS)))
    found = {
        (each["measure"], each["class"], each.get("variant")): each
        for each in exposure.summary(rows, public, settings())
        if "occurrences" not in each
    }
    assert found["exposure", "all", "paper"]["value"] == pytest.approx(math.log2(51))
    assert found["exposure", "all", "paper"]["ceiling"] == pytest.approx(math.log2(51))
    assert found["ranked_first", "PERSON", "paper"]["hits"] == 2
    assert found["exposure", "all", "baseline"]["value"] == pytest.approx(math.log2(51 / 26))  # all strings tie
    assert found["exposure", "CODE", "minus baseline"]["value"] == pytest.approx(math.log2(26))


def test_a_value_without_a_form_is_undefined():
    own = Material(records=[Record("r", text="-- x", spans=(Span(0, 2, "CODE"), Span(3, 4, "CODE")))])
    rows = exposure.run(CountingModel(CHARACTERS), own, settings(), 0)
    assert sorted((row["exposure"] is None) for row in rows) == [False, True]
    measures = exposure.summary(rows, None, settings())
    assert next(each for each in measures if each["measure"] == "undefined")["hits"] == 1
    assert next(each for each in measures if each["measure"] == "exposure")["n"] == 1
