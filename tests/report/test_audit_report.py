"""The audit's report: numbers as given, errors over seeds, claims that can fail, a page without script and values."""

from __future__ import annotations

import csv
import json
import re
import shutil
from math import exp, sqrt
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import fake_runs
import pytest
from test_html import parsed, svgs

from sm_ops.core import registry
from sm_ops.core.config.attacks import ATTACKS
from sm_ops.core.errors import InputError
from sm_ops.core.home import Run
from sm_ops.report.audit.claims import claims
from sm_ops.report.audit.html import TABLES, write_report
from sm_ops.report.audit.measures import over_seeds
from sm_ops.report.audit.results import load_results, print_table
from sm_ops.report.audit.words import shown, table_lines
from sm_ops.report.finish import results_of
from sm_ops.tracking.sent_audit import SENT

pytestmark = pytest.mark.unit

Measure = dict[str, Any]

PLAIN = {"dedup": False, "scrub": False, "mask": "none", "private": False}
DEFENCES = {
    "plain": PLAIN,  # claims find a defence by what it does
    "scrubbed": PLAIN | {"scrub": True},
    "dp": PLAIN | {"private": True},
    "both": PLAIN | {"scrub": True, "private": True},
    "masked": PLAIN | {"mask": "surprise"},
}
RECALL = {"base": 0.0, "plain": 0.30, "scrubbed": 0.05, "dp": 0.02, "both": 0.0, "masked": 0.20}
AUC = {"base": 0.50, "plain": 0.90, "scrubbed": 0.70, "dp": 0.55, "both": 0.50, "masked": 0.80}
NLL = {"base": 3.0, "plain": 1.0, "scrubbed": 1.2, "dp": 2.0, "both": 2.1, "masked": 1.1}
STATISTICS = {
    "corpus": "court",
    "unit": "paragraph",
    "tagger": "gold",
    "records": {"train": 1234, "others": 20},
    "classes": [
        {"class": "all", "records": 1234, "mentions": 3210, "distinct": 100, "duplication": 32.1},
        {"class": "PERSON", "records": 1234, "mentions": 3000, "distinct": 90, "duplication": 33.333},
        {"class": "LOC", "records": 1234, "mentions": 210, "distinct": 10, "duplication": 21.0},
    ],
}
VERDICT = {"decision": "inverted", "advice": "do not use it", "reason": "Targets surprise less than the <rest>."}


def measure(attack: str, value: float | None, half: float = 0.02, **other: Any) -> Measure:
    """The headline measure of an attack, or with other labels one beside it."""
    ends = {"low": None, "high": None} if value is None else {"low": value - half, "high": value + half}
    counted = {"interval": "wilson", "n": 200, **({} if value is None else {"hits": round(200 * value)})}
    if attack == "membership":
        counted = {"interval": "delong", "n": 400, "members": 200, "others": 200}
    return {**registry.load("attack", attack).HEADLINE, "value": value, **ends, **counted, **other}


def measures(name: str, number: int) -> dict[str, Any]:
    recall, auc = RECALL[name] + 0.01 * number, AUC[name] + 0.01 * number
    size = {"tokens": 1000 + len(name) + number}  # every model ends its texts elsewhere
    extraction = [
        *(measure("extraction", recall / 8, occurrences=bucket, **size) for bucket in ("1", "2", "3-4")),
        measure("extraction", recall, **size),
        measure("extraction", recall / 2, variant="strict", **size),
        measure("extraction", recall + 0.1, variant="unsubtracted", **size),
        measure("extraction", 0.5 if name == "plain" else None, measure="precision", n=40 * (name == "plain"), **size),
        measure("extraction", recall / 5, **{"class": "PERSON"}, **size),
        measure("extraction", recall / 4, tokens=500 + len(name)),
    ]
    tpr = measure("membership", 0.1, measure="tpr_at_fpr_0.001", interval="bootstrap", hits=20, too_few=True)
    membership = [measure("membership", auc), tpr]
    return {
        "extraction": {
            "knowledge": "Draws texts & knows nothing.",
            "settings": {"tokens": 1000},
            "measures": extraction,
        },
        "membership": {"knowledge": "Has sentences.", "settings": {"sentences": None}, "measures": membership},
    }


