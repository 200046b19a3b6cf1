"""Every attack through the same cases; a new one adds small settings to `SMALL` where its own are large, or nothing."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sm_ops.attacks.material import Material, Shadow
from sm_ops.core import registry
from sm_ops.core.config.attacks import ATTACKS
from sm_ops.core.errors import InputError
from sm_ops.core.records import Record, Span
from sm_ops.core.sensitive import Sensitive
from sm_ops.detectors.detector import Detection
from sm_ops.scoring.language_model import LanguageModel

pytestmark = pytest.mark.unit

SMALL = {
    "tokens": 480, "length": 24, "batch_size": 8, "points": 2, "targets": 3, "cases": 3, "samples": 6, "sizes": (3, 2),
    "sentences": 12, "canaries": 3, "space": 12, "budgets": (1, 6),
}  # fmt: skip
"""What is made small of any attack's settings, by the setting's name."""

NAMES = ["Ulvyra", "Quzzor", "Jexxan", "Vyrgo"]
TOWNS = ["Zhakko", "Wumbly", "Xylth"]
CODES = ["77-31", "40-86"]
VALUES = {"PERSON": NAMES, "LOC": TOWNS, "CODE": CODES}
WORDS = sorted({*NAMES, *TOWNS, *CODES, "moved", "towards", "yesterday", "under"})
"""Every word of the texts that has four characters or more: none may stand in a row."""


def record(number: int, name: str, town: str, code: str) -> Record:
    text = f"{name} moved towards {town} yesterday under {code}. "
    spans = [
        Span(text.index(value), text.index(value) + len(value), label)
        for label, value in (("PERSON", name), ("LOC", town), ("CODE", code))
    ]
    return Record(f"d{number}", text=text * (1 + number % 2), group=f"g{number % 3}", spans=tuple(spans))


PAGE = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "attack.md").read_text(encoding="utf-8")
MEMBERS = [record(n, NAMES[n * n % 4], TOWNS[n % 3], CODES[n % 2]) for n in range(10)]
OTHERS = [record(20 + n, NAMES[3 - n % 3], TOWNS[(n + 1) % 3], CODES[n // 2 % 2]) for n in range(6)]


class Words:
    """A tagger that knows the values, and anything with a capital for a person."""

    def detect(self, texts):
        known = {value: label for label, values in VALUES.items() for value in values}
        return [
            [
                Detection(*found.span(), known.get(found[0], "PERSON"), 1.0)
                for found in re.finditer(r"[A-Z]\w+|\d\d-\d\d", text)
            ]
            for text in texts
        ]


class Characters(LanguageModel):
    """What followed the last three characters in the texts it was made of, smoothed; it answers nothing else itself."""

    def __init__(self, texts: list[str], context: int = 256) -> None:
        self.context, self.prefix, self.end = context, (0,), None
        self.letters = ["\n", *map(chr, range(32, 127))]
        self._counts: dict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
        for text in texts:
            ids = [0, *self.encode(text)[0]]
            for place in range(1, len(ids)):
                for order in range(4):
                    self._counts[tuple(ids[max(0, place - order) : place])][ids[place]] += 1
        self._rows: dict[tuple[int, ...], np.ndarray] = {}

    def encode(self, text):
        return [1 + self.letters.index(letter) for letter in text], [(i, i + 1) for i in range(len(text))]

    def decode(self, ids):
        return "".join(self.letters[i - 1] for i in ids if i)

    def next_logprobs(self, contexts):
        assert all(0 < len(context) < self.context for context in contexts)
        return np.array([self._row(tuple(context[-3:])) for context in contexts])

    def _row(self, context: tuple[int, ...]) -> np.ndarray:
        if context not in self._rows:
            row = np.full(1 + len(self.letters), 1e-3)
            row[0] = 1e-9
            for order in range(len(context) + 1):
                for token, count in self._counts.get(context[len(context) - order :], {}).items():
                    row[token] += count * 20.0**order
            self._rows[context] = np.log(row / row.sum())
        return self._rows[context]


TRAINED = Characters([record.content for record in MEMBERS])
PUBLIC = Characters([record.content for record in OTHERS])


def fill(texts):
    return [text.replace("[MASK]", NAMES[0]) for text in texts]


def canaries():
    return [SimpleNamespace(id=f"c{number}", kind="PERSON", value=Sensitive(name)) for number, name in enumerate(NAMES)]


def material(records=MEMBERS, **changes) -> Material:
    halves = [frozenset(each.id for each in [*MEMBERS, *OTHERS][start::2]) for start in (0, 1)]
    shadows = [
        Shadow(Characters([each.content for each in [*MEMBERS, *OTHERS] if each.id in seen]), seen) for seen in halves
    ]
    given = {"others": OTHERS, "tagger": Words(), "canaries": canaries(), "fill": fill, "shadows": shadows}
    return Material(records, **{**given, **changes})


MATERIAL = material()


def settings(name: str, **changes) -> Any:
    section = ATTACKS[name]
    small = {key: value for key, value in {**SMALL, **changes}.items() if key in section.model_fields}
    return section(**small)


@cache
def attacked(name: str, model: LanguageModel = TRAINED, seed: int = 0) -> list[dict[str, Any]]:
    return registry.load("attack", name).run(model, MATERIAL, settings(name), seed)


def strings_of(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (string for pair in value.items() for each in pair for string in strings_of(each))
    elif isinstance(value, list):
        yield from (string for each in value for string in strings_of(each))


def selected(name: str, measures: list[dict[str, Any]]) -> dict[str, Any]:
    """As the report picks the one measure of the leakage table."""
    wanted = registry.load("attack", name).HEADLINE.items()
    found = [each for each in measures if wanted <= each.items() and "occurrences" not in each]
    return max(found, key=lambda each: each.get("tokens", 0))


@pytest.fixture(params=sorted(registry.members("attack")))
def name(request):
    return request.param


def test_every_attack_has_a_section_of_settings():
    assert set(ATTACKS) >= set(registry.members("attack"))


def test_what_the_attacker_knows_and_which_measure_counts_are_said(name):
    attack = registry.load("attack", name)
    assert attack.KNOWLEDGE.endswith(".")
    assert "measure" in attack.HEADLINE
    assert all(change.keys() <= attack.HEADLINE.keys() for change in getattr(attack, "PREFERRED", ()))


def test_rows_are_json_and_the_same_each_time(name):
    rows = attacked(name)
    assert rows
    again = registry.load("attack", name).run(TRAINED, material(), settings(name), 0)
    assert again == rows
    assert json.loads(json.dumps(rows, allow_nan=False)) == rows


def test_rows_hold_nothing_of_the_texts(name, capsys):
    attack = registry.load("attack", name)
    rows = attack.run(TRAINED, MATERIAL, settings(name), 1)
    measures = attack.summary(rows, attacked(name, PUBLIC, 1), settings(name))
    found = {*strings_of(rows), *strings_of(measures)}
    assert not [string for string in found for word in WORDS if word in string]
    assert capsys.readouterr() == ("", "")


def test_rows_about_a_value_say_its_class_length_fingerprint_and_occurrences(name):
    known = {
        MATERIAL.fingerprint(label, value): (label, len(value)) for label, values in VALUES.items() for value in values
    }
    for row in attacked(name):
        if row.get("fingerprint") in known:
            assert (row["class"], row["length"]) == known[row["fingerprint"]]
            assert row["occurrences"] >= 0
        if "case" in row:
            assert row["case"].partition("/")[0] in {each.id for each in [*MEMBERS, *OTHERS, *canaries()]}


def test_batches_change_nothing_but_last_bits(name):
    if "batch_size" not in ATTACKS[name].model_fields:
        pytest.skip("it has no batches")
    rows = registry.load("attack", name).run(TRAINED, MATERIAL, settings(name, batch_size=5), 0)
    assert same(rows, attacked(name))


def same(one: Any, other: Any) -> bool:
    """Whether both are equal, floats but for their last bits."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return math.isclose(one, other, rel_tol=1e-9) if isinstance(one, float) else one == other


