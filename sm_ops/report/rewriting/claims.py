"""What a run of rewriting shows, each with whether it holds; intervals that overlap leave a claim undefined."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sm_ops.report.costs import usd
from sm_ops.report.words import claim, percent, rated

Json = dict[str, Any]


def claims(results: Json) -> list[Json]:
    """Claims as `{sentence, passed, detail}`; `passed` is null where the run cannot tell."""
    rows = results["rows"]
    return [*_chosen(rows), *_whole(rows), *_cheaper(results["crossings"])]


def _chosen(rows: list[Json]) -> Iterator[Json]:
    """A selector is worth its name where it protects more than chance at the same budget."""
    for row in rows:
        for other in rows:
            same = all(row[name] == other[name] for name in ("kind", "unit", "budget", "retrospective"))
            if same and row["by_chance"] is False and other["by_chance"]:
                sentence = f"{row['condition']} protects more than {other['condition']}, which chooses by chance."
                yield _comparison(sentence, row, other)


def _whole(rows: list[Json]) -> Iterator[Json]:
    """Rewriting whole texts against the best of direct masking."""
    masked = [row for row in rows if row["kind"] == "direct" and row["judged"]]
    if masked:
        best = max(masked, key=lambda row: row["security"]["value"] or 0.0)
        for row in rows:
            if row["kind"] == "rewrite":
                sentence = f"{row['condition']} protects more than {best['condition']}, the best of the masks."
                yield _comparison(sentence, row, best)


def _cheaper(crossings: list[Json]) -> Iterator[Json]:
    """Routing against the cheapest full rewrite."""
    for route in dict.fromkeys(each["route"] for each in crossings):
        each = min((c for c in crossings if c["route"] == route), key=lambda crossing: crossing["full_usd"])
        yield claim(
            f"{route} costs less than rewriting everything ({each['full']}).",
            not each["dearer"],
            f"{usd(each['route_usd'])} against {usd(each['full_usd'])} USD a million source tokens at "
            f"{percent(each['route_share'])} of the sentences; they cross at {percent(each['share'])}",
        )


def _comparison(sentence: str, one: Json, other: Json) -> Json:
    values = [row["security"] for row in (one, other)]
    passed = None
    if all(value is not None and value["low"] is not None for value in values):
        if values[0]["low"] > values[1]["high"]:
            passed = True
        elif values[0]["high"] < values[1]["low"]:
            passed = False
    told = " against ".join(rated(value) for value in values)
    return claim(sentence, passed, f"security {told}")