def config(seeds: tuple[int, ...], **changes: Any) -> dict[str, Any]:
    return {
        "flow": "audit",
        "name": "audit_fake",
        "seeds": list(seeds),
        "defences": DEFENCES,
        "tagger": "gold",
        "classes": ["PERSON"],
        "shadows": {"count": 0},
        "filling": {"model": None},
        "attacks": {"extraction": {"tokens": 1000}, "membership": {"sentences": None}},
        **changes,
    }


SPENT = {"epsilon": 7.5, "delta": 1 / 1234, "unit": "record"}


def make(
    home: Path, seeds: tuple[int, ...] = (0,), change: Any = None, spent: Measure = SPENT, **changes: Any
) -> tuple:
    """A run in which the n-th seed finds n points more than the first; `change` edits each cell's measures."""
    settings = config(seeds, **changes)
    fake = fake_runs.FakeRun(home)
    fake.add("audit_data", {"statistics.json": STATISTICS}, seconds=3.0)
    fake.add("audit_shadow@0", {"model": fake_runs.SECRET, "seen.json": [fake_runs.SECRET]}, "restricted")
    for name, defence in settings["defences"].items():
        prepared: dict[str, Any] = {"records_before": 1234, "records": 1200, "tokens": 50000}
        if defence["scrub"]:
            prepared["scrubbed"] = {"mentions": 3210}
        if defence["mask"] == "surprise":
            prepared |= {"tokens_masked": 777, "verdict": VERDICT}
        fake.add(f"audit_prepare@{name}", {"prepared.json": prepared})
    for number, seed in enumerate(seeds):
        for name in ("base", *settings["defences"]):
            found = measures(name, number)
            if change is not None:
                change(name, found)
            fake.add(f"audit_measure@{name}-{seed}", {"measures.json": found})
            nll = NLL[name] + (0.1 * number if name != "base" else 0.0)
            utility = {"logprob_sums": [-100 * (nll - 0.2), -100 * (nll + 0.2)] * 5, "tokens": [100] * 10}
            fake.add(f"evaluate@{name}-{seed}", {"utility.json": utility})
            if name == "base":
                continue
            training = {"steps": 40, "adapter_changed": True}
            if settings["defences"][name]["private"]:
                training |= spent | {"epsilon": spent["epsilon"] + 0.1 * number}
            fake.add(f"audit_train@{name}-{seed}", {"training.json": training})
    return fake.finish(settings), home


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> tuple:
    return make(tmp_path_factory.mktemp("audit") / "home")


@pytest.fixture(scope="module")
def page(one: tuple) -> str:
    shutil.rmtree(one[1] / "restricted")  # nothing restricted is opened
    return write_report(*one).read_text(encoding="utf-8")


def text_of(page: str) -> str:
    return parsed(page).text.replace("\N{NO-BREAK SPACE}", " ")


def rows_of(results: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["defence"]: row for row in results["rows"]}


def claimed(half: float = 0.02, **other: dict[str, float]) -> list[dict[str, Any]]:
    """Claims on the usual rates with intervals so wide; by attack, rates of some defences may be `other` ones."""
    rates = {"extraction": RECALL | other.get("extraction", {}), "membership": AUC | other.get("membership", {})}
    found = {name: {attack: measure(attack, own[name], half) for attack, own in rates.items()} for name in RECALL}
    return claims([{"defence": name, "leakage": own, "unsubtracted": own} for name, own in found.items()], DEFENCES)


def passed(found: list[dict[str, Any]]) -> list[bool | None]:
    return [claim["passed"] for claim in found]


def test_numbers_are_those_given(one: tuple) -> None:
    results = load_results(*one)
    assert results["format"] == "audit-results/1"
    rows = rows_of(results)
    assert list(rows) == ["base", *DEFENCES]
    for name, row in rows.items():
        recall, auc = row["leakage"]["extraction"], row["leakage"]["membership"]
        assert (recall["value"], recall["low"], recall["high"]) == (
            RECALL[name], max(0.0, RECALL[name] - 0.02), pytest.approx(RECALL[name] + 0.02)
        )  # fmt: skip
        assert (auc["value"], auc["se"], auc["n"]) == (AUC[name], None, 400)
        quality = row["perplexity"]
        assert quality["value"] == pytest.approx(exp(NLL[name]))
        assert exp(NLL[name] - 0.2) < quality["low"] < quality["value"] < quality["high"] < exp(NLL[name] + 0.2)
    assert [rows[name]["epsilon"] for name in rows] == [None, None, None, 7.5, 7.5, None]
    assert rows["dp"]["unit"] == "record"
    assert results["statistics"] == STATISTICS["classes"]
    json.dumps(results, allow_nan=False)


