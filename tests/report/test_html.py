from __future__ import annotations

import csv
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import fake_runs
import pytest

from sm_ops.report.surprise.html import TABLES, write_report
from sm_ops.report.surprise.plots import frontier_svg
from sm_ops.report.surprise.results import load_results

pytestmark = pytest.mark.unit

VOID = {"meta", "br"}


class Balanced(HTMLParser):
    """Checks that every element is closed, and collects text and ids."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.ids += [value or "" for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.ids += [value or "" for name, value in attrs if name == "id"]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def page(prototype: SimpleNamespace) -> str:
    path = write_report(prototype.run, prototype.home)
    assert path == prototype.run.folder / "report.html"
    return path.read_text(encoding="utf-8")


def parsed(page: str) -> Balanced:
    parser = Balanced()
    parser.feed(page)
    assert parser.open == []
    return parser


def svgs(page: str) -> list[str]:
    return re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL)


def test_small_scriptless_and_self_contained(page: str) -> None:
    assert len(page.encode()) < 400_000
    assert "<script" not in page.lower()
    assert not re.search(r"\son\w+=", page)
    assert not re.search(r'(?:src|href)="(?!#)', page)
    assert "@import" not in page


def test_well_formed_with_unique_ids(page: str) -> None:
    document = parsed(page)
    assert len(document.ids) == len(set(document.ids))
    assert len(svgs(page)) == 6
    for svg in svgs(page):
        root = ElementTree.fromstring(svg)
        references = set(re.findall(r"(?:url\(|href=\")#([\w-]+)", svg))
        assert references <= {element.get("id") for element in root.iter()}
        assert "viewBox" in root.attrib
        assert "height" not in root.attrib


def test_sections_in_order(page: str) -> None:
    assert re.findall(r"<h2>(.*?)</h2>", page) == [
        "The frontier", "Conditions", "Coverage against outcome", "Scores and verdicts",
        "What an unmasked target guarantees", "One record",
        "Extraction by kind of value", "The attacker&#x27;s budget",
        "Beside the paper&#x27;s tables", "Stages", "What this does not say",
    ]  # fmt: skip
    text = parsed(page).text
    assert "continued pretraining of the base model on packed text, here a small GPT-2" in text
    assert "Target tokens are less surprising than the rest." in text
    assert "of 9 targets 7 are masked at least in part" in text
    assert all(number in text for number in ("-9.500", "-20.000", "20.000"))
    assert "attacked 72 times (24 canaries, 3 seeds)" in text


def test_frontier_names_every_trained_condition(prototype: SimpleNamespace) -> None:
    texts = "".join(ElementTree.fromstring(frontier_svg(load_results(prototype.run, prototype.home))).itertext())
    for name in ("unmasked", "oracle", "SM50", "SM70", "SM90", "SM95", "random95", "goldfish3", "chance floor"):
        assert name in texts


def test_strip_has_shapes_and_no_text(tiny: SimpleNamespace) -> None:
    page = write_report(tiny.run, tiny.home).read_text(encoding="utf-8")
    strip = ElementTree.fromstring(next(svg for svg in svgs(page) if "Tokens of one record" in svg))
    assert "".join(strip.itertext()) == ""
    shapes = [element.attrib for element in strip]
    assert len(shapes) == 5  # four tokens, one of them a target
    assert [shape["width"] for shape in shapes] == ["23", "5", "29", "29", "17"]
    assert [shape["fill"] for shape in shapes][1] == "#ffffff"  # no score
    assert ["stroke" in shape for shape in shapes] == [False, False, True, False, False]
    assert shapes[2]["fill"] == "#004488"  # the most surprising


def test_two_writes_are_equal_in_every_byte(tiny: SimpleNamespace) -> None:
    write_report(tiny.run, tiny.home)
    first = {path.name: path.read_bytes() for path in tiny.run.folder.iterdir()}
    script = (
        "from pathlib import Path; from sm_ops.core.home import Run; "
        "from sm_ops.report.surprise.html import write_report; "
        f"write_report(Run.load(Path({str(tiny.run.folder)!r})), Path({str(tiny.home)!r}))"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
    assert first == {path.name: path.read_bytes() for path in tiny.run.folder.iterdir()}
    tables = {*TABLES, "table_4", "table_7", "table_8", "correlations"} - {"by_quirk", "by_family", "detectors"}
    assert first.keys() == {
        *(f"{name}.csv" for name in tables), "report.html", "frontier.svg", "results.json", "run.json"
    }  # fmt: skip


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """A run with adapters whose canaries are named by their values and whose kinds look like markup."""
    made = fake_runs.make_tiny(
        tmp_path_factory.mktemp("odd") / "home",
        ids=tuple(f"{fake_runs.SECRET}-{number}" for number in range(3)),
        kinds=("<script>alert(1)</script>", "a&b", "c"),
        lora_q_proj=4,
        lora_v_proj=4,
        lora_trainable_parameters=12345,
    )
    write_report(made.run, made.home)
    return made


def test_values_never_appear(odd: SimpleNamespace) -> None:
    for path in odd.run.folder.iterdir():
        assert fake_runs.SECRET not in path.read_text(encoding="utf-8")
    canaries = next((odd.home / "restricted").rglob("canaries.jsonl"))
    assert fake_runs.SECRET in canaries.read_text(encoding="utf-8")


def test_names_are_escaped(odd: SimpleNamespace) -> None:
    page = (odd.run.folder / "report.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "a&amp;b" in page
    assert "for &lt;3" in page  # the verdict's own words


def test_adapters_are_named(odd: SimpleNamespace) -> None:
    assert load_results(odd.run, odd.home)["lora"] == {"q_proj": 4, "v_proj": 4, "trainable_parameters": 12345}
    text = parsed((odd.run.folder / "report.html").read_text(encoding="utf-8")).text
    assert "Adapters on 4 q_proj, 4 v_proj layers; 12,345 trainable parameters." in text


def test_undefined_numbers_are_drawn_as_dashes(tmp_path: Path) -> None:
    made = fake_runs.make_tiny(tmp_path / "home", ids=(), tokens=())
    page = write_report(made.run, made.home).read_text(encoding="utf-8")
    assert "nan" not in parsed(page).text.lower()
    assert '<th scope="row">unmasked</th><td>-</td><td>-</td><td>-</td>' in page


def test_csv_rows_are_flat(tiny: SimpleNamespace) -> None:
    write_report(tiny.run, tiny.home)
    with (tiny.run.folder / "rows.csv").open(encoding="utf-8", newline="") as stream:
        rows = {row["condition"]: row for row in csv.DictReader(stream)}
    assert rows["unmasked"]["extraction_approx_k"] == "4"
    assert rows["SM95"]["exposed_canaries_n"] == "3"
    assert rows["base"]["budget_tokens"] == ""


def test_trainings_are_told_where_they_differ(tmp_path: Path) -> None:
    counts = {"records": 40, "records_dropped": 8, "records_cut": 0, "records_without_loss": 0, "effective_passes": 2.5}
    fake = fake_runs.make_tiny(tmp_path / "home", intervention="clip", mean_multiplier=0.0701, **counts)
    text = parsed(write_report(fake.run, fake.home).read_text()).text
    assert "0.0701" in text
    assert "Multiplier" in text
    plain = fake_runs.make_tiny(tmp_path / "other", intervention="loss", mean_multiplier=None, **counts)
    assert "Multiplier" not in parsed(write_report(plain.run, plain.home).read_text()).text
