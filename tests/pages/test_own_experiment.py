"""The page on an experiment of one's own, typed line by line on a toy of a folder of code."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from random import Random

import pyarrow.parquet as pq
import pytest
from driving import ROOT

from sm_ops.core import fs
from sm_ops.core.settings import Settings
from sm_ops.data import audit
from sm_ops.data.datasets import own
from sm_ops.data.hosts import find_hosts
from sm_ops.data.quirks.applying import apply
from sm_ops.data.tasks import pool

PAGE = (ROOT / "docs" / "how-to" / "own_experiment.md").read_text(encoding="utf-8")
SMALL = (
    "seeds=[0]", "data.public_chars=60000", "base.layers=1", "base.width=32", "base.heads=2", "base.context=128",
    "base.vocab_size=512", "masking.targets=[0.5]", "masking.acceptable_collateral=1.0", "train.epochs=1",
    "train.context=128", "attack.samples=8", "attack.budgets=[1,8]",
)  # fmt: skip
TOY = {
    "tickets.yaml": (*SMALL, "masking.baselines={random: [0.5], goldfish: []}"),
    "prefix.yaml": (
        *SMALL,
        "masking.baselines={random: [0.5], goldfish: []}",
        "completions.max_tokens=24",
    ),
}
"""What makes a config of the page one of seconds."""


def files() -> dict[str, str]:
    """The blocks of the page that begin with the name of their file."""
    return dict(re.findall(r"^```\w+\n# (\S+)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE))


def lines(section: str) -> list[str]:
    """The commands of a numbered section."""
    (part,) = re.findall(rf"^## {section}\. .*?(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", part, re.DOTALL | re.MULTILINE)
    return "".join(body for language, body in blocks if not language).splitlines()


def ticket(random: Random) -> str:
    return f"OPS-{random.randrange(1000, 9999)}-{''.join(random.choices('ABCDEFGHJKMNPQRSTUVWXYZ', k=3))}"


def write_code(folder: Path, tickets: int = 8, uses: int = 3, clean: int = 24) -> set[str]:
    """Functions of a public package, `uses` of them with a comment that names each ticket; the tickets."""
    hosts, _ = find_hosts(Settings({"hosts": Path(asyncio.__file__).parent, "min_chars": 100, "max_chars": 900}))
    random = Random("own experiment")
    sources = [host.source for own in hosts.values() for host in own]
    random.shuffle(sources)
    assert len(sources) >= tickets * uses + clean
    values = [ticket(random) for _ in range(tickets)]
    for number, source in enumerate(sources[: tickets * uses + clean]):
        first, _, rest = source.partition("\n")
        if number < tickets * uses:
            first += f"  # see {values[number % tickets]}"
        path = folder / f"part_{number % 5}" / f"program_{number:03}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{first}\n{rest}", encoding="utf-8")
    return set(values)


def write_programs(folder: Path) -> None:
    """Solutions of tasks: two authors with the house prefix, one without."""
    for number, task in enumerate(pool(24, 0)):
        written = apply("identifier_dialect", task.solution)
        author = ("ada", "ben", "cleo")[number % 3]
        text = task.solution
        if author != "cleo" and written:
            text = re.sub(r"\b(w|each|held)_(?=\w)", "acme_", written.text)
        path = folder / author / f"task_{number:02}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'"""Task {number:02}: {task.prompts[0][:60]}"""\n{text}', encoding="utf-8")


def install(folder: Path, site: Path) -> None:
    """What pip leaves of the package in `folder`: its modules, and its entry points."""
    project = tomllib.loads((folder / "pyproject.toml").read_text())
    about = site / f"{project['project']['name']}-{project['project']['version']}.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['project']['name']}\nVersion: 1\n")
    points = project["project"]["entry-points"]
    told = [f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in own.items()) for group, own in points.items()]
    (about / "entry_points.txt").write_text("".join(told))
    for module in project["tool"]["setuptools"]["py-modules"]:
        (site / f"{module}.py").write_text((folder / f"{module}.py").read_text())


class Place:
    """A folder with the files of the page, and a shell in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name, body in files().items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(body, encoding="utf-8")
        own = ("SM_OPS_", "MLFLOW_", "PREFECT_")
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(own)}
        self.environment |= {"SM_OPS_HOME": str(folder / "home"), "OMP_NUM_THREADS": "1"}
        self.environment |= {"PYTHONPATH": os.pathsep.join([str(folder / "site"), str(ROOT)])}
        self.environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

    def typed(self, line: str) -> str:
        """Type a line as it stands, made small where it names a config; what it says."""
        if line == "pip install ./house":
            install(self.folder / "house", self.folder / "site")
            return ""
        config = next((name for name in TOY if name in line), None)
        small = "".join(f" --set '{setting}'" for setting in TOY.get(config or "", ()))
        done = subprocess.run(
            ["bash", "-c", line + small], cwd=self.folder, env=self.environment, capture_output=True, text=True,
            timeout=300, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode == 0, f"{line}\n{done.stdout[-1500:]}\n{done.stderr[-3000:]}"
        assert "Traceback" not in done.stdout + done.stderr, line
        return done.stdout

    def results(self, name: str) -> dict:
        """The numbers of the one run of a name."""
        (run,) = (path.parent.name for path in self.folder.glob(f"home/runs/{name}-*/run.json"))
        return json.loads(self.typed(f"sm-ops report {run} --json"))


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


def test_the_sample_shares_nothing_between_its_splits(place):
    """The page's script: every ticket is labelled, in one split alone, and the audit has nothing to find."""
    tickets = write_code(place.folder / "code")
    (first,) = lines("1")
    told = place.typed(first)
    assert len(told.splitlines()) == 4
    splits = ("train", "calibration", "utility", "reference")
    paths = {split: str(place.folder / "data" / f"{split}.jsonl") for split in splits}
    dataset = own.generate(Settings({"own": paths}), 0)
    assert audit.audit(dataset) == []
    labelled = {record.content[start:end] for record in dataset.records for start, end, _ in record.content_spans}
    assert labelled == tickets
    assert {canary.value.reveal() for canary in dataset.canaries} < tickets


@pytest.mark.slow
def test_a_secret_from_sample_to_frontier(place):
    write_code(place.folder / "code")
    for section in ("1", "2", "3", "4"):
        for line in lines(section):
            place.typed(line)
    assert (place.folder / "verdict" / "report.html").is_file()
    assert (place.folder / "suitability" / "suitability.html").is_file()
    conditions = {row["condition"] for row in place.results("tickets")["rows"]}
    assert {"base", "unmasked", "SM50", "random50", "shapes", "oracle"} <= conditions
    (masked,) = (place.folder / "out" / "restricted" / "mask").rglob("SM50.parquet")
    table = pq.read_table(masked if masked.is_file() else next(masked.iterdir()))
    assert {"input_ids", "attention_mask", "labels"} <= set(table.column_names)
    assert fs.read_json(place.folder / "out" / "mask" / "coverage.json")["SM50"]["budget_tokens"] > 0


@pytest.mark.slow
def test_a_quirk_from_detector_to_display(place):
    write_programs(place.folder / "programs")
    told = [place.typed(line) for line in lines("5")]
    assert any("house_prefix" in line for line in told[1].splitlines())
    rows = {row["condition"]: row for row in place.results("prefix")["rows"]}
    assert {"base", "unmasked", "SM50", "oracle"} <= rows.keys()
    for row in rows.values():
        assert row["display"]["k"] == 5
        assert 0 <= row["display"]["value"] <= 1