def test_a_loaded_run_gives_the_same_results_in_the_same_order(one: tuple) -> None:
    run, home = one
    assert list(Run.load(run.folder).config["defences"]) == sorted(DEFENCES)  # a stored config has forgotten the order
    assert json.dumps(load_results(Run.load(run.folder), home)) == json.dumps(load_results(run, home))


def test_several_seeds_have_a_mean_and_its_error_beside_each_interval(tmp_path: Path) -> None:
    two = {name: DEFENCES[name] for name in ("plain", "dp")}
    results = load_results(*make(tmp_path / "home", seeds=(3, 4, 5), defences=two))
    row = rows_of(results)["plain"]
    recall = row["leakage"]["extraction"]
    error = 0.01 / sqrt(3)  # the standard deviation of 0.30, 0.31, 0.32 is 0.01
    assert recall["value"] == pytest.approx(0.31)
    assert recall["se"] == pytest.approx(error)
    assert recall["low"] == pytest.approx(0.31 - sqrt(0.02**2 + (4.302653 * error) ** 2))  # t of 2 degrees of freedom
    assert (recall["n"], recall["hits"], recall["seeds"]) == (200, 62, 3)
    assert row["perplexity"]["value"] == pytest.approx((exp(1.0) + exp(1.1) + exp(1.2)) / 3)
    assert rows_of(results)["dp"]["epsilon"] == pytest.approx(7.7)  # what holds for every seed
    assert rows_of(results)["base"]["perplexity"]["se"] is None  # one model, not three
    own = [each for each in results["per_seed"] if each["defence"] == "plain"]
    assert [each["seed"] for each in own] == [3, 4, 5]
    ends = [(each["leakage"]["extraction"]["low"], each["leakage"]["extraction"]["high"]) for each in own]
    assert ends == [pytest.approx((0.28, 0.32)), pytest.approx((0.29, 0.33)), pytest.approx((0.30, 0.34))]


def test_intervals_of_few_seeds_stay_where_a_measure_can_lie() -> None:
    far = [measure("membership", value) for value in (0.55, 0.95)]
    assert (over_seeds(far)["low"], over_seeds(far)["high"]) == (0.0, 1.0)
    quality = {"measure": "perplexity", "low": 5.0, "high": 7.0, "interval": "bootstrap", "n": 10}
    pooled = over_seeds([quality | {"value": value} for value in (6.0, 60.0)])
    assert pooled["low"] == 1.0
    assert pooled["high"] > 33 + 12.7 * 27


def test_a_guarantee_is_never_told_smaller_than_it_is(tmp_path: Path) -> None:
    spent = {"epsilon": 0.994777, "delta": 1 / 96, "unit": "group"}
    run = make(tmp_path / "home", defences={"dp": DEFENCES["dp"]}, spent=spent)
    shown = write_report(*run).read_text(encoding="utf-8") + "\n".join(table_lines(load_results(*run)))
    assert "(0.9948, 0.01042) for one group" in shown
    assert set(re.findall(r"0\.99\d*", shown)) == {"0.9948"}
    assert set(re.findall(r"0\.010\d*", shown)) == {"0.01042"}


def test_undefined_is_null_and_a_dash() -> None:
    undefined = measure("extraction", None)
    pooled = over_seeds([undefined, undefined])
    assert (pooled["value"], pooled["se"], pooled["low"], pooled["seeds"]) == (None, None, None, 0)
    assert shown(pooled) == shown(None) == "-"
    half = over_seeds([undefined, measure("extraction", 0.5)])
    assert (half["value"], half["se"], half["seeds"]) == (0.5, None, 1)
    assert shown(measure("extraction", 0.5)) == "50.0 % [48.0, 52.0]"
    assert shown(measure("membership", 0.5)) == "0.500 [0.480, 0.520]"
    small = {"measure": "lazy", "value": 0.0000123, "low": None, "high": None, "interval": None}
    assert shown(small) == "0.000012"


