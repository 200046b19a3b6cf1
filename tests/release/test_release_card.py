"""What a release says of itself: the card as the hub reads it, the page as a browser does, and nothing as markup."""

from __future__ import annotations

import copy
import shutil
import subprocess
from collections.abc import Mapping
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from release.described import ABOUT, CHATS, EVIDENCE, POLICY, TEXTS, check, checks, described, lines, parquet

from sm_ops.core import fs
from sm_ops.core.errors import InputError
from sm_ops.core.registry import members
from sm_ops.release import card as cards
from sm_ops.release.about import read_about
from sm_ops.release.croissant import croissant
from sm_ops.release.facts import Facts, facts_of
from sm_ops.release.page import page

Json = dict[str, Any]

FOUND = checks(
    check("known_values", "pass", measured={"values": 384, "hits": 0}),
    check("coverage", "fail", sentence="1 of 2 spans is covered.", measured={"share": 0.5}),
    check("round_trip", "not applicable", sentence="No record is reversible."),
    check("duplicates", "fail", sentence="Two are equal.", waived={"by": "ben", "reason": "Templates repeat."}),
    check("remote", "unmeasured", "warn", "No place is named."),
)


def facts(folder: Path, found: Json | None = FOUND, **options: Any) -> Facts:
    """Of a bundle that is written to `folder`, its metadata among it."""
    manifest = described(folder, **options)
    fs.write_json(folder / "croissant.json", croissant(facts_of(folder, manifest=manifest), folder))
    return facts_of(folder, found)


def head(card: str) -> Json:
    start, inner, _ = card.split("---\n", 2)
    assert start == ""
    return yaml.safe_load(inner)


def section(card: str, title: str) -> str:
    return card.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


# ---- about ---------------------------------------------------------------------------------------------


@pytest.mark.unit
@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"title": None}, "title is null"),
        ({"title": "two\nlines"}, "title: it is one line"),
        ({"description": " "}, "description: it is empty"),
        ({"description": "a\x1bb"}, "description: it holds a control character"),
        ({"description": "a\u202eb"}, "description: it holds a control character"),
        ({"licence": "free"}, "licence: it is no SPDX expression"),
        ({"languages": ["english"]}, "languages.0: a language is told by its ISO 639 code"),
        ({"sources": [{"name": "x", "url": "javascript:alert(1)"}]}, "sources.0.url: an address begins with https://"),
        ({"sources": [{"licence": "MIT"}]}, "sources.0.name is missing"),
        ({"licens": "MIT"}, "there is no setting licens; the nearest is licence"),
    ],
)
def test_a_mistake_in_about_is_told_by_its_field(change: Json, told: str) -> None:
    with pytest.raises(InputError) as caught:
        read_about({**ABOUT, **change})
    assert f"about: {told}" in caught.value.hint


@pytest.mark.unit
def test_about_is_read_from_a_file_and_licences_are_written_as_in_the_list(tmp_path: Path) -> None:
    path = tmp_path / "about.yaml"
    path.write_text("title: Notes\ndescription: |\n  One.\n\n  Two.\nlicence: cc-by-4.0\n", encoding="utf-8")
    about = read_about(path)
    assert (about.title, about.description, about.licence, about.sources) == ("Notes", "One.\n\nTwo.", "CC-BY-4.0", ())
    with pytest.raises(InputError, match=r"nothing\.yaml"):
        read_about(tmp_path / "nothing.yaml")
    path.write_text("title: [", encoding="utf-8")
    with pytest.raises(InputError, match=r"about\.yaml"):
        read_about(path)


@pytest.mark.unit
def test_about_comes_back_from_the_config_of_a_bundle_as_it_went_in(tmp_path: Path) -> None:
    about = read_about({"title": "Notes", "description": "Notes.", "sources": [{"name": "desk"}]})
    described(tmp_path, about=about.model_dump(mode="json"))
    assert facts_of(tmp_path).about == about


