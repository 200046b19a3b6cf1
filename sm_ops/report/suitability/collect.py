"""The separations of all runs of a home, the newest of each, with what they say of surprise as a tool."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from sm_ops.core import fs
from sm_ops.core.errors import InputError
from sm_ops.core.home import Run, all_runs
from sm_ops.report.separation import GAP, differs
from sm_ops.report.suitability.verdicts import ACCEPTABLE, judged

Json = dict[str, Any]

FORMAT = "suitability/1"
SETTINGS = {
    "code_pii": "Code PII",
    "code_quirks": "Code Quirks",
    "creddata": "CredData",
    "piibench": "PIIBench",
    "dead_code": "Dead code poisoning",
    "rat_bench": "RAT-Bench",
    "redac_bench": "RedacBench",
    "insecure_code": "Insecure code",
    "medical_advice": "Medical advice",
    "financial_advice": "Financial advice",
    "citations": "Fabricated citations",
}
"""The eleven settings of the paper's figure 6; a home may hold others."""
_SIDES = ("validation", "application")


def collect(home: Path) -> Json:
    """`rows` (a setting under a score each, in the paper's order, then by name), `absent` titles, and `without`.

    A run's results say what it separated; of runs of one name under one score the newest counts. `without` are the
    ids of runs that say nothing of it. `InputError` where no run does.
    """
    newest: dict[tuple[str, ...], Json] = {}
    without = []
    for run in all_runs(home):
        found = list(_separations(run))
        if not found:
            without.append(run.id)
        for row in found:
            newest[tuple(row[name] for name in ("setting", "unit", "score", "name"))] = row
    if not newest:
        raise InputError(
            "no-separation",
            f"No finished run under {home} measured how well a score separates; make one with: sm-ops run, or "
            "sm-ops sanitize",
        )
    rows = [row | {"label": _label(row, newest.values())} for row in sorted(newest.values(), key=_order)]
    present = {row["setting"] for row in rows}
    absent = [title for name, title in SETTINGS.items() if name not in present]
    return {"format": FORMAT, "gap": GAP, "rows": rows, "absent": absent, "without": without}


def curves(rows: Iterable[Json]) -> Iterator[Json]:
    """Every point of every curve, a row each."""
    for row in rows:
        for side in _SIDES:
            if row["roc"][side] is not None:
                for fpr, tpr in points(row["roc"][side]):
                    named = {name: row[name] for name in ("setting", "run", "score", "unit")}
                    yield {**named, "side": side, "fpr": fpr, "tpr": tpr}


def points(roc: Json) -> list[tuple[float, float]]:
    """The points of a curve that are defined, as (fpr, tpr)."""
    pairs = zip(roc["fpr"], roc["tpr"], strict=True)
    return [(fpr, tpr) for fpr, tpr in pairs if fpr is not None and tpr is not None]


def _separations(run: Run) -> Iterator[Json]:
    try:
        found = fs.read_json(run.folder / "results.json").get("separations", [])
    except FileNotFoundError:
        return
    except ValueError:
        hint = f"{run.folder}/results.json is damaged; remove it and run the pipeline again, finished steps are found."
        raise InputError("results-damaged", hint) from None
    for each in found:
        yield _row(run, each)


def _row(run: Run, separation: Json) -> Json:
    sides = {side: separation.get(side) for side in _SIDES}
    auroc = {side: own and own["auroc"] for side, own in sides.items()}
    roc = {side: own and own["roc"] for side, own in sides.items()}
    here, there = (own and own["value"] for own in auroc.values())
    gap = None if here is None or there is None else here - there
    row = {
        "setting": separation["setting"],
        "title": SETTINGS.get(separation["setting"], separation["setting"]),
        "run": run.id,
        "name": run.name,
        "finished": run.finished,
        "reference": separation.get("reference"),
        "score": separation["score"],
        "unit": separation["unit"],
        "auroc": auroc,
        "gap": gap,
        "flagged": differs(gap),
        "attainable": separation.get("attainable") or _attainable(roc),
        "f1": {side: (separation.get("f1") or {}).get(side) for side in _SIDES},
        "usd_per_million": separation.get("usd_per_million"),
        "usd_from": separation.get("usd_from"),
        "roc": roc,
    }
    return row | {"verdict": separation.get("verdict") or judged(row)}


def _attainable(roc: Json) -> Json:
    """The largest coverage among a curve's points whose collateral masking rate is acceptable."""
    found = {
        side: None if own is None else max((tpr for fpr, tpr in points(own) if fpr <= ACCEPTABLE), default=None)
        for side, own in roc.items()
    }
    return {
        "collateral": ACCEPTABLE,
        **{side: {"value": value, "low": None, "high": None} for side, value in found.items()},
    }


def _label(row: Json, rows: Iterable[Json]) -> str:
    """The setting's title, with the run's name where several measured it."""
    names = {each["name"] for each in rows if each["setting"] == row["setting"]}
    return row["title"] if len(names) == 1 else f"{row['title']} ({row['name']})"


def _order(row: Json) -> tuple[int, str, str, str]:
    known = list(SETTINGS)
    place = known.index(row["setting"]) if row["setting"] in SETTINGS else len(known)
    return place, row["setting"], row["score"], row["run"]