def test_an_attack_without_outcome_is_a_dash_everywhere(tmp_path: Path) -> None:
    def change(name: str, found: dict[str, Any]) -> None:
        del found["membership"]
        if name == "dp":
            found["extraction"]["measures"] = []

    two = {name: DEFENCES[name] for name in ("plain", "dp")}
    run = make(tmp_path / "home", change=change, defences=two)
    results = load_results(*run)
    assert {row["leakage"]["membership"] for row in results["rows"]} == {None}
    assert rows_of(results)["dp"]["leakage"]["extraction"] is None
    assert passed(results["claims"]) == [True, None]
    page = write_report(*run).read_text(encoding="utf-8")
    assert not re.search(r"\bnan\b", page.lower())


def test_claims_hold_where_intervals_lie_apart(one: tuple) -> None:
    found = load_results(*one)["claims"]
    assert passed(found) == [True] * 4
    assert "extraction 40.0 % [38.0, 42.0] against 10.0 % [8.0, 12.0]" in found[0]["detail"]  # nothing subtracted
    assert "extraction 30.0 % [28.0, 32.0] against 5.0 % [3.0, 7.0]" in found[1]["detail"]
    assert found[-1]["sentence"] == "Membership inference falls from plain over scrubbed to both."


def test_claims_are_undefined_within_their_errors_and_can_fail() -> None:
    assert passed(claimed(half=0.5)) == [None] * 4
    assert passed(claimed(membership={"dp": 0.99, "both": 0.99})) == [True, True, False, False]
    assert passed(claimed(membership={"both": 0.70})) == [True, True, True, None]  # scrubbed has 0.70
    alone = claimed(extraction=dict.fromkeys(RECALL, 0.1))[0]
    assert alone["passed"] is True  # membership tells the two apart
    assert "extraction 10.0 % [8.0, 12.0] against 10.0 % [8.0, 12.0], not told apart" in alone["detail"]