# ---- the head of the card ------------------------------------------------------------------------------


@pytest.mark.unit
def test_the_hub_reads_the_head(tmp_path: Path) -> None:
    from huggingface_hub import DatasetCard

    shards = {"train.jsonl": lines(TEXTS), "test-00001.jsonl": lines(TEXTS[:1]), "test-00002.jsonl": lines(TEXTS[1:])}
    card = DatasetCard(cards.card(facts(tmp_path, shards=shards)))
    assert card.data.to_dict() == {
        "pretty_name": "Telephone notes",
        "language": ["en"],
        "license": "cc-by-4.0",
        "size_categories": ["n<1K"],
        "tags": ["privacy", "croissant", "sm-ops", "redacted"],
        "configs": [
            {
                "config_name": "default",
                "data_files": [
                    {"split": "test", "path": ["data/test-00001.jsonl", "data/test-00002.jsonl"]},
                    {"split": "train", "path": "data/train.jsonl"},
                ],
            }
        ],
    }


@pytest.mark.unit
@pytest.mark.parametrize(
    ("licence", "told"),
    [
        (None, {}),
        ("ODC-By-1.0", {"license": "odc-by"}),
        ("GPL-3.0-or-later", {"license": "gpl-3.0"}),
        ("MIT AND Apache-2.0", {"license": "other", "license_name": "mit-and-apache-2.0"}),
        ("LicenseRef-Own", {"license": "other", "license_name": "licenseref-own"}),
    ],
)
def test_licences_have_the_hubs_names(tmp_path: Path, licence: str | None, told: Json) -> None:
    found = head(cards.card(facts(tmp_path, about=ABOUT | {"licence": licence})))
    assert {name: value for name, value in found.items() if name.startswith("license")} == told


@pytest.mark.unit
def test_sizes_are_the_hubs_categories(tmp_path: Path) -> None:
    manifest = described(tmp_path)
    for rows, told in {999: "n<1K", 1000: "1K<n<10K", 99_999: "10K<n<100K", 10**10: "n>10B"}.items():
        manifest["files"][0]["rows"] = rows
        assert head(cards.card(facts_of(tmp_path, manifest=manifest)))["size_categories"] == [told]


def test_datasets_loads_what_the_head_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    import datasets

    folder = tmp_path / "bundle"
    shards = {"train.jsonl": lines(TEXTS), "test.jsonl": lines(TEXTS[:1]), "talk.jsonl": lines(CHATS)}
    fs.write_atomic(folder / "README.md", cards.card(facts(folder, shards=shards)).encode())
    texts = datasets.load_dataset(str(folder), "part-2", cache_dir=str(tmp_path / "cache"))
    assert {split: len(rows) for split, rows in texts.items()} == {"train": 3, "test": 1}
    assert texts["test"][0] == TEXTS[0]
    talks = datasets.load_dataset(str(folder), "part-1", split="talk", cache_dir=str(tmp_path / "cache"))
    assert talks[0] == CHATS[0]


# ---- what is told --------------------------------------------------------------------------------------


@pytest.mark.unit
def test_evidence_is_told_with_counts_and_intervals(tmp_path: Path) -> None:
    found = section(cards.card(facts(tmp_path)), "Evidence")
    for line in (
        "| name | 2 of 2 | 100.0 % |",
        "| all, by the rule alone | 1 of 2 | 50.0 % |",
        r"| SM95 | 1.4 % \[0.2, 7.5\] (1 of 72) | 0.0 % \[0.0, 13.8\] (0 of 72) |",
        r"| trained without masks | 94.4 % \[84.2, 98.2\] (68 of 72) | 50.0 % \[38.7, 61.3\] (36 of 72) |",
        "By prefix extraction on models that were trained on the records of the run, 128 samples a canary, 3 training "
        "seeds, 24 canaries, each one cluster. Brackets are 95 % intervals.",
        "| SM95 | 3.804 ± 0.002 | +2.3 % |",
        "| AUROC of private against other tokens | 0.949 |",
        "Verdict: suitable. It separates well.",
        "![Leakage against utility](frontier.svg)",
    ):
        assert f"\n{line}\n" in f"\n{found}\n"


