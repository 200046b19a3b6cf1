"""The conditions of all runs of the main job in a home, and how well validation told what masks cover in training."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sm_ops.core import fs
from sm_ops.core.errors import InputError
from sm_ops.core.home import Run, all_runs
from sm_ops.masking.conditions import BASE
from sm_ops.metrics import correlation_interval
from sm_ops.report.surprise.measures import OUTCOMES, PASS, PERPLEXITY, likelihood_of, measured
from sm_ops.report.surprise.tables.ours import DATASETS, REGIMES, regime_of
from sm_ops.report.surprise.tables.validation import VALIDATED, both_sides, correlation

Json = dict[str, Any]

FORMAT = "coverage/1"
FLOW = "surprise"
TITLES: dict[str, str] = {"code_pii": "Code PII", "code_quirks": "Code Quirks"}
"""The rows of the paper's figure 4; a home may hold others."""


def collect(home: Path) -> Json:
    """`points` (a condition of a run each), `correlations` by regime, and `without`, ids of runs that tell nothing.

    Of runs of one name, data set and regime the newest counts. `InputError` where there is no run of the main job.
    """
    newest: dict[tuple[str, str, str], list[Json]] = {}
    without = []
    for run in all_runs(home):
        if run.flow == FLOW:
            found = list(_points(run))
            if found:
                newest[run.name, found[0]["dataset"], found[0]["regime"]] = found
            else:
                without.append(run.id)
    if not newest:
        hint = f"No run of the main job under {home} has results; make one with: sm-ops run, or sm-ops sweep"
        raise InputError("no-coverage", hint)
    points = [point for key in sorted(newest, key=_order) for point in newest[key]]
    return {"format": FORMAT, "points": points, "correlations": list(correlations(points)), "without": without}


def correlations(points: Iterable[Json]) -> Iterator[Json]:
    """Pearson's r between validation and training over all conditions of a regime that validation speaks of.

    `{regime, measure, value, low, high, points, runs, paper_over}`; the interval resamples whole runs, as points of one
    run share its records, and is null under five of them (choice T-3).
    """
    known = list(points)
    for regime in REGIMES:
        for measure, before in VALIDATED.items():
            own = both_sides((point for point in known if point["regime"] == regime), measure, measure)
            x, y = (np.array([point[side] for point in own]) for side in (before, measure))
            runs = [point["run"] for point in own]
            low, high = correlation_interval(x, y, np.array(runs, str), seed=0) or (None, None)
            yield {
                "regime": regime,
                **correlation(own, measure, measure),
                "low": low,
                "high": high,
                "runs": len(set(runs)),
            }


def _points(run: Run) -> Iterator[Json]:
    """Every trained condition of a run: what it covers, leaks and can do."""
    results = _results(run)
    if results is None:
        return
    validated = {point["condition"]: _validated(point) for point in results.get("operating_points", [])}
    for detector in results.get("detectors") or []:
        validated[detector["condition"]] = _validated(detector)
    outcome = next(iter(measured(results["rows"], OUTCOMES)), None)
    likelihood = likelihood_of(results["rows"])
    own: str = run.config["data"]["dataset"]
    dataset = DATASETS.get(own, own)
    for row in results["rows"]:
        if row["condition"] == BASE or row["target_coverage"] is None:
            continue
        yield {
            "dataset": dataset,
            "title": TITLES.get(dataset, dataset),
            "regime": regime_of(run.config),
            "run": run.id,
            "name": run.name,
            "condition": row["condition"],
            "seeds": row["seeds"],
            "target_coverage": row["target_coverage"],
            "collateral_rate": row["collateral_rate"],
            **validated.get(row["condition"], _validated({})),
            "outcome": outcome and outcome.name,
            "outcome_rate": outcome and outcome.read(row),
            "pass_at": PASS.read(row),
            "nll": likelihood.read(row),
            "perplexity": PERPLEXITY.read(row),
            "nll_over": likelihood.over,
        }


def _validated(point: Json) -> Json:
    return {name: point.get(name) for name in ("validation_coverage", "validation_collateral")}


def _results(run: Run) -> Json | None:
    try:
        return fs.read_json(run.folder / "results.json")
    except FileNotFoundError:
        return None
    except ValueError:
        hint = f"{run.folder}/results.json is damaged; remove it and run the pipeline again, finished steps are found."
        raise InputError("results-damaged", hint) from None


def _order(key: Sequence[str]) -> tuple[int, str, str, str]:
    name, dataset, regime = key
    known = list(TITLES)
    return known.index(dataset) if dataset in TITLES else len(known), dataset, regime, name
