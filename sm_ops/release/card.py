"""The dataset card of a release: README.md with the YAML head that the Hugging Face hub reads.

Head: https://github.com/huggingface/hub-docs/blob/main/datasetcard.md. What people wrote is text here, never markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import PurePosixPath
from typing import Any

import yaml

from sm_ops.release import words
from sm_ops.release.about import About
from sm_ops.release.facts import Facts

Json = dict[str, Any]

RED = "#b00020"
_SIZES = ("n<1K", "1K<n<10K", "10K<n<100K", "100K<n<1M", "1M<n<10M", "10M<n<100M", "100M<n<1B", "1B<n<10B", "n>10B")
_LICENCES = (
    "afl-3.0 agpl-3.0 apache-2.0 artistic-2.0 bsd-2-clause bsd-3-clause bsd-3-clause-clear bsl-1.0 cc0-1.0 cc-by-2.0 "
    "cc-by-2.5 cc-by-3.0 cc-by-4.0 cc-by-nc-2.0 cc-by-nc-3.0 cc-by-nc-4.0 cc-by-nc-nd-3.0 cc-by-nc-nd-4.0 "
    "cc-by-nc-sa-2.0 cc-by-nc-sa-3.0 cc-by-nc-sa-4.0 cc-by-nd-4.0 cc-by-sa-3.0 cc-by-sa-4.0 cdla-permissive-1.0 "
    "cdla-permissive-2.0 cdla-sharing-1.0 ecl-2.0 epl-1.0 epl-2.0 etalab-2.0 eupl-1.1 eupl-1.2 gpl-2.0 gpl-3.0 isc "
    "lgpl-2.1 lgpl-3.0 lppl-1.3c mit mpl-2.0 ms-pl ncsa odbl odc-by ofl-1.1 osl-3.0 pddl postgresql unlicense wtfpl "
    "zlib"
)
"""Licences that the hub has a name for, of those in the SPDX list."""


def card(facts: Facts) -> str:
    """The whole card."""
    about = facts.about
    parts = (
        f"# {text(about.title)}",
        _alarms(facts),
        text(about.description),
        _table(("", ""), words.overview(facts)),
        _section("How it was made", _list(words.how_made(facts))),
        _section("Evidence", *_evidence(facts)),
        _section("Checks", text(words.verdict(facts)), _checks(facts), text(words.conditions_of_publication(facts))),
        _section("What was not measured", _list(facts.not_measured)),
        _section("What its makers say", *_said(facts)),
        _section("Sources and licences", _sources(facts)),
        _section("How to verify it", _code(words.VERIFY), text(words.VERIFY_NOTE), _files(facts)),
    )
    head = yaml.safe_dump(_head(facts), sort_keys=False, allow_unicode=True, width=10_000)
    return f"---\n{head}---\n\n" + "\n\n".join(part for part in parts if part) + "\n"


# ---- the head ------------------------------------------------------------------------------------------


def _head(facts: Facts) -> Json:
    about = facts.about
    told: Json = {
        "pretty_name": about.title,
        "language": list(about.languages),
        **_licence(about),
        "size_categories": [_size(facts.rows)],
        "tags": [*about.tags, "croissant", "sm-ops", facts.manifest["method"]],
        "configs": list(_configs(facts)),
    }
    return {name: value for name, value in told.items() if value}


def _licence(about: About) -> Json:
    """By the hub's own name where it has one."""
    if about.licence is None:
        return {}
    plain = re.sub(r"-(only|or-later)$", "", about.licence.lower())
    for name in (plain, plain.removesuffix("-1.0")):  # ODC-By-1.0, ODbL-1.0, PDDL-1.0 are named without a version
        if name in _LICENCES.split():
            return {"license": name}
    return {"license": "other", "license_name": re.sub(r"[^a-z0-9.]+", "-", about.licence.lower()).strip("-")}


def _size(rows: int) -> str:
    return _SIZES[sum(rows >= 10**power for power in range(3, 11))]


