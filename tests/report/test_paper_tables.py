"""The paper's tables filled by a run: rows paired, cells by hand, differences computed, figures as printed."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import fake_quirks
import fake_runs
import pytest
from driving import ROOT

from sm_ops.core.config import load_pipeline
from sm_ops.core.home import Run
from sm_ops.report.surprise.results import load_results
from sm_ops.report.surprise.tables import published
from sm_ops.report.surprise.tables.build import tables_of
from sm_ops.report.surprise.tables.ours import DATASETS
from sm_ops.report.surprise.tables.setting import facts_of
from sm_ops.report.surprise.tables.words import as_html, as_rows, correlation_sentences

pytestmark = pytest.mark.unit


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    return fake_runs.make_tiny(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    return fake_quirks.make(tmp_path_factory.mktemp("tuned"))


def tables(made: SimpleNamespace) -> dict[int, dict[str, Any]]:
    return {each["table"]: each for each in load_results(made.run, made.home)["tables"]}


def row(table: dict[str, Any], title: str) -> dict[str, Any]:
    (found,) = [each for each in table["rows"] if each["title"] == title]
    return found


def values(cells: dict[str, Any]) -> dict[str, Any]:
    return {name: cell and cell["value"] for name, cell in cells.items()}


def test_the_main_job_fills_tables_4_7_and_8(tiny: SimpleNamespace) -> None:
    found = tables(tiny)
    assert list(found) == [4, 7, 8]
    point = row(found[4], "SM95")
    assert values(point["ours"]) == {
        "validation_coverage": 0.95, "training_coverage": 0.93, "masked_tokens": 222, "validation_collateral": 0.03,
        "training_collateral": 0.045,
    }  # fmt: skip
    assert values(point["paper"])["masked_tokens"] == 181_066, "the paper's pretraining, as nothing is adapted"
    within = row(found[8], "unmasked")
    assert within["ours"]["within_1"]["value"] == pytest.approx(2 / 6)
    assert within["ours"]["within_8"]["value"] == pytest.approx(4 / 6)
    assert within["ours"]["within_128"] is None, "the run stops at 8"
    assert values(within["paper"])["within_128"] == 0.663


def test_what_only_one_side_has_is_told(tiny: SimpleNamespace) -> None:
    eight = tables(tiny)[8]
    absent, extra = row(eight, "SM70"), row(eight, "random95")
    assert (absent["ran"], absent["published"], extra["ran"], extra["published"]) == (False, True, True, False)
    assert set(values(absent["ours"]).values()) == set(values(extra["paper"]).values()) == {None}
    page = as_html(eight)
    assert page.count("not run") == 3, "SM50, SM70 and SM90"
    lines = {line["title"]: line for line in as_rows(eight)}
    assert lines["SM70"]["ran"] is False
    assert lines["SM70"]["paper_within_1"] == 0.153
    assert "within_16" not in lines["SM70"], "the run has no such budget"


def test_errors_over_seeds_come_from_the_seeds(tiny: SimpleNamespace) -> None:
    seven = tables(tiny)[7]
    overall = row(seven, "unmasked")["ours"]["overall"]
    assert overall["value"] == pytest.approx(4 / 6)
    assert overall["error"] == pytest.approx(1 / 3)  # 3 of 3 and 1 of 3 canaries within 8
    assert row(seven, "base")["ours"]["overall"]["error"] is None, "one model, whatever the seed"


def test_two_points_lie_on_a_line_and_one_is_none(tiny: SimpleNamespace, prototype: SimpleNamespace) -> None:
    assert [(each["value"], each["points"]) for each in tables(tiny)[4]["correlations"]] == [(None, 1), (None, 1)]
    four = tables(prototype)[4]["correlations"]
    # r of (0.5, 0.7, 0.9, 0.95) and (0.71, 0.85, 0.94, 0.99) by hand
    assert four[0]["value"] == pytest.approx(0.075375 / (0.126875 * 0.045275) ** 0.5)
    told = {"measure": "target_coverage", "value": 1.0, "points": 2, "paper_over": 0.92}
    assert "which always lie on a line" in correlation_sentences([told])[0]


def test_differences_are_computed_and_vanish(tuned: SimpleNamespace) -> None:
    nine = tables(tuned)[9]
    assert "seeds: 2 here, 3 in the paper" in nine["differences"]
    assert "prompts of pass@k: 6 here, 60 in the paper" in nine["differences"]
    assert "training records: 4,000" in nine["agreements"]
    assert "rule: local n=2 k=2 radius 32, copies within the group" in nine["agreements"]
    same = Run(tuned.run.folder, "quirks", {**tuned.run.config, "seeds": [0, 1, 2]}, tuned.run.steps, "")
    again = tables_of(same, load_results(tuned.run, tuned.home))
    assert "seeds: 3" in again[1]["agreements"]
    assert not [each for each in again[1]["differences"] if each.startswith("seeds")]


def test_code_quirks_fills_9_or_10_by_how_it_was_trained(tuned: SimpleNamespace, tmp_path: Path) -> None:
    found = tables(tuned)
    assert list(found) == [4, 9]
    assert values(row(found[9], "unmasked")["ours"]) == {"display": 0.625, "pass_at": pytest.approx(1 / 3), "seeds": 2}
    opf = row(found[9], "opf")
    assert values(opf["paper"])["display"] == 0.2389, "a detector stands for native OPF by what it is, not by its name"
    trained = tables(fake_quirks.make(tmp_path, "scratch", seeds=(0,), executed=False))
    assert list(trained) == [4, 10]
    assert values(row(trained[10], "oracle")["ours"])["nll"] == pytest.approx(1.1)
    assert values(row(trained[10], "oracle")["paper"])["nll"] == 1.1960
    assert row(trained[10], "random70")["ran"] is False
    chats = tables(fake_quirks.make(tmp_path / "chats", "continue", seeds=(0,)))
    assert list(chats) == [4, 9], "answers of chats are fine-tuning, whatever weights learn them"


def test_the_nll_of_answers_has_its_error_over_seeds(tmp_path: Path) -> None:
    """By hand: five answers at N, one at N + 0.6 or N + 1.2, so means of N + 0.1 and N + 0.2."""
    made = fake_quirks.make(tmp_path, "scratch", executed=False, answers=True)
    ten = tables(made)[10]
    assert row(ten, "oracle")["ours"]["nll"] == {
        "value": pytest.approx(1.25), "low": None, "high": None, "error": pytest.approx(0.05),
    }  # fmt: skip
    assert row(ten, "base")["ours"]["nll"]["error"] is None, "one model, whatever the seed"
    assert not [each for each in ten["differences"] if "pools all tokens" in each]
    pooled = tables(fake_quirks.make(tmp_path / "pooled", "scratch", executed=False))[10]
    assert [each for each in pooled["differences"] if "pools all tokens" in each]


def with_numbers(made: SimpleNamespace, config: dict[str, Any], **numbers: Any) -> Run:
    """The run under a changed config, with further numbers of its trainings."""
    steps = {
        name: {**step, "numbers": {**step["numbers"], **numbers}} if name.startswith("train@") else step
        for name, step in made.run.steps.items()
    }
    return Run(made.run.folder, made.run.name, {**made.run.config, **config}, steps, "")


def test_what_a_pass_leaves_out_was_not_trained_on(tiny: SimpleNamespace) -> None:
    results = load_results(tiny.run, tiny.home)
    assert facts_of(tiny.run, results)["uses"] == 4, "12 occurrences of 3 values"
    mixed = with_numbers(tiny, {}, domain_tokens_left_out=7, domain_documents=5)
    facts = facts_of(mixed, results)
    assert "uses" not in facts, "how often a value stands in the documents that are left was not counted"
    assert facts["records"] == 5
    whole = with_numbers(tiny, {}, domain_tokens_left_out=0, domain_documents=5)
    assert facts_of(whole, results)["uses"] == 4


@pytest.mark.parametrize(
    ("train", "share"),
    [
        ({"warmup_steps": 10, "warmup_ratio": None}, 0.025),  # of 400
        ({"warmup_steps": 10, "warmup_ratio": None, "rounds": 2}, 0.05),  # 10 of 200, twice
        ({"warmup_steps": 10, "warmup_ratio": 0.01}, 0.01),
        ({"warmup_steps": 0, "warmup_ratio": None}, 0.0),
        ({"warmup_steps": 900, "warmup_ratio": None}, 1.0),
    ],
)
def test_steps_that_warm_up_are_told_as_their_share(tuned: SimpleNamespace, train: dict, share: float) -> None:
    run = with_numbers(tuned, {"train": {**tuned.run.config["train"], **train}}, steps=400)
    assert facts_of(run, load_results(tuned.run, tuned.home))["warmup_ratio"] == share


def test_what_trainings_did_is_a_mean_over_seeds_with_its_error(tuned: SimpleNamespace) -> None:
    steps = {
        name: {**step, "numbers": {**step["numbers"], "mean_multiplier": 0.2 if name.endswith("-0") else 0.4}}
        for name, step in tuned.run.steps.items()
    }
    for seeds, error in (([0, 1], 0.1), ([1], None)):
        run = Run(tuned.run.folder, "tuned", {**tuned.run.config, "seeds": seeds}, steps, "")
        told = load_results(run, tuned.home)["trainings"][0]
        assert told["mean_multiplier"] == pytest.approx(0.3 if error else 0.4)
        assert told["mean_multiplier_se"] == (error and pytest.approx(error))
        assert (told["effective_passes"], told["effective_passes_se"]) == (2.0, error and 0.0)


def test_interventions_are_paired_by_what_they_do(tiny: SimpleNamespace) -> None:
    """Table 6 where several interventions ran, whatever the highest operating point is called."""
    config = tiny.run.config
    config = {
        **config,
        "masking": {**config["masking"], "targets": [0.9], "baselines": {}},
        "train": {**config["train"], "compare": ["clip", "drop"]},
    }
    results = load_results(tiny.run, tiny.home)
    names = {"base": "base", "unmasked": "unmasked", "oracle": "oracle", "SM95": "SM90", "random95": "SM90_clip"}
    for part in ("rows", "per_seed", "by_kind", "curve", "trainings", "operating_points"):
        results[part] = [each | {"condition": names[each["condition"]]} for each in results[part]]
    results["rows"].append(results["rows"][-1] | {"condition": "SM90_drop"})
    results["trainings"][-1] |= {
        "mean_multiplier": 0.07,
        "mean_multiplier_se": 0.01,
        "effective_passes": 2.0,
        "records": 9,
    }
    found = {
        each["table"]: each for each in tables_of(Run(tiny.run.folder, "tiny", config, tiny.run.steps, ""), results)
    }
    six = found[6]
    assert [each["title"] for each in six["rows"] if not each["ran"]] == [
        "mask attention only", "mask loss and attention", "scale selected gradients by 0.25",
    ]  # fmt: skip
    clip = row(six, "clip selected gradients")
    assert (clip["condition"], clip["ours"]["multiplier"]["value"], clip["paper"]["multiplier"]["value"]) == (
        "SM90_clip", 0.07, 0.0701,
    )  # fmt: skip
    assert clip["ours"]["multiplier"]["error"] == 0.01
    assert "interventions are compared at SM90 here, at SM95 in the paper" in six["differences"]
    assert clip["ours"]["nll"]["value"] == pytest.approx(1.5), "no answer was run, so NLL stands beside pass@5"
    assert row(found[7], "SM90_clip")["paper"]["overall"]["value"] == 0.04
    assert row(found[7], "SM90")["paper"]["overall"]["value"] == 0.053, "a plain point goes by its own name"


def test_a_run_under_another_intervention_is_no_loss_masking(tiny: SimpleNamespace) -> None:
    config = {**tiny.run.config, "train": {**tiny.run.config["train"], "intervention": "attention"}}
    results = load_results(tiny.run, tiny.home)
    four, seven, _ = tables_of(Run(tiny.run.folder, "tiny", config, tiny.run.steps, ""), results)
    assert values(row(seven, "SM95_attention")["paper"])["overall"] == 0.04
    assert row(seven, "SM95_attention")["condition"] == "SM95"
    assert row(seven, "SM95")["ran"] is False, "masking the loss was not run"
    assert row(seven, "unmasked")["published"] is True
    assert row(seven, "random95")["published"] is False
    point = row(four, "SM95")
    assert (point["ran"], point["published"]) == (True, True), "a mask is the same, whatever is done with it"


def test_other_data_has_no_table_of_the_paper(tiny: SimpleNamespace) -> None:
    config = {**tiny.run.config, "data": {"dataset": "own"}}
    assert tables_of(Run(tiny.run.folder, "own", config, tiny.run.steps, ""), {}) == []


# ---- the paper's figures -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def paper(shared: Path) -> str:
    path = shared / "background" / "surprise-masking-paper.txt"
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    return path.read_text(encoding="utf-8").replace("$", "")


ROWS = {
    "Unmasked": "unmasked", "Oracle": "oracle", "Native OPF": "native_opf", "Goldfish k=2": "goldfish2",
    "Goldfish k=3": "goldfish3", **{f"Matched random {n}": f"random{n}" for n in (20, 30, 50, 70, 90)},
    **{f"SM{n}": f"SM{n}" for n in (20, 30, 50, 70, 90, 95)},
    **{f"Mask loss only, SM{n}": f"SM{n}" for n in (50, 70, 90, 95)},
    "Mask attention only, SM95": "SM_attention", "Mask loss and attention, SM95": "SM_both",
    "Clip selected gradients": "SM_clip", "Scale selected gradients by 0.25": "SM_scale",
    "Filter whole examples": "SM_drop",
}  # fmt: skip
ACTIONS = {"SM95": "loss", "unmasked": "unmasked"}


def printed(paper: str, first: str, last: str) -> list[list[str]]:
    """The cells of the lines between two texts."""
    start = paper.index(first)
    return [line.split("\t") for line in paper[start : paper.index(last, start)].splitlines() if "\t" in line][1:]


def numbers(cells: list[str]) -> list[float]:
    return [float(number) for cell in cells for number in re.findall(r"[\d.]+", cell.replace(",", ""))]


def held(cells: dict[str, Any], scale: set[str]) -> list[float]:
    """A row's numbers as printed: shares in percent, each followed by its error where it has one."""
    found = []
    for name, cell in cells.items():
        times = 1 if name in scale else 100
        found += [round(times * end, 4) for end in (cell["value"], cell["error"]) if end is not None]
    return found


