"""A finished ranking as numbers: a row for each score, and what length and year do alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sm_ops.core.home import Run
from sm_ops.report.outputs import Outputs, stage_times
from sm_ops.report.ranking.words import LIMITS, cautions, claims, table_lines
from sm_ops.report.words import claim_lines, paragraph

FORMAT = "ranking-results/1"
STAGES = ("rank_pairs", "rank_fit", "rank_score", "rank_measure")
NEXT = "sm-ops report --json (the numbers), sm-ops ls rankings (the score rules)"
SIDES = ("validation", "application")

Json = dict[str, Any]
__all__ = ["NEXT", "load_results", "print_table"]


def load_results(run: Run, home: Path) -> Json:
    """All numbers of a run, as JSON. Raises `InputError` where an output is no longer stored.

    `rows` has an entry for each score: `tau`, `gap`, `decision`, `reason`, and for each side `auroc`, `tpr`, `fpr`,
    `precision`, `f1` (at `tau`, of the largest F1 on validation) and `coverage`, `collateral` (at the validation
    threshold within the acceptable rate), as `{value, low, high}`. `baselines` gives the AUROC of length and year.
    """
    outputs = Outputs(run, home)
    measures, pairs = outputs.json("rank_measure", "measures.json"), outputs.json("rank_pairs", "pairs.json")
    results = {
        "format": FORMAT,
        "run": {"id": run.id, "name": run.name, "finished": run.finished},
        "setting": setting_of(run.config),
        "direction": measures["direction"],
        "acceptable_collateral": run.config["acceptable_collateral"],
        "coverage": run.config["coverage"],
        "pairs": {**pairs, "controls": run.config["pairs"]["controls"]},
        "rows": [_row(name, own) for name, own in measures["scores"].items()],
        "baselines": measures["baselines"],
        "separations": [_separation(name, own, run.config) for name, own in measures["scores"].items()],
        "stages": stage_times(run, STAGES),
    }
    return results | {"cautions": list(cautions(results)), "claims": claims(results)}


def setting_of(config: Json) -> str:
    """The name of the comparison in the suitability panel."""
    pairs = config["pairs"]
    return pairs["setting"] or ("citations" if pairs["source"] == "citations" else config["name"])


def print_table(results: Json) -> None:
    """The run on standard output: a row a score, the verdicts in words, cautions, and what it does not say."""
    lines = table_lines(results["rows"])
    verdicts = [line for row in results["rows"] for line in paragraph(f"{row['score']}: {row['reason']}")]
    told = [line for text in (*results["cautions"], *LIMITS) for line in paragraph(text)]
    for line in (*lines, "", *verdicts, "", *claim_lines(results["claims"]), "", *told):
        print(line)


def _row(name: str, own: Json) -> Json:
    return {
        "score": name,
        **{key: own[key] for key in ("rule", "reference", "tau", "gap", "standardisation")},
        "decision": own["verdict"]["decision"],
        "reason": own["verdict"]["reason"],
        **{side: _side(own[side]) for side in SIDES},
    }


def _side(own: Json) -> Json:
    kept = ("auroc", "tpr", "fpr", "precision", "f1", "counts", "clusters", "undefined")
    attainable = {key: own["attainable"][key] for key in ("coverage", "collateral")}
    return {key: own[key] for key in kept} | attainable


def _separation(name: str, own: Json, config: Json) -> Json:
    """What the suitability page reads of a score."""
    return {
        "setting": setting_of(config),
        "unit": "output",
        "score": name,
        "reference": own["reference"],
        "verdict": own["verdict"],
        "f1": {side: own[side]["f1"] for side in SIDES},
        "attainable": {
            "collateral": config["acceptable_collateral"],
            **{side: own[side]["attainable"]["coverage"] for side in SIDES},
        },
        **{side: {"auroc": own[side]["auroc"], "roc": own[side]["roc"]} for side in SIDES},
    }