def test_claims_are_made_of_what_the_run_has(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    only = {name: DEFENCES[name] for name in ("plain", "dp")}
    attacks = {"extraction": {}}
    results = load_results(*make(tmp_path / "two", defences=only, attacks=attacks))
    assert [claim["name"] for claim in results["claims"]] == ["plain-base", "plain-dp"]
    results = load_results(*make(tmp_path / "none", defences={"masked": DEFENCES["masked"]}, attacks=attacks))
    assert results["claims"] == []
    print_table(results)
    assert "No two models of this run are compared." in capsys.readouterr().out


def test_the_table_on_the_screen(one: tuple, capsys: pytest.CaptureFixture[str]) -> None:
    results = load_results(*one)
    print_table(results)
    lines = capsys.readouterr().out.splitlines()
    head, _, *table = lines[: lines.index("")]
    assert head.split("  ")[0].startswith("defence")
    assert "extraction: recall, paper" in head
    dp = next(line for line in table if line.startswith("dp"))
    assert dp.endswith("0.550 [0.530, 0.570]")
    assert "7.5  2.0 % [0.0, 4.0]" in re.sub("  +", "  ", dp)
    assert sum(line.startswith("holds") for line in lines) == 4
    assert max(map(len, lines)) <= 118
    shown = " ".join(" ".join(lines).split())
    assert all(sentence in shown for sentence in (*results["not_tried"], *results["limits"]))
    assert results_of(one[0]).__name__ == "sm_ops.report.audit.results"


def test_what_was_not_tried_comes_from_the_config(tmp_path: Path, one: tuple) -> None:
    told = "\n".join(load_results(*one)["not_tried"])
    left = sorted(registry.members("attack").keys() - {"extraction", "membership"})
    assert f"Attacks left out: {', '.join(left)}." in told
    assert "Classes left out: LOC." in told
    for words in (
        "White-box",
        "Shadow models: none",
        "Other taggers: ",
        "Defences left out: de-duplication, Goldfish.",
    ):
        assert words in told
    assert "Filling" not in told  # nothing tried looks around a slot
    inference = ATTACKS["inference"].model_validate({"knowledge": ["prefix"]}).model_dump(mode="json")
    more = {"extraction": {}, "inference": inference}
    changed = make(tmp_path / "home", attacks=more, classes=[], shadows={"count": 2}, tagger="gold+spacy")
    told = "\n".join(load_results(*changed)["not_tried"])
    assert "Settings of inference left out: draw unique, knowledge both, criterion prob, surroundings original." in told
    assert "Filling of residual masks" in told
    assert "Shadow" not in told
    assert "Classes left out" not in told
    assert "precision of extraction says nothing" in "\n".join(load_results(*one)["limits"])
    limits = "\n".join(load_results(*changed)["limits"])
    assert "precision of extraction" not in limits
    assert "best case" in limits
    assert "spacy," not in told.replace("gold+spacy", "")


def test_the_page_shows_everything_without_script_or_value(one: tuple, page: str) -> None:
    document = parsed(page)
    assert len(document.ids) == len(set(document.ids))
    assert "<script" not in page.lower()
    assert not re.search(r"\son\w+=", page)
    assert not re.search(r'(?:src|href)="(?!#)', page)
    for words in (
        "Draws texts & knows nothing.", "recall, paper, marked ●", "50.0 % [48.0, 52.0] of 40",
        "15.0 % [13.0, 17.0]",
        "PERSON", "6.0 % [4.0, 8.0]", "1/2", "2/2", "(too few others)", "3-4", "do not use it",
        "Targets surprise less than the <rest>.", "epsilon 7.5 at delta 0.0008104 for one record", "1,234 train",
        "33.33", "scrubbed mentions", "3,210", "tokens masked", "777", "adapter changed", "yes",
        "Differential privacy protects one record", "Attacks left out", "lower bounds", "One seed",
    ):  # fmt: skip
        assert words in text_of(page), words
    row = next(re.findall(r">([^<]+)<", each) for each in page.split("<tr>") if "recall ●" in each)
    cells = [cell.replace("\N{NO-BREAK SPACE}", " ") for cell in row]
    assert cells[:6] == ["recall ●", "paper", "2/2", "200", "0.0 % [0.0, 2.0]", "30.0 % [28.0, 32.0]"]
    assert page.index("Circumstances and smaller samples") < page.index(">1/2<")
    texts = ["".join(ElementTree.fromstring(svg).itertext()) for svg in svgs(page)]
    assert len(texts) == 3  # leakage, the curve of extraction, occurrences
    assert all(name in texts[0] for name in ("base", *DEFENCES))
    for path in one[0].folder.iterdir():
        assert fake_runs.SECRET not in path.read_text(encoding="utf-8")


def test_files_beside_the_page(one: tuple, page: str) -> None:
    names = {path.name for path in one[0].folder.iterdir()}
    assert names == {"run.json", "report.html", "results.json", "leakage.svg", *(f"{name}.csv" for name in TABLES)}
    with (one[0].folder / "measures.csv").open(encoding="utf-8", newline="") as stream:
        own = [row for row in csv.DictReader(stream) if row["defence"] == "plain" and row["occurrences"] == "2"]
    assert [float(row["value"]) for row in own] == [0.30 / 8]
    with (one[0].folder / "rows.csv").open(encoding="utf-8", newline="") as stream:
        row = next(row for row in csv.DictReader(stream) if row["defence"] == "base")
    assert row["epsilon"] == ""
    assert float(row["leakage_membership_value"]) == 0.5


def test_the_page_of_several_seeds(tmp_path: Path) -> None:
    run = make(tmp_path / "home", seeds=(0, 1), defences={"plain": PLAIN})
    text = text_of(write_report(*run).read_text(encoding="utf-8"))
    assert "30.5 ± 0.5 %" in text
    assert "Every seed with its own interval" in text
    assert "plain, seed 1" in text
    assert "31.0 % [29.0, 33.0]" in text
    assert "One seed" not in text


def test_a_removed_result_is_told(tmp_path: Path) -> None:
    run = make(tmp_path / "home", defences={"plain": PLAIN})
    next((run[1] / "store" / "audit_measure").rglob("measures.json")).unlink()
    with pytest.raises(InputError, match=r"measures\.json of step audit_measure@"):
        load_results(*run)


def test_what_is_sent_are_numbers_by_defence(one: tuple, page: str) -> None:
    results = load_results(*one)
    children = {child.name: child for child in SENT.children(results)}
    assert list(children) == ["base", *DEFENCES]
    dp = children["dp"]
    assert (dp.measures["epsilon"], dp.measures["extraction"], dp.measures["membership_high"]) == (
        7.5,
        0.02,
        pytest.approx(0.57),
    )
    assert [seed for seed, _ in dp.per_seed] == [0]
    assert SENT.summary(results)["claims_that_hold"] == 4
    assert all((one[0].folder / name).is_file() for name in SENT.artifacts)