def _configs(facts: Facts) -> Iterator[Json]:
    """Shards of the same columns are loaded together; the parts of a split are one split."""
    groups: dict[tuple[str, ...], dict[str, list[str]]] = {}
    for shard in facts.shards:
        splits = groups.setdefault(facts.columns.get(shard["path"], ()), {})
        splits.setdefault(_split(PurePosixPath(shard["path"]).stem), []).append(shard["path"])
    for number, splits in enumerate(groups.values(), start=1):
        name = f"part-{number}" if len(groups) > 1 else "default"
        files = [
            {"split": split, "path": paths[0] if len(paths) == 1 else sorted(paths)} for split, paths in splits.items()
        ]
        yield {"config_name": name, "data_files": files}


def _split(stem: str) -> str:
    """`train` of `train`, `train-00001` and `train-00000-of-00002`; the hub's names have no other signs."""
    return re.sub(r"\W+", "_", re.sub(r"-\d+(-of-\d+)?$", "", stem))


# ---- the body ------------------------------------------------------------------------------------------


def _alarms(facts: Facts) -> str:
    """What a reader must not miss, in red where HTML is shown and in words everywhere."""
    alarming = [finding for finding in words.findings(facts) if finding.alarming]
    if not alarming:
        return ""
    lines = [f"> {_red(each.word)} {_line(each.name)}: {_line(each.sentence)}" for each in alarming]
    return "> [!CAUTION]\n" + "\n>\n".join(lines)


def _red(word: str) -> str:
    return f'<span style="color:{RED}">**{word}**</span>'


def _evidence(facts: Facts) -> Iterator[str]:
    found = words.tables(facts)
    for table in found:
        yield f"### {text(table.title)}"
        yield _table(table.header, table.rows)
        yield _line(table.note)
    if facts.frontier is not None:
        yield "![Leakage against utility](frontier.svg)"
    if not found:
        yield "No evidence was collected."


def _checks(facts: Facts) -> str:
    rows = [
        (_red(each.word) if each.alarming else each.word, _line(each.name), _line(each.sentence), _line(each.numbers))
        for each in words.findings(facts)
    ]
    return _grid(("outcome", "check", "what was found", "numbers"), rows) if rows else ""


def _said(facts: Facts) -> Iterator[str]:
    for heading, sentences in words.said(facts):
        yield f"### {heading}"
        yield text(sentences[0]) if len(sentences) == 1 else _list(sentences)
    if facts.about.citation:
        yield "### Citation"
        yield _code(facts.about.citation.splitlines())


def _sources(facts: Facts) -> str:
    rows = words.source_rows(facts)
    return _table(("source", "licence", "address"), rows) if rows else "No source is named."


def _files(facts: Facts) -> str:
    rows = words.file_rows(facts)
    return _table(("file", "records", "bytes", "SHA-256"), rows) + f"\n\n{_line(words.builder(facts))}"


# ---- Markdown ------------------------------------------------------------------------------------------


def text(value: str) -> str:
    """Text as Markdown that shows it as it is; line breaks and paragraphs stay."""
    return re.sub(r"\n{3,}", "\n\n", "\n".join(map(_escaped, value.splitlines())))


def _line(value: str) -> str:
    """Text in one line, as a cell or an item of a list."""
    return _escaped(" ".join(value.split()))


def _escaped(line: str) -> str:
    """One line in which no sign is markup: neither Markdown's, nor HTML's, nor that of formulas."""
    line = re.sub(r"[\\`*\[\]|~$]|(?<![^\W_])_|_(?![^\W_])", r"\\\g<0>", line.strip())
    line = re.sub(r"^(?=#|[-+](\s|$)|--|=|:-)", r"\\", line)  # headings, lists, rules and rows of tables
    line = re.sub(r"^(\d+)(?=[.)](\s|$))", r"\1\\", line)
    return escape(line, quote=False)


def _section(title: str, *parts: str) -> str:
    return "\n\n".join([f"## {title}", *(part for part in parts if part)])


def _list(sentences: Iterable[str]) -> str:
    return "\n".join(f"- {_line(sentence)}" for sentence in sentences)


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return _grid(header, [[_line(cell) for cell in row] for row in rows])


def _grid(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _code(lines: Iterable[str]) -> str:
    """Lines to be copied, as an indented block that nothing within can end."""
    return "\n".join(f"    {line}".rstrip() for line in lines)
