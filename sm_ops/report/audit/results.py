"""A finished audit as numbers: a row a defence, every measure of every attack, and what was not tried."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sm_ops.attacks.measures import headline_labels
from sm_ops.core import registry
from sm_ops.core.home import Run
from sm_ops.masking.conditions import BASE
from sm_ops.report.audit.claims import claims
from sm_ops.report.audit.measures import headline, key, over_seeds, perplexity, placed, unsubtracted
from sm_ops.report.audit.untried import not_tried
from sm_ops.report.audit.words import CANDIDATES, GOLD, LIMITS, name_of, table_lines
from sm_ops.report.outputs import Outputs, stage_times
from sm_ops.report.words import claim_lines, paragraph

FORMAT = "audit-results/1"
STAGES = (
    "audit_data", "base", "audit_prepare", "audit_train", "audit_shadow", "audit_attack", "audit_measure", "evaluate"
)  # fmt: skip
NEXT = "sm-ops validate audit_paper (a larger audit), sm-ops report --json (the numbers), sm-ops attack (own models)"

Json = dict[str, Any]


@dataclass(frozen=True)
class _Cell:
    """A model and a seed: perplexity, how it was trained (None for the base model), and by attack what was found."""

    perplexity: Json
    training: Json | None
    attacked: Json

    def measures(self, attack: str) -> list[Json]:
        """What an attack amounts to; nothing where it was not made."""
        return placed(self.attacked[attack]["measures"]) if attack in self.attacked else []


def load_results(run: Run, home: Path) -> Json:
    """All numbers of an audit, as JSON; undefined ones are null. Raises `InputError` where an output is not stored.

    `rows` has one entry a defence and one for the model before fine-tuning, `base`: `perplexity` and, by attack,
    `leakage` (its headline measure, null where it has none) and `unsubtracted` (the same without baseline
    subtraction), each over seeds as `measures.over_seeds` says; `epsilon` is the largest that a seed's training spent.
    `per_seed` has the same of every seed. `measures` holds every measure of every attack by defence, over seeds.
    `tried` says with which knowledge and settings.
    """
    outputs, seeds = Outputs(run, home), run.config["seeds"]
    defences, attacks = _ordered(run.config)
    data = outputs.json("audit_data", "statistics.json")
    cells = {name: [_read(outputs, name, seed) for seed in seeds] for name in (BASE, *defences)}
    tuned = [cell for name, own in cells.items() if name != BASE for cell in own]
    selectors = {name: _selector(name, tuned) for name in attacks}
    rows = [_row(name, own, selectors) for name, own in cells.items()]
    return {
        "format": FORMAT,
        "run": {"id": run.id, "name": run.name, "finished": run.finished, "seeds": seeds},
        "data": {name: data[name] for name in ("corpus", "unit", "tagger", "records")},
        "statistics": data["classes"],
        "tried": [_tried(name, selector, cells) for name, selector in selectors.items()],
        "rows": rows,
        "per_seed": [
            {"seed": seed, **_row(name, [cell], selectors)}
            for name, own in cells.items()
            for seed, cell in zip(seeds, own, strict=True)
        ],
        "measures": [each for name, own in cells.items() for each in _measures(name, own, selectors)],
        "prepared": [{"defence": name, **outputs.json(f"audit_prepare@{name}", "prepared.json")} for name in defences],
        "trained": [
            {"defence": name, "seed": seed, **(cell.training or {})}
            for name in defences
            for seed, cell in zip(seeds, cells[name], strict=True)
        ],
        "stages": stage_times(run, STAGES),
        "claims": claims(rows, defences),
        "not_tried": not_tried(run.config | {"attacks": attacks}, data["classes"]),
        "limits": [*LIMITS, *_of_this_run(run.config, rows)],
    }


def print_table(results: Json) -> None:
    """The audit on standard output: a row a defence, what it shows in words, what was not tried, what it is not."""
    claimed = claim_lines(results["claims"]) if results["claims"] else ["No two models of this run are compared."]
    print("\n".join(table_lines(results)))
    for said in (claimed, results["not_tried"], results["limits"]):
        print("", *(line for sentence in said for line in paragraph(sentence)), sep="\n")


def _ordered(config: Json) -> tuple[Json, Json]:
    """Defences and attacks in an order of their own: a stored config has forgotten the one that was written."""
    from sm_ops.core.config.attacks import ATTACKS

    masks, known = ("none", "surprise", "goldfish"), list(ATTACKS)

    def done(item: tuple[str, Json]) -> tuple[Any, ...]:
        name, each = item
        return masks.index(each["mask"]), each["dedup"], each["private"], each["scrub"], name

    attacks = sorted(config["attacks"], key=lambda name: (known.index(name) if name in known else len(known), name))
    return dict(sorted(config["defences"].items(), key=done)), {name: config["attacks"][name] for name in attacks}


def _selector(attack: str, cells: Sequence[_Cell]) -> Json:
    """The labels of the measure of the leakage table, the same for all rows."""
    return headline_labels(registry.load("attack", attack), [each for cell in cells for each in cell.measures(attack)])


def _read(outputs: Outputs, name: str, seed: int) -> _Cell:
    cell = f"{name}-{seed}"
    return _Cell(
        perplexity(outputs.json(f"evaluate@{cell}", "utility.json")),
        None if name == BASE else outputs.json(f"audit_train@{cell}", "training.json"),
        outputs.json(f"audit_measure@{cell}", "measures.json"),
    )


def _row(name: str, cells: Sequence[_Cell], selectors: Json) -> Json:
    spent = [cell.training for cell in cells if cell.training and cell.training.get("epsilon") is not None]
    quality = over_seeds([cell.perplexity for cell in cells])
    return {
        "defence": name,
        "perplexity": quality | {"se": None} if name == BASE else quality,  # one model, whatever the seed
        "epsilon": max((each["epsilon"] for each in spent), default=None),
        "delta": max((each["delta"] for each in spent), default=None),
        "unit": next((each["unit"] for each in spent), None),
        "leakage": _chosen(headline, cells, selectors),
        "unsubtracted": _chosen(unsubtracted, cells, selectors),
    }


def _chosen(
    choose: Callable[[Sequence[Json], Json], Json | None], cells: Sequence[_Cell], selectors: Json
) -> dict[str, Json | None]:
    """By attack the measure that stands for it, over seeds; None where it was not made or has none."""
    chosen = {}
    for attack, selector in selectors.items():
        found = [each for cell in cells if (each := choose(cell.measures(attack), selector)) is not None]
        chosen[attack] = over_seeds(found) if found else None
    return chosen


def _measures(name: str, cells: Sequence[_Cell], selectors: Json) -> Iterator[Json]:
    """Every measure of a model over seeds; `headline` marks those of the leakage table."""
    for attack, selector in selectors.items():
        found: dict[Any, list[Json]] = {}
        for cell in cells:
            for each in cell.measures(attack):
                found.setdefault(key(each), []).append(each)
        chosen = {key(each) for cell in cells if (each := headline(cell.measures(attack), selector)) is not None}
        for labels, own in found.items():
            yield {"defence": name, "attack": attack, "headline": labels in chosen, **over_seeds(own)}


def _tried(attack: str, selector: Json, cells: dict[str, list[_Cell]]) -> Json:
    """What an attacker of this kind knew, how it was set, and the name of the measure that stands for it."""
    own = [cell.attacked[attack] for each in cells.values() for cell in each if attack in cell.attacked]
    first = own[0] if own else {"knowledge": None, "settings": {}}
    told = {name: first[name] for name in ("knowledge", "settings")}
    return {"attack": attack, "measure": name_of(selector), "models": len(own), **told}


def _of_this_run(config: Json, rows: Iterable[Json]) -> Iterator[str]:
    """What this run's numbers do not say because of how it was set."""
    if "inference" in config["attacks"]:
        yield CANDIDATES
    if "extraction" in config["attacks"] and config["tagger"] == "gold":
        yield GOLD
    for unit in dict.fromkeys(row["unit"] for row in rows if row["unit"] is not None):
        yield (
            f"Differential privacy protects one {unit}, whatever stands in it. It does not protect a value that many "
            "of them share: see leakage by occurrences."
        )
    if len(config["seeds"]) == 1:
        yield "One seed: how much training and sampling by chance move these numbers is unknown."
