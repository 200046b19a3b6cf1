"""The report of a release: one page without scripts that needs no other file."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from html import escape

from sm_ops.release import words
from sm_ops.release.facts import Facts
from sm_ops.report import page as html
from sm_ops.report.surprise.words import conditions_table, headline


def page(facts: Facts) -> str:
    """The whole page."""
    manifest = facts.manifest
    sections = (
        _alarms(facts),
        html.section("What it is", _paragraphs(facts.about.description), _overview(facts)),
        html.section("How it was made", html.item_list(words.how_made(facts))),
        html.section("Evidence", *_evidence(facts)),
        html.section(
            "Checks",
            _paragraphs(words.verdict(facts)),
            _checks(words.findings(facts)),
            html.remark(words.conditions_of_publication(facts)),
        ),
        html.section("What was not measured", html.item_list(facts.not_measured)),
        html.section("What its makers say", *_said(facts)),
        html.section("Sources and licences", _sources(facts)),
        html.section("How to verify it", *_verify(facts)),
    )
    title = f"{facts.about.title}: {manifest['release']}"
    return html.page(title, f"Built {manifest['created']}. {words.verdict(facts)}", filter(None, sections))


def _overview(facts: Facts) -> str:
    return html.html_table(("", ""), words.overview(facts), narrow=True)


def _alarms(facts: Facts) -> str:
    alarming = [finding for finding in words.findings(facts) if finding.alarming]
    return f'<section class="alarm">{_checks(alarming)}</section>' if alarming else ""


def _checks(found: list[words.Finding]) -> str:
    """Outcomes as a list, which a narrow screen shows better than a table."""
    items = (
        f'<li><span class="{_class(each)}">{escape(each.word)}</span> '
        f"<span><strong>{escape(each.name)}</strong>: {escape(each.sentence)}</span>"
        f'<span class="note">{escape(each.numbers)}</span></li>'
        for each in found
    )
    return f'<ul class="claims">{"".join(items)}</ul>' if found else ""


def _class(finding: words.Finding) -> str:
    return "red" if finding.alarming else {"passes": "holds", "warns": "fails"}.get(finding.word, "undefined")


def _evidence(facts: Facts) -> Iterator[str]:
    if facts.frontier is not None:
        drawn = base64.b64encode(facts.frontier.encode()).decode()  # as an image no script within can run
        picture = f'<img src="data:image/svg+xml;base64,{drawn}" alt="Leakage against utility">'
        yield html.figure(picture, "Leakage against utility, by condition of the run that the release comes from.")
    found = words.tables(facts)
    for table in found:
        yield f"<h3>{escape(table.title)}</h3>"
        yield html.html_table(table.header, table.rows, narrow=True)
        yield html.remark(table.note) if table.note else ""
    run = facts.evidence.get("run", {})
    if run.get("claims"):
        yield f"<h3>What the run shows</h3>{html.claim_list(run['claims'])}"
    if run.get("rows"):
        every = html.html_table(*conditions_table(headline(run["rows"]), run["rows"]))
        yield f"<details><summary>Conditions of the run</summary>{every}</details>"
    if not found:
        yield html.remark("No evidence was collected.")


def _said(facts: Facts) -> Iterator[str]:
    for heading, sentences in words.said(facts):
        body = _paragraphs(sentences[0]) if len(sentences) == 1 else html.item_list(sentences)
        yield f"<h3>{escape(heading)}</h3>{body}"
    if facts.about.citation:
        yield f"<h3>Citation</h3><pre>{escape(facts.about.citation)}</pre>"


def _sources(facts: Facts) -> str:
    rows = words.source_rows(facts)
    return html.html_table(("source", "licence", "address"), rows) if rows else html.remark("No source is named.")


def _verify(facts: Facts) -> Iterator[str]:
    yield f"<pre>{escape(chr(10).join(words.VERIFY))}</pre>"
    yield html.remark(words.VERIFY_NOTE)
    yield html.html_table(("file", "records", "bytes", "SHA-256"), words.file_rows(facts))
    yield html.remark(words.builder(facts))


def _paragraphs(text: str) -> str:
    return "".join(f"<p>{escape(each)}</p>" for each in text.split("\n\n"))
