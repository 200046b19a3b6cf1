"""An audit of any model with any labelled records: attacks, a public model beside it, and what was not tried.

The report holds names, settings, counts and measures; no text of the data, and no string that a model gave back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sm_ops.attacks import untried
from sm_ops.attacks.material import Material, Shadow
from sm_ops.attacks.measures import headline_labels
from sm_ops.attacks.models import Models, place
from sm_ops.attacks.public import settings_on_public
from sm_ops.attacks.running import check_lengths, run_attack
from sm_ops.core import registry
from sm_ops.core.errors import InputError
from sm_ops.core.fs import existing
from sm_ops.core.records import Record
from sm_ops.core.registry import did_you_mean
from sm_ops.core.seeds import derive
from sm_ops.core.settings import Settings
from sm_ops.core.types import Progress, unheard
from sm_ops.data.records import read_records
from sm_ops.data.statistics import statistics
from sm_ops.detectors.classes import class_of
from sm_ops.detectors.taggers import load_tagger, relabel

FORMAT = "attack/1"

Watch = Callable[[str], AbstractContextManager[Progress]]
"""Opens the progress of a task by its name; what it gives is called with (done, all)."""

_WITHOUT_MENTIONS = ("membership",)


@dataclass(frozen=True)
class Audit:
    """What is to be audited: names of attacks with their settings, of models, and files of records.

    `shadows` are pairs of a model and the records that it was trained on. `model_settings` go to the member of the
    kind `model` that `backend` names. `base` is what adapters among the models are put onto. `classes` empty: all.
    """

    attacks: Mapping[str, Mapping[str, Any]]
    model: str
    records: Path
    baseline: str | None = None
    others: Path | None = None
    tagger: str = "gold"
    base: str | None = None
    classes: Sequence[str] = ()
    shadows: Sequence[tuple[str, Path]] = ()
    fill: str | None = None
    backend: str = "hf"
    model_settings: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0


def run(audit: Audit, watch: Watch = lambda task: nullcontext(unheard)) -> dict[str, Any]:
    """The report as JSON (format `attack/1`); `InputError` before any model is loaded where something is missing."""
    attacks = {name: registry.load("attack", name) for name in audit.attacks}
    if "membership" in attacks and audit.others is None:
        raise InputError(
            "no-others", "The attack membership needs records that the model never saw; name them with --others."
        )
    named = [audit.model, *([audit.baseline] if audit.baseline else []), *(name for name, _ in audit.shadows)]
    models = Models(named, audit.base, audit.backend, audit.model_settings)
    material, counts = _material(audit)
    seen = _seen(audit, material)
    model = models.load(audit.model)
    baseline = None if audit.baseline is None else models.load(audit.baseline)
    shadows = [Shadow(models.load(name), ids) for name, ids in seen]
    material = replace(material, shadows=shadows, fill=_filler(audit.fill))
    check_lengths(audit.attacks, model.context, len(model.prefix))
    done = {}
    for name, attack in attacks.items():
        chosen, seed = audit.attacks[name], derive(audit.seed, "attack", name)
        with watch(f"steps of {name}") as told:
            rows = run_attack(name, model, material, chosen, seed, told)
        public = None
        if baseline is not None:
            with watch(f"steps of {name} on the public model") as told:
                public = run_attack(name, baseline, material, settings_on_public(chosen), seed, told)
        measures = attack.summary(rows, public, Settings(chosen))
        done[name] = {
            "knowledge": attack.KNOWLEDGE,
            "headline": headline_labels(attack, measures),
            "settings": dict(chosen),
            "measures": measures,
            "baseline": None if public is None else attack.summary(public, None, Settings(chosen)),
        }
    return {
        "format": FORMAT,
        "model": audit.model,
        "baseline": audit.baseline,
        "model_settings": {"backend": audit.backend, **models.settings},
        "notes": models.notes,
        "records": str(audit.records),
        "others": None if audit.others is None else {"records": len(material.others), "file": str(audit.others)},
        "tagger": audit.tagger,
        "classes": list(material.classes),
        "shadows": len(shadows),
        "fill": audit.fill,
        "seed": audit.seed,
        "statistics": counts,
        "attacks": done,
        "not_tried": not_tried(audit, {row["class"] for row in counts} - {"all"}),
    }


def settings_of(attacks: Sequence[str], overrides: list[str] | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Settings of each attack with their defaults, and what is given of the model's (`model.dtype=...`).

    A key is `ATTACK.NAME`, or NAME alone where one of the attacks has it. Raises `InputError` for an unknown attack or
    setting, with the nearest ones, and for a name that several of the attacks have.
    """
    from sm_ops.core.config import parsed, validated
    from sm_ops.core.config.attacks import ATTACKS

    for name in attacks:
        registry.load("attack", name)
    given: dict[str, dict[str, Any]] = {name: {} for name in [*attacks, "model"]}
    fields = {name: set(ATTACKS[name].model_fields) if name in ATTACKS else set() for name in attacks}
    for key, value in parsed(overrides).items():
        if key in given and isinstance(value, dict):
            given[key] |= value
            continue
        if key in given:
            raise InputError("no-section", f"--set {key}: it has settings of its own; write {key}.NAME=VALUE.")
        if key in registry.members("attack") and isinstance(value, dict):
            raise InputError("attack-not-chosen", f"--set {key}: add --attack {key}, or leave the setting out.")
        owners = [name for name in attacks if key in fields[name]]
        if len(owners) > 1:
            which = " or ".join(f"{name}.{key}" for name in owners)
            raise InputError("ambiguous-setting", f"--set {key}: {len(owners)} of the attacks have it; write {which}.")
        if not owners:
            near = did_you_mean(key, {"model", *attacks, *set().union(*fields.values())})
            raise InputError("unknown-setting", f"--set {key}: none of the attacks has this setting; {near}.")
        given[owners[0]][key] = value
    chosen = {
        name: validated(ATTACKS[name], given[name], f"--set {name}").model_dump(mode="json")
        if name in ATTACKS
        else given[name]
        for name in attacks
    }
    return chosen, given["model"]