@pytest.mark.unit
def test_utility_is_the_likelihood_that_the_report_names(tmp_path: Path) -> None:
    own = {"likelihood": "completion_nll", "completion_nll": 1.25, "completion_nll_se": 0.0, "tasks": True, "seeds": 2}
    card = cards.card(facts(tmp_path, evidence=EVIDENCE | {"utility": {"condition": "SM50", **own}}))
    assert "| condition | NLL of answers | against unmasked training |" in card
    assert "| SM50 | 1.250 ± 0.000 |" in card
    assert "NLL of answers: the mean over the right answers to held-out prompts" in card
    assert "not by tasks" not in card


@pytest.mark.unit
def test_the_page_shows_what_the_run_found(tmp_path: Path) -> None:
    rate = {"k": 1, "n": 4, "low": 0.046, "high": 0.699}
    row = {"condition": "SM95", "extraction_approx": rate, "extraction_exact": rate, "nll": 3.5, "nll_se": 0.25}
    row |= {"budget_tokens": 1200, "target_coverage": 0.9, "collateral_rate": 0.1}
    claim = {"sentence": "SM95 leaks <less>.", "detail": "by far", "passed": True}
    shown = page(facts(tmp_path, evidence=EVIDENCE | {"run": {"rows": [row], "claims": [claim]}}))
    assert '<span class="holds">holds</span> <span>SM95 leaks &lt;less&gt;.</span>' in shown
    cells = ("25.0\N{NO-BREAK SPACE}% [4.6, 69.9]", "3.500 ± 0.250", "1,200", "90.0\N{NO-BREAK SPACE}%")
    assert [cell for cell in cells if f"<td>{cell}</td>" not in shown] == []


@pytest.mark.unit
def test_how_it_was_made_is_told_in_sentences(tmp_path: Path) -> None:
    assert section(cards.card(facts(tmp_path)), "How it was made").strip().splitlines() == [
        "- Redacted: private text was replaced and cannot be restored from the release.",
        "- Notes of the desk were redacted.",
        "- 2 of 3 records were changed in 2 places.",
        "- 12 of 48 characters were replaced (25.0 %).",
    ]


@pytest.mark.unit
def test_failed_and_waived_checks_come_first_in_red_and_in_words(tmp_path: Path) -> None:
    described_facts = facts(tmp_path)
    card, shown = cards.card(described_facts), page(described_facts)
    red = '<span style="color:#b00020">**{}**</span>'
    top = card.split("\n## ", 1)[0]
    assert f"> [!CAUTION]\n> {red.format('FAILS')} coverage: 1 of 2 spans is covered." in top
    assert f"> {red.format('WAIVED')} duplicates: Two are equal. Waived by ben: Templates repeat." in top
    rows = [line.split(" | ")[:2] for line in section(card, "Checks").splitlines() if line.startswith("| ")][2:]
    assert rows == [
        [f"| {red.format('FAILS')}", "coverage"],
        [f"| {red.format('WAIVED')}", "duplicates"],
        ["| not measured", "remote"],
        ["| passes", "known_values"],
        ["| does not apply", "round_trip"],
    ]
    assert "This release may not be published: 1 check stops it. 1 check failed and was waived." in card
    for word, name in (("FAILS", "coverage"), ("WAIVED", "duplicates")):
        assert f'<span class="red">{word}</span> <span><strong>{name}</strong>' in shown
    assert shown.index("WAIVED") < shown.index("<h2>")


