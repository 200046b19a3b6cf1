"""A finished PII run as numbers: a row for each way of finding PII, and what they are worth beside each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sm_ops.core.home import Run
from sm_ops.metrics import difference_interval, standard_error
from sm_ops.report.outputs import Outputs, stage_times
from sm_ops.report.pii.leaks import search
from sm_ops.report.pii.words import NOT, table_lines
from sm_ops.report.words import claim, claim_lines, rated

FORMAT = "pii-results/1"
BASE = "base"
STAGES = ("pii_generate", "pii_detect", "pii_base", "pii_tune", "pii_extract", "pii_mask", "pii_evaluate")
NEXT = "sm-ops show --config pii_tiny (what is stored), sm-ops report --json (the numbers), sm-ops doctor --leaks"
RATES = ("document_leak", "entity_leak", "over_redaction", "hallucination", "parse_success")

Json = dict[str, Any]
__all__ = ["NEXT", "load_results", "print_table", "search"]


def finders_of(config: Json) -> list[str]:
    """What finds PII in such a run, in the order of its tables: detectors, the model before tuning, one a seed."""
    return [*config["detectors"], BASE, *(f"tuned_{seed}" for seed in config["seeds"])]


def load_results(run: Run, home: Path) -> Json:
    """All numbers of a run, as JSON. Raises `InputError` where an output is no longer stored.

    `rows` has one entry per finder: `precision`, `recall`, `f1` and the rates as `{value, low, high}`, and
    `numeric_f1` over RRN, CARD, PHONE, DOB and ACCOUNT. `by_type` and `by_language` repeat the scores in parts,
    `familiarity` gives recall by whether the training documents have the surname or the word.
    """
    outputs = Outputs(run, home)
    finders = finders_of(run.config)
    evaluations = {name: outputs.json(f"pii_evaluate@{name}", "evaluation.json") for name in finders}
    manifest = outputs.json("pii_generate", "manifest.json")
    generated = run.steps["pii_generate"]["numbers"]
    first = next(iter(evaluations.values()))
    return {
        "format": FORMAT,
        "run": {"id": run.id, "name": run.name, "finished": run.finished},
        "known_values": manifest["known_values"],
        "documents": {
            "kind": "own" if manifest.get("documents") == "own" else "synthetic",
            "records": first["documents"],
            "positives": first["positives"],
            **{name: generated[name] for name in sorted(generated) if name != "records"},
        },
        "rows": [_row(name, evaluation) for name, evaluation in evaluations.items()],
        "by_type": list(_parts(evaluations, lambda each: each["slice"] == "all")),
        "by_language": list(_parts(evaluations, lambda each: each["slice"] != "all" and each["types"] == "all")),
        "familiarity": [{"finder": name, **each} for name, own in evaluations.items() for each in own["familiarity"]],
        "masked": [
            {"finder": name, **outputs.json(f"pii_mask@{name}", "vault.json")} for name in finders if name != BASE
        ],
        "stages": stage_times(run, STAGES),
        "tuned": _over_seeds(run, evaluations),
        "claims": _claims(run, evaluations),
    }


def print_table(results: Json) -> None:
    """The run on standard output: a row a finder, what it shows in words, and what its numbers are not."""
    for line in (*table_lines(results["rows"]), "", *claim_lines(results["claims"]), "", *NOT):
        print(line)


def _score(evaluation: Json, types: str) -> Json:
    return next(each for each in evaluation["scores"] if (each["slice"], each["types"]) == ("all", types))


def _row(finder: str, evaluation: Json) -> Json:
    whole, rates = _score(evaluation, "all"), evaluation["rates"]["all"]
    return {
        "finder": finder,
        **{name: whole[name] for name in ("precision", "recall", "f1")},
        "numeric_f1": _score(evaluation, "numeric")["f1"],
        **{name: rates[name] for name in (*RATES, "deterministic", "round_trip")},
    }


def _parts(evaluations: dict[str, Json], chosen: Any) -> Any:
    for finder, evaluation in evaluations.items():
        yield from ({"finder": finder, **each} for each in evaluation["scores"] if chosen(each))


def _over_seeds(run: Run, evaluations: dict[str, Json]) -> Json:
    """Mean and standard error over tuning seeds; the error is null for one seed."""
    own = [evaluations[f"tuned_{seed}"] for seed in run.config["seeds"]]
    result = {}
    for name, types in (("f1", "all"), ("numeric_f1", "numeric")):
        values = np.array([_score(each, types)["f1"]["value"] for each in own])
        result[name] = {"mean": float(values.mean()), "se": standard_error(values), "seeds": len(values)}
    return result


def _claims(run: Run, evaluations: dict[str, Json]) -> list[Json]:
    """What the run shows, with its numbers; a claim about an absent detector is left out.

    A difference whose interval holds 0 is not established: such a claim is undefined.
    """
    name = f"tuned_{run.config['seeds'][0]}"
    tuned = evaluations[name]
    numeric = _score(tuned, "numeric")["f1"]
    claims = [
        claim(
            "The tuned extractor finds numbers that an empty prediction does not.",
            numeric["value"] > 0,
            f"F1 on numeric types {rated(numeric)} against 0",
        )
    ]
    for other in ("base", "shapes", "regex"):
        if other in evaluations:
            claims.append(_comparison(tuned, evaluations[other], other))
    exact = all(
        evaluation["rates"]["all"][name]["value"] == 1
        for evaluation in evaluations.values()
        for name in ("deterministic", "round_trip")
    )
    claims.append(
        claim(
            "Masking is deterministic and comes back whole.",
            exact,
            f"{len(evaluations)} finders, {tuned['documents']} documents each",
        )
    )
    leak = tuned["rates"]["all"]["document_leak"]
    claims.append(
        claim(
            "The tuned extractor leaves nothing readable, as a release needs it.",
            leak["value"] == 0,
            f"documents with an uncovered value {rated(leak)}",
        )
    )
    return claims


def _comparison(tuned: Json, other: Json, name: str) -> Json:
    one, two = (np.array(each["per_document"]).T for each in (tuned, other))
    limits = difference_interval(_f1(one), _f1(two), seed=0)
    values = [_score(each, "numeric")["f1"]["value"] for each in (tuned, other)]
    shown = "" if limits is None else f", difference [{100 * limits[0]:+.1f}, {100 * limits[1]:+.1f}]"
    sentence = {
        "shapes": "On numeric types the tuned extractor is better than patterns of their shapes.",
        "regex": "On numeric types the tuned extractor is better than patterns that look at the words beside.",
        "base": "Tuning is what finds: the model before it is worse on numeric types.",
    }[name]
    established = limits is None or limits[0] > 0 or limits[1] < 0
    passed = values[0] > values[1] if established else None
    return claim(sentence, passed, f"F1 {100 * values[0]:.1f} % against {100 * values[1]:.1f} %{shown}")


def _f1(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    tp, fp, fn = counts
    return 2 * tp, 2 * tp + fp + fn
