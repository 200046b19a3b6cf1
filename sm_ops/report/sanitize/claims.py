"""What a sanitization shows, each with whether it holds: validation, combinations, and rankings that no cut serves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sm_ops.report.separation import cuts_poorly, differs, ranks_high
from sm_ops.report.words import claim, numbered, rated

Json = dict[str, Any]


def claims(results: Json) -> list[Json]:
    """Claims as `{sentence, passed, detail}`; `passed` is null where the run cannot tell."""
    rows = [row for row in results["rows"] if row["fold"] == "0"]
    return [*_validation(rows), *_ranked(rows), *_combined(results["combinations"])]


def _validation(rows: list[Json]) -> Iterator[Json]:
    for row in rows:
        if row["kind"] == "surprise" and row["application"] is not None:
            areas = " against ".join(numbered(row[side]["auroc"]) for side in ("validation", "application"))
            passed = None if row["gap"] is None else not differs(row["gap"])
            yield claim(
                f"Validation says how well {row['filter']} separates on the application side.", passed, f"AUROC {areas}"
            )


def _ranked(rows: list[Json]) -> Iterator[Json]:
    """A high AUROC must not be read as a good mask: said of every score whose ranking is high."""
    for row in rows:
        own = row["application"] or row["validation"]
        f1 = own["f1"]["value"]
        if row["kind"] == "surprise" and ranks_high(own["auroc"]["value"]) and f1 is not None:
            yield claim(
                f"{row['filter']} ranks targets high, and one threshold cuts them out well.",
                not cuts_poorly(f1),
                f"AUROC {numbered(own['auroc'])}, F1 {numbered(own['f1'])}, precision {rated(own['precision'])}",
            )


def _combined(combinations: list[Json]) -> Iterator[Json]:
    for each in combinations:
        if each["fold"] == "0":
            sentence = f"{each['surprise']} together with {each['other']} is better than the better of the two."
            yield claim(sentence, each["better"], each["reason"].rstrip("."))
