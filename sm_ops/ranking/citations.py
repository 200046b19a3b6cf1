"""HALLMARK's citations as pairs: each fabricated one beside a genuine one of its year and about its length (paper A.7).

All are written in one format, and what tells the file that an entry comes from is left out: labels, identifiers, links,
venues, how names are ordered, capitals of titles, full stops at their ends (choice W-5). The genuine partner is the
entry of the same year whose length is nearest (choice W-6), so neither year nor length alone can rank. Which kinds of
fabrication count is a setting; the paper speaks of plausible ones.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sm_ops.core.errors import InputError
from sm_ops.core.fs import sha256
from sm_ops.core.registry import did_you_mean
from sm_ops.data.records import jsonl_rows
from sm_ops.ranking.pairs import Material, Pair, check_storable

GENUINE, FABRICATED = "VALID", "HALLUCINATED"


class _Citation:
    """An entry as it is ranked: `text` in the one format, `year`, and `title` to know it again by."""

    def __init__(self, fields: Mapping[str, str]) -> None:
        title = _words(fields["title"]).rstrip(".")
        self.title = re.sub(r"\W", "", title.lower())
        self.year = int(fields["year"])
        self.text = f"{_authors(fields['author'])}. {title[:1].upper()}{title[1:].lower()}. {self.year}."

    @property
    def name(self) -> str:
        """What stands for it in names: a digest of its title."""
        return sha256(self.title.encode())[:12]


def read_citations(path: str | Path, types: Sequence[str]) -> Material:
    """Read a file of HALLMARK and match; the genuine entries that nobody was matched with are `clean`.

    A row has `label` (VALID, HALLUCINATED), `hallucination_type` and `fields` (or the fields themselves) with `author`,
    `title` and `year`. `counts` says how many entries there were, how many titles stood twice (the first is kept), and
    how many fabricated ones found no partner. Raises `InputError` with file, line and field.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError("no-file", f"There is no file {path}; check the path.")
    found: dict[str, list[_Citation]] = {GENUINE: [], FABRICATED: []}
    titles: set[str] = set()
    known: set[str] = set()
    repeated = 0
    for place, row in jsonl_rows(path):
        label, kind = _labels(f"{path.name}, {place}", row)
        known |= {kind} if kind else set()
        if label == FABRICATED and kind not in types:
            continue
        citation = _citation(f"{path.name}, {place}", row)
        repeated += citation.title in titles
        if citation.title not in titles:
            titles.add(citation.title)
            found[label].append(citation)
    for kind in types:
        if kind not in known:
            hint = f"{path.name} has no fabrication of type {kind!r}; {did_you_mean(kind, known)}."
            raise InputError("unknown-type", hint)
    pairs, left = _matched(found[FABRICATED], found[GENUINE])
    if not pairs:
        hint = f"{path.name} has no fabricated and genuine citations of one year; give a file that holds both."
        raise InputError("no-pairs", hint)
    counts = {
        "genuine": len(found[GENUINE]),
        "fabricated": len(found[FABRICATED]),
        "repeated_titles": repeated,
        "unmatched": len(found[FABRICATED]) - len(pairs),
    }
    return Material(pairs, [each.text for each in left], counts)


def _matched(fabricated: Sequence[_Citation], genuine: Sequence[_Citation]) -> tuple[list[Pair], list[_Citation]]:
    """Pairs, and the genuine ones that are left; the longest fabricated ones choose first."""
    free: dict[int, list[_Citation]] = defaultdict(list)
    for each in genuine:
        free[each.year].append(each)
    pairs = []
    for each in sorted(fabricated, key=lambda own: (-len(own.text), own.title)):
        if candidates := free[each.year]:
            partner = min(candidates, key=lambda own: (abs(len(own.text) - len(each.text)), own.title))
            candidates.remove(partner)
            pairs.append(Pair(each.name, each.name, safe=partner.text, risky=each.text, year=each.year))
    return sorted(pairs, key=lambda pair: pair.id), [each for year in sorted(free) for each in free[year]]


def _labels(where: str, row: Mapping[str, Any]) -> tuple[str, str | None]:
    label, kind = row.get("label"), row.get("hallucination_type")
    if label not in (GENUINE, FABRICATED):
        raise InputError("bad-citation", f"{where}, field label: must be {GENUINE} or {FABRICATED}.")
    if kind is not None and not isinstance(kind, str):
        raise InputError("bad-citation", f"{where}, field hallucination_type: must be a text or null.")
    return label, kind


def _citation(where: str, row: Mapping[str, Any]) -> _Citation:
    fields = row.get("fields", row)
    if not isinstance(fields, Mapping):
        raise InputError("bad-citation", f"{where}, field fields: must be an object.")
    for name in ("author", "title", "year"):
        if not isinstance(fields.get(name), str) or not fields[name].strip():
            raise InputError("bad-citation", f"{where}, field {name}: must be a text that is not blank.")
        check_storable(f"{where}, field {name}", fields[name])
    if not re.fullmatch("[0-9]{4}", fields["year"].strip()):
        raise InputError("bad-citation", f"{where}, field year: must be four digits.")
    return _Citation(fields)


def _authors(field: str) -> str:
    """First names before surnames, in the order given, "et al." for others."""
    field = _words(field)
    listed = field.split(" and ") if " and " in field or field.count(",") < 2 else field.split(",")
    names = [" ".join(reversed([part.strip() for part in name.split(",")])).strip() for name in listed]
    names = ["et al." if name.lower().rstrip(".") in ("others", "et al") else name for name in names if name]
    return ", ".join(names).rstrip(".")


def _words(text: str) -> str:
    """A field without TeX's braces, commands and accents, blanks single."""
    return " ".join(re.sub(r"\\[a-zA-Z]+|[\\{}$\"'`^~]", "", text).split())