@pytest.mark.unit
def test_an_unmeasured_check_that_blocks_is_alarming_too(tmp_path: Path) -> None:
    found = checks(check("known_values", "unmeasured", sentence="The sources are not here."))
    card = cards.card(facts(tmp_path, found))
    assert "> [!CAUTION]" in card
    assert "**NOT MEASURED**</span> known_values: The sources are not here." in card
    assert "1 check stops it" in card


@pytest.mark.unit
def test_what_passes_raises_no_alarm(tmp_path: Path) -> None:
    told = facts(tmp_path, checks(check("coverage", "pass"), check("remote", "fail", "warn")))
    assert "CAUTION" not in cards.card(told)
    assert "Every check that could stop this release passes." in cards.card(told)
    assert 'class="alarm"' not in page(told)
    assert 'class="red"' not in page(told)
    assert "The checks have not run." in cards.card(facts(tmp_path, None))


NO_LABELS = EVIDENCE["redaction"] | {"spans": None, "by_label": {}}


@pytest.mark.unit
@pytest.mark.parametrize(
    ("evidence", "told", "untold"),
    [
        (EVIDENCE, "No model was trained on the released text itself and attacked", "Nobody labelled"),
        ({}, "No model was trained and attacked: what a model learns", "Utility was measured"),
        (EVIDENCE | {"redaction": NO_LABELS}, "Nobody labelled private values", "Private values that nobody labelled"),
        ({}, "Private values that nobody labelled: coverage is counted over labelled spans", "Nobody labelled"),
        (EVIDENCE, "Private values that nobody labelled: coverage is counted over labelled spans", "ran on a CPU"),
        ({"redaction": NO_LABELS}, "What the treatment costs a model that learns from this data was not", "CPU"),
        (EVIDENCE | {"extraction": {"device": "cpu"}}, "ran on a CPU; whether a GPU", "Nobody"),
        (EVIDENCE, "Nothing was measured in other languages than en.", "languages of the text are not stated"),
    ],
)
def test_what_is_absent_from_the_evidence_was_not_measured(
    tmp_path: Path, evidence: Mapping[str, Json], told: str, untold: str
) -> None:
    found = section(cards.card(facts(tmp_path, evidence=evidence)), "What was not measured")
    assert told in found
    assert untold not in found


@pytest.mark.unit
def test_that_nobody_labelled_anything_is_said_where_it_was_found(tmp_path: Path) -> None:
    found = checks(check("coverage", "unmeasured", sentence="No spans.", measured={"spans": 0}))
    card = cards.card(facts(tmp_path, found, evidence={}))
    assert "Nobody labelled private values" in section(card, "What was not measured")


@pytest.mark.unit
def test_checks_that_did_not_measure_or_were_not_asked_for_are_named(tmp_path: Path) -> None:
    found = section(cards.card(facts(tmp_path)), "What was not measured")
    assert "- Check round_trip, not applicable: No record is reversible." in found
    assert "- Check remote, unmeasured: No place is named." in found
    left_out = sorted(set(members("check")) - {"canaries"})
    assert f"- The policy does not ask for these checks: {', '.join(left_out)}." in found
    everything = POLICY | {"checks": {name: {} for name in members("check")}}
    assert "does not ask" not in cards.card(facts(tmp_path / "all", policy=everything))


@pytest.mark.unit
def test_what_makers_leave_unsaid_is_said(tmp_path: Path) -> None:
    card = cards.card(facts(tmp_path, about={"title": "Notes", "description": "Notes."}))
    assert (
        "intended use, not for, known limits, biases, private information in the sources, collection, labels, "
        "maintenance." in section(card, "What its makers say")
    )
    assert "No source is named." in section(card, "Sources and licences")
    assert "| Licence | not stated |" in card
    assert r"| Old notes | not stated | \- |" in cards.card(facts(tmp_path / "full"))


