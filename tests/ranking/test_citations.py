"""HALLMARK's citations: one format without cues of their source, years and lengths matched."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sm_ops.core.errors import InputError
from sm_ops.ranking.citations import read_citations

pytestmark = pytest.mark.unit

PLANTED = "Xyzzy Plugh"
TYPES = ("plausible_fabrication",)
CUES = {"doi": "10.1/x", "url": "https://x.org"}


def row(title: str, year: str = "2022", kind: str | None = None, author: str = "Ann Lee and Bo Fox", **fields: str):
    return {
        "label": "HALLUCINATED" if kind else "VALID",
        "hallucination_type": kind,
        "generation": "scraped",
        "fields": {"author": author, "title": title, "year": year, **fields},
    }


def file(folder: Path, *rows: object) -> Path:
    path = folder / "hallmark.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in rows))
    return path


def test_both_kinds_are_written_alike_and_without_their_source(tmp_path):
    path = file(
        tmp_path,
        row("{Deep} Nets for \\emph{Graphs}.", author="Lee, Ann and Fox, Bo", booktitle="ICML", **CUES),
        row("A study of small trees", kind="plausible_fabrication", author="Eva Ray, Max Orr, Jo Day", journal="arXiv"),
    )
    (pair,) = read_citations(path, TYPES).pairs
    assert pair.safe == "Ann Lee, Bo Fox. Deep nets for graphs. 2022."
    assert pair.risky == "Eva Ray, Max Orr, Jo Day. A study of small trees. 2022."
    assert pair.year == 2022


def test_a_fabricated_one_is_matched_within_its_year_by_length(tmp_path):
    path = file(
        tmp_path,
        row("Aaaaaaaaaa", "2021"),
        row("Bbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", "2021"),
        row("Cccccccccccc", "2022"),
        row("Dddddddddddd", "2021", kind="plausible_fabrication"),
        row("Eeeeeeeeeeee", "2020", kind="plausible_fabrication"),
        row("Ffffffffffff", "2022", kind="swapped_authors"),
        row("aaaa aaaaaa", "2021"),
    )
    material = read_citations(path, TYPES)
    (pair,) = material.pairs
    assert "Aaaaaaaaaa" in pair.safe
    assert "Dddd" in pair.risky
    assert material.counts == {"genuine": 3, "fabricated": 2, "repeated_titles": 1, "unmatched": 1}
    assert [text.split(". ")[1] for text in material.clean] == ["B" + 29 * "b", "C" + 11 * "c"]


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ({**row("t"), "label": PLANTED}, "line 2, field label"),
        ({**row("t"), "fields": PLANTED}, "line 2, field fields"),
        (row("t", year=PLANTED), "line 2, field year: must be four digits"),
        (row(" "), "line 2, field title"),
        (row(f"{PLANTED}\ud800"), "line 2, field title: holds half a surrogate pair"),
        ({**row("t"), "hallucination_type": 3}, "line 2, field hallucination_type"),
    ],
)
def test_a_bad_entry_is_refused_by_line_and_field(tmp_path, bad, told):
    with pytest.raises(InputError) as refused:
        read_citations(file(tmp_path, row("Fine"), bad), TYPES)
    assert told in refused.value.hint
    assert PLANTED not in refused.value.hint


def test_an_unknown_type_and_a_file_of_one_kind_are_told(tmp_path):
    both = [row("A"), row("B", kind="plausible_fabrication")]
    with pytest.raises(InputError, match="nearest is plausible_fabrication"):
        read_citations(file(tmp_path, *both), ("plausible_fabrications",))
    with pytest.raises(InputError, match="no fabricated and genuine"):
        read_citations(file(tmp_path, row("A", "2020"), row("B", kind="plausible_fabrication")), TYPES)


def test_year_and_length_alone_rank_near_one_half(shared):
    """On the real file; the share of genuine and fabricated pairs that the longer one wins, by brute force."""
    path = shared / "data" / "hallmark_citations" / "hallmark_open.jsonl"
    if not path.is_file():
        pytest.skip("no HALLMARK beside the repository")
    material = read_citations(path, TYPES)
    assert len(material.pairs) == 76
    assert material.counts["unmatched"] == 0
    for measured in (lambda text: len(text), lambda text: int(text[-5:-1])):
        safe = [measured(pair.safe) for pair in material.pairs]
        risky = [measured(pair.risky) for pair in material.pairs]
        won = sum((r > s) + (r == s) / 2 for r in risky for s in safe) / len(safe) / len(risky)
        assert abs(won - 0.5) < 0.02
    texts = [text for pair in material.pairs for text in (pair.safe, pair.risky)]
    assert not any(cue in text for text in texts for cue in ("http", "doi", "{", "\\", "arXiv"))
    assert len(set(texts)) == len(texts)