def not_tried(audit: Audit, found: set[str]) -> list[str]:
    """In words: other attacks, settings and classes, and knowledge that the attacker was not given."""
    said = []
    if audit.baseline is None:
        said.append("A comparison with a public model (--baseline): what any model would know counts as leakage here.")
    if audit.others is None:
        said.append("Records that the model never saw (--others).")
    classes = [class_of(name) for name in audit.classes]
    shadows, filled = len(audit.shadows), audit.fill is not None
    of_all = untried.not_tried(
        audit.attacks, classes, found, audit.tagger, shadows, filled, option=lambda name: f" (--{name})"
    )
    return [*of_all, *said]


def _material(audit: Audit) -> tuple[Material, list[dict[str, Any]]]:
    """Records with the tagger's spans, and their counts by class."""
    records = _read(audit.records)
    others = [] if audit.others is None else _read(audit.others)
    needed = any(name not in _WITHOUT_MENTIONS for name in audit.attacks)
    if needed and "gold" in audit.tagger.split("+") and not any(record.spans for record in records):
        raise InputError(
            "no-spans",
            f"{audit.records} has no labelled span; label its records, or name a tagger that finds mentions "
            "(--tagger regex).",
        )
    tagger = load_tagger(audit.tagger, [*records, *others])
    members = relabel(records, tagger)
    counts = statistics(members)
    found = sorted(row["class"] for row in counts if row["class"] != "all")
    classes = [class_of(name) for name in audit.classes]
    if needed and (missing := [name for name in classes if name not in found] or ([] if found else ["any class"])):
        hint = f"there are {', '.join(found)}" if found else "name another tagger (--tagger)"
        lacking = f"The tagger {audit.tagger} finds no mention of {missing[0]} in {audit.records}"
        raise InputError("no-mention", f"{lacking}; {hint}.")
    return Material(members, relabel(others, tagger), tagger=tagger, classes=classes), counts


def _read(path: Path) -> list[Record]:
    records = list(read_records(existing(path)))
    if not records:
        raise InputError("no-records", f"{path} holds no record; name a file with at least one.")
    return records


def _seen(audit: Audit, material: Material) -> list[tuple[str, frozenset[str]]]:
    """Each shadow model and the ids that it saw; an id must mean the same text in all files."""
    known = {record.id: record.content for record in (*material.records, *material.others)}
    found = []
    for name, path in audit.shadows:
        records = _read(path)
        if any(known.get(record.id, record.content) != record.content for record in records):
            raise InputError(
                "shadow-ids",
                f"{path}: an id stands for another text in the audited records, so it is unknown what the shadow model "
                "saw; give every text an id of its own.",
            )
        found.append((name, frozenset(record.id for record in records)))
    return found


def _filler(name: str | None) -> Callable[[Sequence[str]], list[str]] | None:
    if name is None:
        return None
    from sm_ops.attacks.filling import load_filler

    return load_filler(place(name))
