"""The documents speak of what is there: functions, files, links, commands, records, settings, examples."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import typer
from driving import ROOT

from sm_ops.cli import app
from sm_ops.core.config import load_pipeline
from sm_ops.core.tokens import Tokens
from sm_ops.data.audit import audit
from sm_ops.data.records import read_records

pytestmark = pytest.mark.unit

PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"))
}
FOLDERS = ("sm_ops", "flows", "configs", "infra", "tests", "docs", "benchmarks")
GAPS = ("...", "…")


def blocks(page: str, language: str) -> list[str]:
    """Fenced blocks of a page that name a language, or none."""
    return re.findall(rf"^```{language}\n(.*?)^```", PAGES[page], re.DOTALL | re.MULTILINE)


def inline(page: str) -> list[str]:
    """What stands in single backticks outside fenced blocks."""
    return re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", PAGES[page], flags=re.DOTALL | re.MULTILINE))


# ---- functions -----------------------------------------------------------------------------------------

ENTRIES = sorted({text for page in PAGES for text in inline(page) if re.fullmatch(r"[\w/]+\.py:[\w.]+", text)})


def defined(path: Path) -> set[str]:
    """Names that a module defines at its top level, and `Class.member`."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        names = _names(node)
        found |= names
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{name}" for inner in node.body for name in _names(inner)}
    return found


def _names(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return {target.id for target in targets if isinstance(target, ast.Name)}


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_function_is_there(entry):
    file, _, name = entry.partition(":")
    assert name in defined(ROOT / file)


def test_the_paper_index_speaks_of_every_rule(shared):
    """Each rule number of the specification is either in the code or on the list of later work."""
    spec = shared / "spec" / "masking-and-attacks.md"
    text = re.sub(
        r"OP-(\d+) to OP-(\d+)",
        lambda m: " ".join(f"OP-{n:02d}" for n in range(int(m[1]), int(m[2]) + 1)),
        PAGES["docs/paper_index.md"],
    )
    assert set(re.findall(r"OP-\d+", spec.read_text())) == set(re.findall(r"OP-\d+", text))


def test_the_paper_index_speaks_of_every_rule_for_documents(shared):
    rules = re.findall(r"\*\*([RG]\d+)", (shared / "spec" / "pii.md").read_text(encoding="utf-8"))
    assert len(set(rules)) == 31 + 12
    assert set(rules) <= set(re.findall(r"\b[RG]\d+\b", PAGES["docs/paper_index.md"]))


# ---- links and files -----------------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES)
def test_links_and_files_exist(page):
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", PAGES[page])
    missing = [link for link in links if "://" not in link and not (ROOT / page).parent.joinpath(link).exists()]
    paths = [re.split(r":\w", text)[0] for text in inline(page) if text.split("/")[0] in FOLDERS and "/" in text]
    missing += [path for path in paths if " " not in path and not (ROOT / path).exists()]
    assert missing == []


# ---- commands ------------------------------------------------------------------------------------------


def commands(page: str) -> list[str]:
    """Command lines of a page that call `sm-ops`; those in prose may leave parts out."""
    lines = [line.strip() for block in blocks(page, r"\w*") for line in block.splitlines()]
    lines += [text for text in inline(page) if not any(gap in text for gap in GAPS)]
    found = (re.fullmatch(r"(?:\$ )?(?:[A-Z_]+=\S+ )*(?:\S*/)?(sm-ops(?: .*)?)", line) for line in lines)
    return [match[1] for match in found if match]


COMMANDS = sorted({(page, line) for page in PAGES for line in commands(page)})


@pytest.mark.parametrize(("page", "line"), COMMANDS)
def test_every_command_line_parses(page, line):
    words = shlex.split(line.partition(" > ")[0], comments=True)[1:]
    command: Any = typer.main.get_command(app)
    while words and not words[0].startswith("-") and hasattr(command, "resolve_command"):
        with command.make_context("sm-ops", list(words)) as context:
            _, command, words = command.resolve_command(context, words)
    assert command.make_context(line, list(words))


# ---- examples ------------------------------------------------------------------------------------------


def test_example_records_are_read(tmp_path):
    (block,) = blocks("docs/how-to/own-data.md", "jsonl")
    (tmp_path / "own.jsonl").write_text(block)
    labelled = [r.content[start:end] for r in read_records(tmp_path / "own.jsonl") for start, end, _ in r.content_spans]
    assert labelled == ["mlindq_x4k9", "mlindq_x4k9"]


SETTINGS = [(page, block) for page in PAGES for block in blocks(page, "yaml")]


@pytest.mark.parametrize(("page", "block"), SETTINGS)
def test_example_settings_are_valid(page, block, tmp_path):
    (tmp_path / "example.yaml").write_text(block)
    load_pipeline(str(tmp_path / "example.yaml"))


def example(page: str, name: str) -> dict[str, Any]:
    """The one Python example of a page that defines `name`, executed."""
    (block,) = [block for block in blocks(page, "python") if f"def {name}(" in block]
    space: dict[str, Any] = {}
    exec(block, space)
    return space


def test_the_example_dataset_passes_the_audit():
    counts = ("repetitions", "identities", "clean", "utility", "reference")
    counts += ("calibration_identities", "calibration_clean")
    settings = SimpleNamespace(**dict.fromkeys(counts, 3))
    generate = example("docs/how-to/new-member.md", "generate")["generate"]
    dataset = generate(settings, 0)
    assert audit(dataset) == []
    assert dataset.splits == generate(settings, 0).splits
    assert len(dataset.canaries) == 3


def test_the_example_baseline_masks_eligible_tokens_alone():
    mask = example("docs/how-to/new-member.md", "mask")["mask"]
    zeros, special = np.zeros(6, np.int64), np.array([1, 0, 0, 0, 0, 0], bool)
    (chosen,) = mask([None], [Tokens(zeros, zeros, zeros, special, np.ones(6, bool))], k=2)
    assert chosen.tolist() == [False, False, True, False, True, False]


def test_the_example_rule_calibrates_as_it_selects():
    rule = example("docs/architecture.md", "select")
    scores = np.array([0.5, 1.0, np.nan, 1.5])
    levels = rule["levels"](scores)
    for tau in (0.4, 0.5, 1.0, np.nextafter(1.0, 2), 1.5):
        assert (rule["select"](scores, tau=tau) == (levels >= tau)).all()