@pytest.mark.parametrize(
    ("table", "first", "last", "plain"),
    [
        ("TABLE_7", "Intervention\tUsernames", "Table 7:", set()),
        ("TABLE_8", "\tSeeds\tb=1", "Table 8:", {"seeds"}),
        ("TABLE_9", "Fine-tuning condition", "Table 9:", {"seeds"}),
        ("TABLE_10", "Pretraining condition", "Table 10:", {"seeds", "nll"}),
    ],
)
def test_figures_are_the_printed_ones(paper: str, table: str, first: str, last: str, plain: set[str]) -> None:
    lines = {ROWS[name]: numbers(cells) for name, *cells in printed(paper, first, last)}
    assert lines == {name: held(cells, plain) for name, cells in getattr(published, table).items()}


def test_operating_points_and_interventions_are_the_printed_ones(paper: str) -> None:
    lines = printed(paper, "Setting\tRule\tValidation", "C.2 Code Quirks fine-tuning")
    found = {regime.lower(): {} for regime, *_ in lines}
    for regime, rule, *cells in lines:
        found[regime.lower()][rule] = numbers(cells)
    own = {
        regime: {name: held(c, {"masked_tokens"}) for name, c in t.items()} for regime, t in published.TABLE_4.items()
    }
    assert found == own
    actions = {}
    for name, *cells in printed(paper, "Intervention\tApproximate", "Table 6:"):
        key = ROWS[name]
        actions[ACTIONS.get(key, key.removeprefix("SM_"))] = numbers(cells)
    told = {"approx", "exact", "pass_at", "seeds"}
    kept = {key: {n: c for n, c in cells.items() if n in told} for key, cells in published.TABLE_6.items()}
    assert actions == {key: held(cells, {"seeds"}) for key, cells in kept.items()}


def test_recipes_are_the_printed_ones(paper: str) -> None:
    """Every number of a recipe that is not small enough to stand anywhere."""
    plain = paper.replace("{,}", "").replace(",", "")
    words = {15_000: "fifteen thousand", 4000: "4000", 100: "100 fixed canaries"}
    for recipe in published.RECIPES.values():
        for value in recipe.values():
            if isinstance(value, int) and value >= 100:
                assert words.get(value, str(value)) in plain, value


def test_every_command_of_the_page_runs_a_preset_of_the_main_job() -> None:
    page = (ROOT / "docs" / "how-to" / "tables.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`sm-ops sweep ([\w]+)", page))
    assert {"tiny", "interventions_tiny", "quirks_paper"} <= named
    for name in named:
        config = load_pipeline(name).model_dump()
        assert config["flow"] == "surprise"
        assert config["data"]["dataset"] in DATASETS, name
