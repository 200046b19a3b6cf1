"""A sanitization's numbers for a program, as `sm-ops sanitize --json` prints them."""

from __future__ import annotations

from typing import Any

from sm_ops.sanitizing.folding import summary

Json = dict[str, Any]
SIDES = ("validation", "application")
SURPRISE = "surprise"


def answer(results: Json) -> Json:
    """Both sides and the verdict of the surprise filter, then every filter's, the choice, and the run.

    A side has `auroc` and `char_f1` as `{value, low, high}` and `tpr` and `fpr` as numbers. Over several folds a value
    is their mean, `sd` stands beside it in place of limits, and verdicts are those of the first.
    """
    first = {row["filter"]: row for row in results["rows"] if row["fold"] == "0"}
    filters = {name: _filter(results, row) for name, row in first.items()}
    surprise = filters.get(SURPRISE, dict.fromkeys((*SIDES, "verdict")))
    return {
        **{side: _short(surprise[side]) for side in SIDES},
        "verdict": surprise["verdict"],
        "filters": filters,
        "overlap": results["corpus"]["overlap"],
        "choice": {name: results["choice"][name] for name in ("filter", "tau", "decision", "reason")},
        "run": results["run"]["id"],
    }


def _filter(results: Json, row: Json) -> Json:
    return {
        **{name: row[name] for name in ("kind", "tau", "chosen")},
        **{side: _side(results, row["filter"], side) for side in SIDES},
        "verdict": {name: row[name] for name in ("decision", "reason")},
    }


def _side(results: Json, name: str, side: str) -> Json | None:
    rows = [row[side] for row in results["rows"] if row["filter"] == name and row[side] is not None]
    characters = [
        each for each in results["units"] if (each["filter"], each["side"], each["part"]) == (name, side, "characters")
    ]
    if not rows:
        return None
    rates = {rate: _over([row[rate] for row in rows]) for rate in ("auroc", "tpr", "fpr", "precision", "f1")}
    return rates | {"char_f1": _over([each["f1"] for each in characters])}


def _over(values: list[Json]) -> Json:
    """One fold's value with its interval, or the mean of several with their standard deviation."""
    if len(values) == 1:
        return values[0]
    found = summary(value["value"] for value in values)
    return {"value": found["mean"], "low": None, "high": None, "sd": found["sd"], "folds": found["folds"]}


def _short(measured: Json | None) -> Json | None:
    if measured is None:
        return None
    numbers = {name: measured[name]["value"] for name in ("tpr", "fpr")}
    return {name: measured[name] for name in ("auroc", "char_f1")} | numbers