@pytest.mark.unit
def test_shards_are_told_with_the_digests_to_compare(tmp_path: Path) -> None:
    told = facts(tmp_path)
    digest = fs.file_hash(tmp_path / "data/train.jsonl")
    assert f"| data/train.jsonl | 3 | {(tmp_path / 'data/train.jsonl').stat().st_size} | {digest} |" in cards.card(told)
    for text in (cards.card(told), page(told)):
        assert digest in text
        assert "sm-ops release verify . --approvers approvers.yaml" in text
        assert "ab" * 32 in text


@pytest.mark.unit
@pytest.mark.parametrize("method", ["reversible", "scrubbed"])
def test_other_methods_say_whether_values_can_come_back(tmp_path: Path, method: str) -> None:
    rate = {"k": 3, "n": 3, "low": None, "high": None}
    evidence = {"restoration": {"mapped": rate}} if method == "reversible" else {}
    card = cards.card(facts(tmp_path, evidence=evidence, method=method, frontier=None))
    told = {"reversible": "only who may read the vault can restore the text", "scrubbed": "nothing was kept that could"}
    assert told[method] in card
    row = "the vault has the mappings, made for exactly this text | 3 of 3 | 100.0 % |"
    assert (row in card) == (method == "reversible")
    assert "frontier.svg" not in card


@pytest.mark.unit
def test_card_and_page_depend_on_the_bundle_alone(tmp_path: Path) -> None:
    one, two = facts(tmp_path / "one"), facts(tmp_path / "two")
    assert cards.card(one) == cards.card(two)
    assert page(one) == page(two)
    assert str(tmp_path) not in cards.card(one) + page(one)


# ---- nothing is markup ---------------------------------------------------------------------------------

HOSTILE = (
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "&lt;b&gt; &amp;",
    "![p](https://evil.example/p.png)",
    "[a](javascript:alert(1)) <https://evil.example> <!-- x",
    "| a | b |",
    "# heading",
    "---",
    "===",
    "- item",
    "+ item",
    "* item",
    "1. item",
    "12) item",
    "> quote",
    "```",
    "~~~ ~~gone~~",
    "    code `x` **bold** __bold__ _it_ \\",
    ":--",
    "$$x$$",
    "license: evil",
    "\"quotes\" & 'marks': {a: b} %",
)
ALL = "\n".join(HOSTILE)


def hostile(folder: Path) -> Facts:
    """A bundle in which people wrote nothing but markup, wherever they may write."""
    single = " ".join(HOSTILE[:5])
    about = copy.deepcopy(ABOUT) | {
        "title": single[:200],
        "description": ALL,
        "limits": list(HOSTILE),
        "collection": ALL,
        "contact": single[:200],
        "creator": HOSTILE[0],
        "tags": ["a: b # c", "---"],
        "sources": [{"name": each} for each in HOSTILE],
        "citation": f"{ALL}\n```\n</pre><script>alert(2)</script>",
    }
    evidence = copy.deepcopy(EVIDENCE)
    evidence["redaction"] |= {"by_label": {each: {"k": 1, "n": 1} for each in HOSTILE}, "placeholder": HOSTILE[0]}
    waived = {"by": HOSTILE[1], "reason": ALL}
    second = check("<b>x</b>", "fail", sentence=HOSTILE[5])
    found = checks(check("coverage", "fail", sentence=ALL, waived=waived), second)
    return facts(folder, found, about=about, evidence=evidence)