def test_another_seed_changes_no_fact_about_a_value(name):
    facts = [
        {row["fingerprint"]: (row["class"], row["length"], row["occurrences"]) for row in rows if "fingerprint" in row}
        for rows in (attacked(name), attacked(name, TRAINED, 1))
    ]
    shared = facts[0].keys() & facts[1].keys()
    assert all(facts[0][key] == facts[1][key] for key in shared)
    assert [set(row) for row in attacked(name)][-1] == [set(row) for row in attacked(name, TRAINED, 1)][-1]


def test_the_order_of_the_records_does_not_matter(name):
    def nameless(rows):  # the fingerprints' key is of the members in their order
        plain = [{key: value for key, value in row.items() if key not in ("fingerprint", "guess")} for row in rows]
        return sorted(json.dumps(row, sort_keys=True) for row in plain)

    rows = registry.load("attack", name).run(TRAINED, material(MEMBERS[::-1], others=OTHERS[::-1]), settings(name), 0)
    assert nameless(rows) == nameless(attacked(name))


def test_progress_ends_with_everything_done(name):
    told = []
    registry.load("attack", name).run(
        TRAINED, MATERIAL, settings(name), 0, progress=lambda done, total: told.append((done, total))
    )
    assert told[-1][0] == told[-1][1]
    assert all(0 <= done <= total for done, total in told)


