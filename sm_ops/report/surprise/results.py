"""A finished run as numbers: rows by condition, pooled over seeds and by seed, and what explains them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sm_ops.attacks.members.prefix_extraction import expected_exact
from sm_ops.core.home import Run
from sm_ops.evaluation import answer_claims, frontier
from sm_ops.evaluation.frontier import pareto, points_of
from sm_ops.masking.conditions import BASE, ORACLE, UNMASKED, trained_in
from sm_ops.masking.rules import settings_at
from sm_ops.metrics import clustered_rate, standard_error, wilson
from sm_ops.report.costs import selecting
from sm_ops.report.outputs import Outputs, stage_times
from sm_ops.report.surprise import answers
from sm_ops.report.surprise.measures import error_over, likelihood_of, perplexity
from sm_ops.report.surprise.tables.build import tables_of
from sm_ops.report.surprise.words import base_learnt_mixture, table_lines, verdict_lines
from sm_ops.report.words import claim_lines, rule_name

FORMAT = "results/1"
SCORES = ("approx", "exact")
STAGES = (
    "synthesize", "audit", "execute", "general", "base", "fit", "score", "detect", "calibrate", "mask", "redact",
    "train", "attack", "evaluate", "complete", "assess",
)  # fmt: skip
NEXT = "sm-ops sweep (a larger picture), sm-ops show (what is stored), sm-ops report --json (the numbers)"

Json = dict[str, Any]


def load_results(run: Run, home: Path) -> Json:
    """All numbers of a run, as JSON; undefined ones are null (DESIGN, law 8).

    `rows` has one entry per condition, pooled over seeds with intervals clustered by canary; `per_seed` one per
    condition and seed with Wilson intervals. A rate is `{k, n, low, high}`, its interval one of 95 %; `nll` is in
    nats per token of the held-out records, `nll_se` its standard error over seeds, `nll_change` its change against
    unmasked. Extraction counts hits within the largest budget; `expected_exact` is its closed form, the mean over
    canaries of 1 - (1 - p)^budget; n is 0 where nothing was attacked. `pass_at`, `display` and `completion_nll` are of
    answers to held-out prompts (see `answers`). `likelihood` names the NLL that utility, frontier and `perplexity`
    take: `completion_nll` where it was measured. `run.floor`: the base model never saw the private values.
    Raises `InputError` where an output is no longer stored.
    """
    outputs = Outputs(run, home)
    covered = outputs.json("mask", "coverage.json")
    budgets = sorted(run.config["attack"]["budgets"])
    masks = {name: mask for name, (mask, _) in trained_in(run.config).items()}
    coverage = {name: covered[mask] for name, mask in masks.items()}
    conditions = [BASE, *masks]
    cells = {
        condition: [_read_cell(run, outputs, condition, seed, budgets[-1]) for seed in run.config["seeds"]]
        for condition in conditions
    }
    rows = [_pooled_row(condition, cells, coverage) for condition in conditions]
    choices = [point for name, point in points_of(rows).items() if name not in (BASE, ORACLE)]
    best = pareto(choices)
    for row in rows:
        row["on_frontier"] = None if row["condition"] in (BASE, ORACLE) else row["condition"] in best
    results = {
        "format": FORMAT,
        "run": {
            "id": run.id,
            "name": run.name,
            "finished": run.finished,
            "method": run.config["train"]["method"],
            "floor": not base_learnt_mixture(run.config),
        },
        "likelihood": likelihood_of(rows).name,
        "rows": rows,
        "per_seed": [
            {"condition": name, "seed": cell.seed, **_masked(coverage.get(name)), **_measured([cell])}
            for name, own in cells.items()
            for cell in own
        ],
        "by_kind": list(_by_kind(cells)),
        "by_quirk": [each for name, own in cells.items() for each in answers.by_quirk(name, _assessed(own))],
        "by_family": [each for name, own in cells.items() for each in answers.by_family(name, _assessed(own))],
        "curve": [_curve_point(name, own, budget) for name, own in cells.items() for budget in budgets],
        "canaries": list(_by_canary(cells, coverage)),
        **_calibration(outputs, run.config["masking"], covered),
        "detectors": _detectors(outputs, run.config["masking"]),
        "separations": list(_separations(run, outputs)),
        "stages": stage_times(run, STAGES),
        "lora": _lora(run),
        "trainings": _trainings(run, masks),
        "claims": [asdict(claim) for claim in _claims(rows, floor=not base_learnt_mixture(run.config))],
    }
    return results | {"tables": tables_of(run, results)}


def print_table(results: Json) -> None:
    """The run on standard output: at most ten rows, the verdict on the reference, the claims in words."""
    for line in (*table_lines(results["rows"]), "", *verdict_lines(results), "", *claim_lines(results["claims"])):
        print(line)


@dataclass(frozen=True)
class _Cell:
    """One condition and seed: the attack's outcomes as arrays over canaries (none where it has none), and the utility.

    `first` holds the number of the first hit by score, infinity where there is none; `p` the chance of an exact one.
    """

    seed: int
    budget: int
    ids: list[str]
    kinds: list[str]
    first: dict[str, np.ndarray]
    p: np.ndarray
    nll: float | None
    completion_nll: float | None
    assessment: Json | None

    def only(self, kind: str) -> _Cell:
        """The cell with the canaries of one kind alone."""
        kept = [index for index, own in enumerate(self.kinds) if own == kind]
        first = {score: values[kept] for score, values in self.first.items()}
        ids = [self.ids[index] for index in kept]
        return replace(self, ids=ids, kinds=[kind] * len(kept), first=first, p=self.p[kept])


def _read_cell(run: Run, outputs: Outputs, condition: str, seed: int, budget: int) -> _Cell:
    cell = f"{condition}-{seed}"

    def read(stage: str, output: str) -> Any:
        step = f"{stage}@{cell}"
        return outputs.json(step, output) if step in run.steps else None

    outcomes = read("attack", "outcomes.json") or []
    utility = outputs.json(f"evaluate@{cell}", "utility.json")
    tokens = sum(utility["tokens"])
    return _Cell(
        seed=seed,
        budget=budget,
        ids=[outcome["id"] for outcome in outcomes],
        kinds=[outcome["kind"] for outcome in outcomes],
        first={
            score: np.array([np.inf if (hit := o[f"first_{score}"]) is None else hit for o in outcomes])
            for score in SCORES
        },
        p=np.array([outcome["p_exact"] for outcome in outcomes]),
        nll=-sum(utility["logprob_sums"]) / tokens if tokens else None,
        completion_nll=answers.completion_nll(utility, run.config.get("completions", {}).get("prompts")),
        assessment=read("assess", "assessment.json"),
    )


def _assessed(cells: Sequence[_Cell]) -> list[Json]:
    return [cell.assessment for cell in cells if cell.assessment is not None]


def _pooled_row(condition: str, cells: dict[str, list[_Cell]], coverage: Json) -> Json:
    own = cells[condition]
    row = {
        "condition": condition,
        "seed": None,
        "seeds": len(own),
        **_masked(coverage.get(condition)),
        **_measured(own),
        "pass_se": error_over(answers.pass_at(_assessed([cell])) for cell in own),
        "display_se": error_over(answers.display(_assessed([cell])) for cell in own),
    }
    for name in ("nll", "completion_nll"):
        row |= _over_seeds(name, [getattr(cell, name) for cell in own], [getattr(c, name) for c in cells[UNMASKED]])
    if condition == BASE:  # one model, whatever the seed: its own numbers have no error over training seeds
        row |= dict.fromkeys(("nll_se", "completion_nll_se", "expected_exact_se", "pass_se", "display_se"))
    found = perplexity(row)
    return row | {"perplexity_se": None if found is None else found["error"]}


def _over_seeds(name: str, values: Sequence[float | None], unmasked: Sequence[float | None]) -> Json:
    """A likelihood's error, and its change against unmasked training of the same seed."""
    changes = [own / plain - 1 for own, plain in zip(values, unmasked, strict=True) if own and plain]
    return {
        f"{name}_se": standard_error(np.array([value for value in values if value is not None])),
        f"{name}_change": _mean(changes),
        f"{name}_change_se": standard_error(np.array(changes)),
    }


