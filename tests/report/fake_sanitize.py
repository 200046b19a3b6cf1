"""A fake sanitization: measures written by hand, committed through the real store."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import fake_runs

UNDEFINED = {"value": None, "low": None, "high": None}


def value(number: float, spread: float = 0.05) -> dict[str, float]:
    return {"value": number, "low": max(0.0, number - spread), "high": min(1.0, number + spread)}


def rates(tp: int, fp: int, fn: int, tn: int, auroc: float | None = None) -> dict[str, Any]:
    own = {
        "tpr": value(tp / (tp + fn)),
        "fpr": value(fp / (fp + tn)),
        "precision": value(tp / (tp + fp)) if tp + fp else UNDEFINED,
        "f1": value(2 * tp / (2 * tp + fp + fn)),
        "preservation": value(tn / (fp + tn)),
        "counts": {"tp": tp, "fp": fp, "fn": fn, "tn": tn},
        "clusters": 12,
    }
    return own if auroc is None else {"auroc": value(auroc), **own}


def point(tau: float, coverage: float, collateral: float) -> dict[str, Any]:
    return {"tau": tau, "coverage": value(coverage), "collateral": value(collateral), "precision": value(0.3)}


def side(auroc: float, counts: tuple[int, int, int, int], attainable: float | None) -> dict[str, Any]:
    whole = rates(*counts, auroc)
    category = {"documents": 4, "clusters": 12, "target_units": 40, **whole}
    return {
        **whole,
        "roc": {
            "tau": [None, 4.0, 0.5], "fpr": [0.0, 0.1, 1.0], "tpr": [0.0, auroc, 1.0], "precision": [None, 0.4, 0.1],
        },
        "attainable": None if attainable is None else point(3.0, attainable, 0.1),
        "operating": point(2.0, 0.8, 0.3),
        "categories": [{"category": "<Password>", **category}, {"category": "Token", **category}],
        "families": [{"category": "secrets", **category}],
        "units": {"characters": whole, "tokens": None, "lines": rates(4, 2, 1, 30, 0.8)},
        "by": {".py": whole, ".yml": whole},
        "by_mean": {"auroc": auroc, "tpr": 0.5, "fpr": 0.1, "precision": 0.4, "f1": 0.45, "preservation": 0.9},
    }  # fmt: skip


def verdict(decision: str, reason: str) -> dict[str, str]:
    return {"decision": decision, "reason": reason}


HIGH_AND_POOR = (50, 150, 50, 4750)
"""F1 = 100 / 300 with an AUROC of 0.9 beside it."""


def measures(labelled: bool = True, chosen: str | None = "surprise") -> dict[str, Any]:
    costly = verdict("costly", "It covers <30 % of the targets.")
    filters = {
        "regex": ("detector", "own", 0.0, 0.55, (10, 5, 90, 4895)),
        "surprise": ("surprise", "max_f1", 4.5, 0.94, (60, 100, 40, 4800)),
    }
    reason = "No filter is suitable, so nothing is redacted."
    mask = {"tau": [4.5, 0.0], "validation": rates(60, 90, 40, 4810), "application": rates(*HIGH_AND_POOR)}
    by_token = {"tau": {"Token": 4.0}, "validation": rates(7, 5, 3, 85), "application": None, "gain": UNDEFINED}
    joint = {"pairs": 576, "validation_f1": 0.503, "application_f1": 0.355}
    return {
        "format": "sanitizing/1",
        "unit": "characters",
        "filters": {
            name: {
                "kind": kind, "tau": tau, "chosen": how,
                "validation": side(area, counts, 0.7),
                "application": side(area - 0.04, HIGH_AND_POOR, None) if labelled else None,
                "gap": 0.04 if labelled else None,
            }
            for name, (kind, how, tau, area, counts) in filters.items()
        },
        "combinations": [
            {
                "surprise": "surprise", "other": "regex", "jaccard": {"validation": 0.125, "application": None},
                "union": mask, "intersection": mask, "residual": mask, "joint": mask | joint,
                "joint_intersection": mask | joint,
                "curve": {"validation": {"tau": [4.0], "fpr": [0.2], "tpr": [0.6], "precision": [0.3]},
                          "application": None},
                "better": False, "reason": "The union differs by -0.011 in F1 from surprise alone.",
            }
        ] if labelled else [],
        "transfer": {
            "regimes": {
                "surprise": [
                    {
                        "regime": "backend", "by": "ext", "inside": [".go", ".py"], "outside": [".js"], "tau": 4.25,
                        "validation": rates(5, 5, 5, 85), "id": rates(4, 5, 6, 85), "ood": rates(3, 5, 7, 85),
                        "native": {"tau": 3.5, "ood": rates(6, 5, 4, 85)}, "loss": value(0.227, 0.1),
                    }
                ]
            },
            "oracle": {
                "surprise": {
                    "label": "needs an oracle of categories",
                    "pooled": {"tau": 4.5, "validation": rates(6, 5, 4, 85), "application": rates(5, 5, 5, 85)},
                    "by_category": by_token,
                    "by_context": by_token,
                }
            },
        } if labelled else None,
        "choice": {"filter": None, "tau": None, **verdict("none", reason)} if chosen is None else {
            "filter": chosen, "tau": 2.0, **verdict("suitable", "It is the best of those that are."),
            "validation": rates(80, 500, 20, 4500),
            "application": rates(75, 1000, 25, 4000) if labelled else None,
            "categories": {
                kind: [{"category": name, "tpr": value(0.625)} for name in ("<Password>", "Token")]
                for kind in ("validation", "application")
            },
        },
        "verdicts": {"regex": costly, "surprise": verdict("suitable", "It covers 80 % for 10 %.")},
    }  # fmt: skip


def config(**changes: Any) -> dict[str, Any]:
    return {
        "flow": "sanitize",
        "name": "own_code",
        "corpus": {"name": "auto", "validation": "v.jsonl", "records": "r.jsonl", "folds": None},
        "references": {"ngram": {"backend": "ngram"}},
        "filters": {
            "surprise": {"kind": "surprise", "reference": "ngram", "detector": None},
            "regex": {"kind": "detector", "reference": None, "detector": "regex"},
        },
        "unit": "characters",
        "by": "ext",
        "acceptable_collateral": 0.1,
        "coverage": 0.8,
        "use": "auto",
        "prices": {"machine_hour": 7.2},
    } | changes


def corpus(labelled: bool, setting: str | None) -> dict[str, Any]:
    counts = {"records": 40, "groups": 12, "characters": 5000, "targets": 20, "left_out": 1}
    return {
        "corpus": "creddata",
        "setting": setting,
        "rule": "creddata",
        "labelled": labelled,
        "sides": {
            "records-0": counts | {"categories": {"Token": 9}, "anchors": {"Token": {"true": 9, "false": 3}}},
            "validation-0": counts | {"categories": {"Token": 11}, "anchors": None},
        },
        "overlap": {
            "0": {
                "records": 40, "groups": 0, "records_of_shared_groups": 0, "equal_texts": 2, "near_duplicates": 3,
                "threshold": 0.8,
            }
        },
    }


def redaction(records: int) -> dict[str, Any]:
    return {
        "placeholder": "[REMOVED]", "records": records, "changed": records // 2, "intervals": 5 * records,
        "characters": {"removed": 25 * records, "all": 100 * records}, "unwritten": 40 - records,
    }  # fmt: skip


def make(
    home: Path,
    labelled: bool = True,
    chosen: str | None = "surprise",
    setting: str | None = "creddata",
    folds: int | None = None,
    **changes: Any,
) -> SimpleNamespace:
    """A run with so many equal folds; none means one."""
    fake = fake_runs.FakeRun(home)
    fake.add("san_corpus", {"corpus.json": corpus(labelled, setting)})
    for fold in range(folds or 1):
        fake.add(f"san_levels@surprise-{fold}", {"x.parquet": fake_runs.SECRET}, "restricted", 90.0, tokens=200_000)
        fake.add(f"san_levels@regex-{fold}", {"x.parquet": fake_runs.SECRET}, "restricted", 1.0)
        fake.add(f"san_measure@{fold}", {"measures.json": measures(labelled, chosen)})
    choices = {str(fold): measures(labelled, chosen)["choice"] for fold in range(folds or 1)}
    fake.add("san_redact", {"redaction.json": redaction(0 if chosen is None else 40) | {"choices": choices}})
    settings = config(**changes)
    settings["corpus"] |= {"folds": folds}
    return SimpleNamespace(run=fake.finish(settings), home=home)
