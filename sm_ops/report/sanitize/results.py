"""A finished sanitization as numbers: every filter on both sides, combinations, transfer, the choice, costs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from sm_ops.core.home import Run
from sm_ops.report.costs import selecting
from sm_ops.report.outputs import Outputs, stage_times
from sm_ops.report.sanitize.claims import claims
from sm_ops.report.sanitize.words import SIDES, table_lines, told_lines
from sm_ops.report.words import claim_lines
from sm_ops.sanitizing.folding import fold as fold_measures

FORMAT = "sanitize-results/1"
STAGES = ("san_corpus", "san_fit", "san_tune", "san_levels", "san_measure", "san_redact")
NEXT = "sm-ops report --suitability (all settings side by side), sm-ops report --json (the numbers)"
RATES = ("auroc", "tpr", "fpr", "precision", "f1", "preservation")

Json = dict[str, Any]
__all__ = ["NEXT", "load_results", "print_table"]


def load_results(run: Run, home: Path) -> Json:
    """All numbers of a run, as JSON; undefined ones are null. `InputError` where an output is no longer stored.

    `rows` has one entry per fold and filter, with what it does on `validation` and on `application` data at its
    threshold: rates as `{value, low, high}` with intervals of 95 % over documents or repositories, and pooled counts;
    `application` is null where that side has no labels. `units`, `categories`, `families`, `by` and `curves` repeat
    that in parts, a row a side. `choice` and `verdicts` are those of the first fold; `folds` has mean and standard
    deviation over all of them, null where there is one. `costs` are US dollars per million source tokens.
    """
    outputs = Outputs(run, home)
    names = [str(number) for number in range(run.config["corpus"]["folds"] or 1)]
    folds = {name: _in_order(outputs.json(f"san_measure@{name}", "measures.json")) for name in names}
    first, corpus = folds[names[0]], outputs.json("san_corpus", "corpus.json")
    costs = list(_costs(run, names))
    results = {
        "format": FORMAT,
        "run": {"id": run.id, "name": run.name, "finished": run.finished},
        "corpus": corpus,
        "asked": {name: run.config[name] for name in ("unit", "acceptable_collateral", "coverage", "by", "use")},
        "rows": [row for fold, measures in folds.items() for row in _rows(fold, measures, costs)],
        "units": list(_parts(folds, _units)),
        "categories": list(_parts(folds, lambda own: _listed(own["categories"]))),
        "families": list(_parts(folds, lambda own: _listed(own["families"]))),
        "by": list(_parts(folds, lambda own: own["by"].items(), named="value")),
        "by_mean": list(_parts(folds, lambda own: [("mean", own["by_mean"])] if own["by_mean"] else [], named="value")),
        "curves": list(_curves(folds)),
        "combinations": [{"fold": f, **each} for f, measures in folds.items() for each in measures["combinations"]],
        "transfer": first["transfer"],
        "folds": fold_measures(list(folds.values())) if len(folds) > 1 else None,
        "verdicts": first["verdicts"],
        "choice": first["choice"],
        "redaction": outputs.json("san_redact", "redaction.json"),
        "costs": costs,
        "stages": stage_times(run, STAGES),
    }
    results["separations"] = list(_separations(run.config, results, first))
    return results | {"claims": claims(results)}


def print_table(results: Json) -> None:
    """The run on standard output: a row a filter, the verdicts in words, the claims, and what was taken last."""
    lines = [*table_lines(results), "", *told_lines(results)]
    if results["claims"]:
        lines += ["", *claim_lines(results["claims"])]
    print("\n".join(lines))


def _in_order(measures: Json) -> Json:
    """The measures with the scores first, then the detectors, each by name."""
    names = sorted(measures["filters"], key=lambda name: (measures["filters"][name]["kind"] == "detector", name))
    return measures | {part: {name: measures[part][name] for name in names} for part in ("filters", "verdicts")}


def _rows(fold: str, measures: Json, costs: Iterable[Json]) -> Iterator[Json]:
    prices = {each["filter"]: each["usd_per_million"] for each in costs}
    for name, each in measures["filters"].items():
        yield {
            "fold": fold,
            "filter": name,
            **{key: each[key] for key in ("kind", "tau", "chosen", "gap")},
            **{side: each[side] and _side(each[side]) for side in SIDES},
            "usd_per_million": prices[name],
            **measures["verdicts"][name],
        }


def _side(own: Json) -> Json:
    rates = {name: own[name] for name in (*RATES, "counts", "clusters")}
    return rates | {name: own[name] for name in ("attainable", "operating")}


def _parts(folds: Mapping[str, Json], parts: Any, named: str = "part") -> Iterator[Json]:
    """What `parts` gives of each filter on each side, as (name, rates), a row each."""
    for fold, measures in folds.items():
        for name, each in measures["filters"].items():
            for side in SIDES:
                for part, rates in parts(each[side]) if each[side] else ():
                    yield {"fold": fold, "filter": name, "side": side, named: part, **rates}


def _units(own: Json) -> Iterator[tuple[str, Json]]:
    for unit, rates in own["units"].items():
        if rates is not None:
            yield unit, rates


def _listed(rows: Iterable[Json] | None) -> Iterator[tuple[str, Json]]:
    for row in rows or ():
        yield row["category"], {name: value for name, value in row.items() if name != "category"}


def _curves(folds: Mapping[str, Json]) -> Iterator[Json]:
    """Every point of every filter's curve and of every union's, a row each."""
    for fold, measures in folds.items():
        own = {(name, side): each[side]["roc"] for name, each in measures["filters"].items()
               for side in SIDES if each[side]}  # fmt: skip
        unions = {
            (f"{each['surprise']} or {each['other']}", side): curve
            for each in measures["combinations"]
            for side, curve in each.get("curve", {}).items()
            if curve
        }
        for (name, side), curve in (own | unions).items():
            columns = {key: curve[key] for key in ("tau", "fpr", "tpr", "precision") if key in curve}
            for values in zip(*columns.values(), strict=True):
                yield {"fold": fold, "filter": name, "side": side, **dict(zip(columns, values, strict=True))}


def _costs(run: Run, folds: Iterable[str]) -> Iterator[Json]:
    """What each filter costs per million source tokens of all texts that it read, both sides of all folds.

    Tokens are those that the run's first filter with a reference counted; a detector counts none (choice Y-1).
    """
    steps = {name: [run.steps[f"san_levels@{name}-{fold}"] for fold in folds] for name in run.config["filters"]}
    read = [[step["numbers"].get("tokens") for step in own] for own in steps.values()]
    tokens = next((sum(counts) for counts in read if None not in counts), None)
    for name, own in sorted(steps.items()):
        seconds = sum(step["seconds"] for step in own)
        hour = run.config["prices"]["machine_hour"]
        yield {"filter": name, "seconds": seconds, "source_tokens": tokens, **selecting(seconds, tokens, hour)}


def _separations(config: Json, results: Json, measures: Json) -> Iterator[Json]:
    """Every score's curves on both sides of the first fold, for the suitability page; detectors have none."""
    prices = {each["filter"]: each for each in results["costs"]}
    for row in results["rows"]:
        if row["fold"] != "0" or row["kind"] != "surprise":
            continue
        name, sides = row["filter"], {side: row[side] for side in SIDES}
        yield {
            "setting": results["corpus"]["setting"] or results["corpus"]["corpus"],
            "unit": config["unit"],
            "score": name,
            "reference": config["filters"][name]["reference"],
            **{side: own and _separation(own, measures["filters"][name][side]["roc"]) for side, own in sides.items()},
            "attainable": {
                "collateral": config["acceptable_collateral"],
                **{side: own and _attainable(own["attainable"]) for side, own in sides.items()},
            },
            "f1": {side: own and own["f1"] for side, own in sides.items()},
            "verdict": {key: row[key] for key in ("decision", "reason")},
            **{key: prices[name][key] for key in ("usd_per_million", "usd_from")},
        }


def _separation(own: Json, roc: Json) -> Json:
    return {"auroc": own["auroc"], "roc": {name: roc[name] for name in ("fpr", "tpr")}}


def _attainable(point: Json | None) -> Json:
    """The coverage of a point; where every mask costs too much there is none, and 0 is attained."""
    return {"value": 0.0, "low": None, "high": None} if point is None else point["coverage"]