def _claims(rows: Sequence[Json], floor: bool) -> list[frontier.Claim]:
    """What is claimed of what was measured; a run that measured neither is told what it lacks of an attack."""
    answered = answer_claims.claims(rows)
    attacked = any(row["extraction_approx"]["n"] for row in rows)
    return [*(frontier.claims(rows, floor) if attacked or not answered else ()), *answered]


def _masked(covered: Json | None) -> Json:
    """What a condition's masks cover; nothing of it is defined for the base model, which has none."""
    if covered is None:
        names = ("budget_tokens", "target_coverage", "collateral_rate", "exposed_canaries", "occurrences")
        return dict.fromkeys(names)
    canaries = covered["canaries"].values()
    exposed = np.array([each["none"] > 0 for each in canaries], bool)
    return {
        "budget_tokens": covered["budget_tokens"],
        "target_coverage": covered["target_coverage"],
        "collateral_rate": covered["collateral_rate"],
        "exposed_canaries": _rate(exposed, wilson(int(exposed.sum()), len(exposed))),
        "occurrences": {how: sum(each[how] for each in canaries) for how in ("fully", "partly", "none")},
    }


def _measured(cells: Sequence[_Cell]) -> Json:
    likelihoods = {
        "nll": _mean([cell.nll for cell in cells if cell.nll is not None]),
        "completion_nll": _mean([cell.completion_nll for cell in cells if cell.completion_nll is not None]),
    }
    found = perplexity(likelihoods)
    return {
        **_extraction(cells, cells[0].budget),
        **likelihoods,
        "perplexity": None if found is None else found["value"],
        "pass_at": answers.pass_at(_assessed(cells)),
        "display": answers.display(_assessed(cells)),
    }