@pytest.mark.unit
def test_markup_of_people_is_text_on_the_card(tmp_path: Path) -> None:
    told = hostile(tmp_path)
    card = cards.card(told)
    start, inner, body = card.split("---\n", 2)
    found = yaml.safe_load(inner)
    assert (start, found["pretty_name"], found["tags"][:2]) == ("", told.about.title, ["a: b # c", "---"])
    assert found["license"] == "cc-by-4.0"
    markdown = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    plain = facts(tmp_path / "plain", checks(check("coverage", "pass")))
    expected = cards.card(plain).split("---\n", 2)[2]

    def headings(text: str) -> list[str]:
        tokens = markdown.parse(text)
        return [after.content for token, after in pairwise(tokens) if token.type == "heading_open"]

    assert headings(body)[1:] == headings(expected)[1:]
    kinds, images, html = set(), [], set()
    for token in markdown.parse(body):
        kinds.add(token.type)
        for each in token.children or ():
            kinds.add(each.type)
            images += [each.attrs["src"]] if each.type == "image" else []
            html |= {each.content} if each.type == "html_inline" else set()
    assert images == ["frontier.svg"]
    assert html == {'<span style="color:#b00020">', "</span>"}
    markup = {"html_block", "fence", "hr", "link_open", "s_open", "code_inline", "ordered_list_open", "em_open"}
    assert not kinds & markup


class Elements(HTMLParser):
    """Tags, attributes and text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.unit
def test_markup_of_people_is_text_on_the_page_and_nothing_runs_or_is_fetched(tmp_path: Path) -> None:
    told = hostile(tmp_path)
    found = Elements(page(told))
    assert not found.tags & {"script", "iframe", "object", "embed", "link", "a", "form", "b"}
    assert not [name for name, _ in found.attributes if name.startswith("on") or name in ("href", "srcset", "style")]
    sources = [value or "" for name, value in found.attributes if name == "src"]
    assert [source.split(",")[0] for source in sources] == ["data:image/svg+xml;base64"]
    squeezed = " ".join(found.text.replace("\N{NO-BREAK SPACE}", " ").split())
    assert [each for each in HOSTILE if " ".join(each.split()) not in squeezed] == []
    assert told.about.title in found.text


@pytest.mark.unit
@settings(max_examples=150, deadline=None)
@given(
    st.text(st.characters(codec="utf-8", exclude_categories=["C", "Zl", "Zp"]), max_size=20)
    | st.text("\n#*_[]()<>&`|~!-+=:.$\\ 1a", max_size=20)
    | st.text("_*~ a", max_size=12)
)
def test_any_text_reads_as_it_was_written(written: str) -> None:
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(cards.text(written))
    assert {token.type for token in tokens} <= {"paragraph_open", "inline", "paragraph_close"}
    leaves = [leaf for token in tokens for leaf in token.children or ()]
    assert {leaf.type for leaf in leaves} <= {"text", "softbreak", "text_special"}
    shown = " ".join(" ".join(leaf.content or " " for leaf in token.children or ()) for token in tokens)
    assert "".join(shown.split()) == "".join(written.split())


@pytest.mark.unit
def test_no_value_of_a_record_is_told(tmp_path: Path) -> None:
    told = facts(tmp_path, shards={"chat.jsonl": lines(CHATS), "a.parquet": parquet(TEXTS)})
    values = [row["text"] for row in TEXTS] + ["who is it?", "thanks"]
    assert [value for value in values if value in cards.card(told) + page(told)] == []


def test_the_page_fits_a_phone(tmp_path: Path) -> None:
    """Drawn by a browser where there is one: nothing is wider than the screen."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no browser on this machine")
    shown = page(facts(tmp_path)).replace(
        "</body>",
        "<script>document.title=Math.max(...[...document.querySelectorAll('body *')].filter(e=>!e.closest('.wide,pre'))"
        ".map(e=>e.getBoundingClientRect().right))</script></body>",
    )
    fs.write_atomic(tmp_path / "report.html", shown.encode())
    flags = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    command = [browser, *flags, "--window-size=500,900", "--dump-dom", (tmp_path / "report.html").as_uri()]
    try:
        drawn = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout
    except subprocess.TimeoutExpired:
        pytest.skip("the browser does not answer")
    if "<title>" not in drawn:
        pytest.skip("the browser draws nothing here")
    assert float(drawn.split("<title>")[1].split("</title>")[0]) <= 500