@pytest.mark.parametrize("public", [None, PUBLIC, TRAINED], ids=["alone", "baseline", "itself"])
def test_every_rate_has_an_interval_or_is_undefined(name, public):
    baseline = None if public is None else attacked(name, public)
    measures = registry.load("attack", name).summary(attacked(name), baseline, settings(name))
    assert json.loads(json.dumps(measures, allow_nan=False)) == measures
    assert measures[0]["class"] == "all"
    for each in measures:
        assert {"measure", "class", "value", "low", "high", "interval", "n"} <= each.keys()
        low, value, high = each["low"], each["value"], each["high"]
        assert (low is None) == (high is None)
        if value is None:
            assert low is None
        elif each["interval"] == "wilson":
            assert 0 <= low <= value <= high <= 1
        elif low is not None:
            assert low <= value <= high
        if "hits" in each and value is not None:
            assert value == pytest.approx(each["hits"] / each["n"])
    assert selected(name, measures)["n"] >= 0


def test_equal_numbers_have_no_bootstrap_interval(name):
    """Their sums in other orders differ in the last bits: that is no spread."""
    attack, rows = registry.load("attack", name), attacked(name)
    for row in rows[-1], max(rows[1:], key=lambda row: row["occurrences"]):
        alike = [*(rows[:1] if rows[0].keys() != row.keys() else []), *[row] * 7]
        for each in attack.summary(alike, None, settings(name)):
            assert each["low"] is None or each["low"] <= each["value"] <= each["high"]
            assert each["interval"] != "bootstrap" or each["low"] is None


def test_the_page_explains_every_measure_and_variant(name):
    attack, rows = registry.load("attack", name), attacked(name)
    told = [*attack.summary(rows, attacked(name, PUBLIC), settings(name)), *attack.summary(rows, None, settings(name))]
    seen = {
        "Measures": {each["measure"] for each in told},
        "Variants": {each["variant"] for each in told if "variant" in each and each["measure"] != "left_out"},
    }
    for title, names in seen.items():
        section = PAGE.partition(f"## {title}\n")[2].partition("\n## ")[0]
        lines = [[cell.strip() for cell in line.split("|")[1:]] for line in section.splitlines() if line[:1] == "|"]
        found, owner = set(), ""
        for first, second, *_ in lines:
            owner, named = (second, first) if title == "Measures" else (first or owner, second)
            if name in re.findall(r"\w+", owner):
                found |= set(re.findall(r"`([^`]+)`", named))
        assert found == names
    scores = {each["score"] for each in told if "score" in each}
    assert all(f"\n| `{score}` |" in PAGE for score in scores)
    assert f"**`{name}`**" in PAGE


def test_success_is_told_by_class_and_by_occurrences(name):
    measures = registry.load("attack", name).summary(attacked(name), None, settings(name))
    headline = registry.load("attack", name).HEADLINE["measure"]
    told = [each for each in measures if each["measure"] == headline]
    assert any("occurrences" in each for each in told)
    labelled = {row["class"] for row in attacked(name) if row.get("class")}
    assert labelled <= {each["class"] for each in told}


def test_what_the_baseline_knows_as_well_is_no_success(name):
    """Where the paper leaves out what the public model finds: nothing is left if that is the attacked model."""
    attack = registry.load("attack", name)
    if attack.HEADLINE["measure"] not in ("recall", "accuracy"):
        pytest.skip("its headline leaves nothing out")
    alone, beside = (
        selected(name, attack.summary(attacked(name), baseline, settings(name))) for baseline in (None, attacked(name))
    )
    assert alone["hits"] > 0, "the trained model is attacked with success"
    assert beside["hits"] == 0


def test_a_summary_is_of_rows_alone(name):
    """Rows are written and read again before they are summed up, and not changed by it."""
    attack = registry.load("attack", name)
    rows = json.loads(json.dumps(attacked(name)))
    first = attack.summary(rows, rows, settings(name))
    assert rows == attacked(name)
    assert attack.summary(rows, rows, settings(name)) == first


@pytest.mark.parametrize(
    "lacking",
    [
        {"records": []},
        {"records": [], "canaries": [], "others": []},
        {"records": [Record("d0", text="moved")], "canaries": []},
        {"others": []},
        {"tagger": None},
        {"fill": None, "shadows": []},
        {"canaries": []},
    ],
    ids=lambda lacking: "-".join(lacking),
)
def test_what_is_missing_is_said_or_not_needed(name, lacking):
    attack = registry.load("attack", name)
    refused = None
    try:
        rows = attack.run(TRAINED, material(**lacking), settings(name), 0)
        attack.summary(rows, None, settings(name))
    except InputError as error:
        refused = error.hint
    assert refused is None or re.fullmatch(r"[A-Z].*\.", refused)
    assert not [word for word in WORDS if word in (refused or "")]


def test_attacks_are_imported_without_what_they_run_on():
    code = (
        "import sys\nfrom sm_ops.core.registry import load, members\n"
        "[load('attack', name) for name in members('attack')]\n"
        "print(sorted({'torch', 'transformers', 'spacy', 'pydantic'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