def _extraction(cells: Sequence[_Cell], budget: int) -> Json:
    """Both extraction rates within a budget, and the closed form of the exact one."""
    clusters = np.array([id_ for cell in cells for id_ in cell.ids])
    rates = {}
    for score in SCORES:
        hits = np.concatenate([cell.first[score] for cell in cells]) <= budget
        interval = clustered_rate(hits, clusters) if len(cells) > 1 else wilson(int(hits.sum()), len(hits))
        rates[f"extraction_{score}"] = _rate(hits, interval)
    expected = [_mean([expected_exact(p, budget) for p in cell.p.tolist()]) for cell in cells]
    defined = [value for value in expected if value is not None]
    return {**rates, "expected_exact": _mean(defined), "expected_exact_se": standard_error(np.array(defined))}


def _rate(hits: np.ndarray, interval: tuple[float, float] | None) -> Json:
    low, high = interval or (None, None)
    return {"k": int(hits.sum()), "n": len(hits), "low": low, "high": high}


def _by_kind(cells: dict[str, list[_Cell]]) -> Iterator[Json]:
    for condition, own in cells.items():
        for kind in sorted(set(own[0].kinds)):
            yield {
                "condition": condition,
                "kind": kind,
                **_extraction([cell.only(kind) for cell in own], own[0].budget),
            }


def _curve_point(condition: str, cells: Sequence[_Cell], budget: int) -> Json:
    return {"condition": condition, "budget": budget, **_extraction(cells, budget)}


def _by_canary(cells: dict[str, list[_Cell]], coverage: Json) -> Iterator[Json]:
    """Canaries as kind and number: occurrences by how they are masked, and hits over seeds."""
    for condition, own in cells.items():
        numbers: dict[str, int] = {}
        masked = coverage[condition]["canaries"] if condition in coverage else {}
        for index, (id_, kind) in enumerate(zip(own[0].ids, own[0].kinds, strict=True)):
            numbers[kind] = numbers.get(kind, 0) + 1
            hits = {f"hits_{score}": sum(bool(c.first[score][index] <= c.budget) for c in own) for score in SCORES}
            occurrences = masked.get(id_, dict.fromkeys(("fully", "partly", "none")))
            yield {
                "condition": condition,
                "canary": f"{kind} {numbers[kind]}",
                **occurrences,
                **hits,
                "seeds": len(own),
            }


def _calibration(outputs: Outputs, masking: Json, coverage: Json) -> Json:
    """Every reference with its verdict, and the chosen one's points on validation and on training records.

    A point's `tau` is its critical value; under the local rule, where that is minus a rank, `r_max` is the rule's own.
    """
    chosen = masking["reference"]
    references = outputs.json("calibrate", "calibration.json")["references"]
    application = outputs.json("mask", "application.json")
    return {
        "references": [
            {
                "reference": name,
                "chosen": name == chosen,
                "auroc": each["auroc"],
                "target_tokens": each["target_tokens"],
                "other_tokens": each["other_tokens"],
                "independent_units": each["independent_units"],
                "acceptable_coverage": each["acceptable"]["target_coverage"],
                **each["verdict"],
            }
            for name, each in references.items()
        ],
        "operating_points": [
            {
                "condition": name,
                "tau": point["tau"],
                "r_max": settings_at(masking["select"], point["tau"]).get("r_max"),
                "validation_coverage": point["target_coverage"],
                "validation_low": low,
                "validation_high": high,
                "training_coverage": coverage[name]["target_coverage"],
                "validation_collateral": point["collateral_rate"],
                "training_collateral": coverage[name]["collateral_rate"],
            }
            for name, point in references[chosen]["points"].items()
            for low, high in [point["interval"] or (None, None)]
        ],
        "bound": outputs.json("mask", "bound.json"),
        "application": {
            "acceptable_coverage": application["acceptable"]["target_coverage"],
            "gap": application["gap"],
        },
    }


