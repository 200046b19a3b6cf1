"""A finished run of rewriting as numbers: a row for each condition, costs, crossing points, separations."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sm_ops.core.home import Run
from sm_ops.report.outputs import Outputs, stage_times
from sm_ops.report.rewriting.claims import claims
from sm_ops.report.rewriting.words import NOT, cells, header, sentences
from sm_ops.report.words import claim_lines, paragraph, text_table
from sm_ops.rewriting.costs import MILLION, crossing, usd

FORMAT = "rewriting-results/1"
KINDS = ("unmodified", "direct", "route", "rewrite")
"""The order of the rows; conditions of a kind follow by name."""
STAGES = ("rewrite_data", "rewrite_fit", "rewrite_score", "rewrite_select", "rewrite_apply", "rewrite_judge")
NEXT = "sm-ops report --json (the numbers), sm-ops validate rewriting_tiny (whom a config names to send texts to)"
NOTHING: dict[str, int | None] = {"calls": 0, "input_tokens": 0, "cached_tokens": 0, "output_tokens": 0}

Json = dict[str, Any]
__all__ = ["NEXT", "load_results", "print_table"]


def load_results(run: Run, home: Path) -> Json:
    """All numbers of a run, as JSON. Raises `InputError` where an output is no longer stored.

    A row of `rows` has `condition`, how units were chosen (`selector`, `budget`, `share`, `retrospective`, `tau`),
    whether it was `applied` and `judged`, `security` and `utility` as `{value, low, high}` or null, `calls` (those that
    would be made, where it was not applied), tokens, `usd` a million source tokens with `selector_usd` in it, and
    counts of what went wrong. `utility` is sentence BLEU for RAT-Bench, and the share of propositions kept for
    RedacBench.
    """
    outputs = Outputs(run, home)
    data = outputs.json("rewrite_data", "data.json")
    selecting = {name: _selector_usd(name, run, data) for name in run.config["selectors"]}
    conditions = sorted(run.config["conditions"].items(), key=lambda item: (KINDS.index(item[1]["kind"]), item[0]))
    rows = [_row(name, own, run, outputs, data, selecting) for name, own in conditions]
    results = {
        "format": FORMAT,
        "run": {"id": run.id, "name": run.name, "finished": run.finished},
        "data": data,
        "sends": {role: own["url"] is not None for role, own in run.config["endpoints"].items()},
        "rows": rows,
        "crossings": _crossings(rows),
        "separations": _separations(run, outputs, data),
        "stages": stage_times(run, STAGES),
    }
    return {**results, "sentences": sentences(results), "claims": claims(results)}


def print_table(results: Json) -> None:
    """The run on standard output: a row a condition, what it shows in words, and what its numbers are not."""
    for line in text_table(header(results), (cells(row, results) for row in results["rows"])):
        print(line)
    print()
    for sentence in results["sentences"]:
        print("\n".join(paragraph(sentence)))
    if results["claims"]:
        print("\n".join(["", *claim_lines(results["claims"])]))
    print()
    for sentence in NOT:
        print("\n".join(paragraph(sentence)))


def _row(name: str, condition: Json, run: Run, outputs: Outputs, data: Json, selecting: dict[str, float]) -> Json:
    steps, selector = run.steps, condition["selector"]
    selection = outputs.json(f"rewrite_select@{name}", "selection.json") if selector else None
    applied = outputs.json(f"rewrite_apply@{name}", "application.json") if f"rewrite_apply@{name}" in steps else None
    judged = outputs.json(f"rewrite_judge@{name}", "outcomes.json") if f"rewrite_judge@{name}" in steps else None
    usage = NOTHING if applied is None else applied["usage"]
    selector_usd = selecting.get(selector, 0.0)
    cost = None
    if applied is not None:
        cost = usd(usage, data["prices"]["rewriter"], data["tokens"]["records"], selector_usd)
    scale = MILLION / data["tokens"]["records"]
    by_wording = data["benchmark"] == "rat"
    judged_utility = None if judged is None else judged["utility"]
    return {
        "condition": name,
        **{field: condition[field] for field in ("kind", "selector", "budget", "style")},
        "by_chance": selector and run.config["selectors"][selector]["kind"] == "random",
        "unit": {"route": "sentence", "direct": condition["unit"]}.get(condition["kind"]),
        "retrospective": bool(selection and selection["retrospective"]),
        "tau": selection and selection["tau"],
        "units": selection and selection["units"],
        "chosen": selection and selection["chosen"],
        "share": selection and selection["share"],
        "applied": applied is not None,
        "judged": judged is not None,
        "security": judged and judged["security"],
        "utility": (applied and applied["bleu"]) if by_wording else judged_utility,
        "bleu": applied and applied["bleu"],
        "attributes": judged and judged["attributes"],
        "unjudged": judged and judged["unjudged"],
        "unreadable": applied and applied["unreadable"],
        "misquoted": applied and applied["misquoted"],
        "changed": applied and applied["changed"],
        "calls": usage["calls"] if applied else _planned(condition, selection, data),
        **{field: usage[field] if applied else None for field in NOTHING if field != "calls"},
        "selector_usd": selector_usd * scale,
        "usd": cost,
        "evaluation": judged and judged["usage"],
    }


def _planned(condition: Json, selection: Json | None, data: Json) -> int:
    """The calls that a condition would make."""
    if condition["kind"] == "route":
        assert selection is not None
        return selection["chosen"]
    return data["documents"]["records"] * (2 if condition["style"] == "audit" else 1)


def _selector_usd(name: str, run: Run, data: Json) -> float:
    """What choosing cost in dollars: the seconds of its scoring, as much as falls to the application side.

    A random choice costs nothing. Loading a model is in the seconds, which the paper leaves out (choice R-8).
    """
    selector = run.config["selectors"][name]
    if selector["kind"] == "random":
        return 0.0
    names = selector["of"] or [name]
    seconds = sum(run.steps[step]["seconds"] for each in names if (step := f"rewrite_score@{each}") in run.steps)
    characters = data["characters"]
    share = characters["records"] / sum(characters.values())
    return seconds * share * data["prices"]["machine_usd_per_hour"] / 3600


def _crossings(rows: Sequence[Json]) -> list[Json]:
    """Each routing against each full rewrite that cost something."""
    routes = [row for row in rows if row["kind"] == "route" and row["applied"]]
    fulls = [row for row in rows if row["kind"] == "rewrite" and row["applied"]]
    return [found for route in routes for full in fulls if (found := crossing(route, full)) is not None]


def _separations(run: Run, outputs: Outputs, data: Json) -> list[Json]:
    """How each selector separates sentences with private content, where the texts are labelled."""
    found = []
    for name in sorted(run.config["selectors"]):
        if f"rewrite_score@{name}" not in run.steps:
            continue
        scores = outputs.json(f"rewrite_score@{name}", "scores.json")
        if scores["validation"]["separation"] is not None:
            setting = data["setting"] if not data["generated"]["records"] else f"{data['setting']}, generated texts"
            found.append(
                {
                    "setting": setting,
                    "unit": "sentences",
                    "score": name,
                    "reference": run.config["selectors"][name]["reference"],
                    "validation": scores["validation"]["separation"],
                    "application": scores["records"]["separation"],
                }
            )
    return found