def _detectors(outputs: Outputs, masking: Json) -> list[Json]:
    """Detectors as conditions: what chose the threshold (own, recall, max_f1), and what it covers on both splits."""
    names = masking.get("detectors", {})  # runs of earlier versions knew none
    found = outputs.json("mask", "detectors.json") if names else {}
    return [
        {
            "condition": name,
            **{key: each[key] for key in ("detector", "chosen", "target", "tau")},
            "validation_coverage": each["validation"]["target_coverage"],
            "validation_low": low,
            "validation_high": high,
            "training_coverage": each["training"]["target_coverage"],
            "validation_collateral": each["validation"]["collateral_rate"],
            "training_collateral": each["training"]["collateral_rate"],
        }
        for name in names
        for each in [found[name]]
        for low, high in [each["validation"]["interval"] or (None, None)]
    ]


def _separations(run: Run, outputs: Outputs) -> Iterator[Json]:
    """How well each reference's scores separate on validation, and the chosen one's on training records (section 5)."""
    masking = run.config["masking"]
    calibration = outputs.json("calibrate", "calibration.json")["references"]
    application = outputs.json("mask", "application.json")
    for name, validation in calibration.items():
        told = name == masking["reference"] and "curve" in application  # runs of earlier versions kept none
        sides = {"validation": validation, "application": application if told else None}
        score = run.steps.get(f"score@{name}", {"seconds": 0.0, "numbers": {}})
        yield {
            "setting": run.config["data"]["dataset"],
            "unit": "tokens",
            "score": rule_name(masking),
            "reference": name,
            **{side: own and _separation(own) for side, own in sides.items()},
            "attainable": {
                "collateral": masking["acceptable_collateral"],
                **{side: own and _value(own["acceptable"]["target_coverage"], None) for side, own in sides.items()},
            },
            "f1": {side: own and own.get("f1") for side, own in sides.items()},
            "verdict": {name: validation["verdict"][name] for name in ("decision", "reason")},
            **selecting(score["seconds"], score["numbers"].get("tokens")),
        }


def _separation(sample: Json) -> Json:
    curve = sample["curve"]
    return {
        "auroc": _value(sample["auroc"], sample.get("auroc_interval")),
        "roc": {"fpr": curve["collateral_rate"], "tpr": curve["target_coverage"]},
    }


def _value(value: float | None, interval: Sequence[float] | None) -> Json:
    low, high = interval or (None, None)
    return {"value": value, "low": low, "high": high}


_COUNTED = ("intervention", "records", "records_dropped", "records_cut", "records_without_loss")
_AVERAGED = ("effective_passes", "mean_multiplier")


def _trainings(run: Run, conditions: Iterable[str]) -> list[Json]:
    """By condition, what training did about masked, cut and dropped records: counts that no seed changes, and means
    over seeds with their standard errors.
    """
    found = []
    for condition in conditions:
        numbers = [run.steps[f"train@{condition}-{seed}"]["numbers"] for seed in run.config["seeds"]]
        row = {"condition": condition, **{name: numbers[0].get(name) for name in _COUNTED}}
        for name in _AVERAGED:
            values = [own[name] for own in numbers if own.get(name) is not None]
            row |= {name: _mean(values), f"{name}_se": standard_error(np.array(values))}
        found.append(row)
    return found


def _lora(run: Run) -> dict[str, int] | None:
    """Adapted layers by kind and trainable parameters; null where no adapters were trained."""
    for _, step in sorted(run.steps.items()):
        counts = {k.removeprefix("lora_"): n for k, n in sorted(step["numbers"].items()) if k.startswith("lora_")}
        if counts:
            return counts
    return None


def _mean(values: Iterable[float]) -> float | None:
    values = list(values)
    return sum(values) / len(values) if values else None
