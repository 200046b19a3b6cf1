"""An audit's recipe before it runs: its arithmetic, and a training and every attack on a small random model.

Nothing is downloaded. The small model is of the class of the base model, its tokenizer one of bytes, and what it is
attacked for stands in a few generated court-like records.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from sm_ops.attacks.running import check_lengths
from sm_ops.core import registry
from sm_ops.core.records import Record
from sm_ops.core.settings import Settings
from sm_ops.data.units import cut
from sm_ops.detectors.taggers import load_tagger
from sm_ops.training.shapes import model_facts, model_lines, shape_of, small

Facts = dict[str, Any]

QUICK = {
    "tokens": 64, "length": 16, "batch_size": 4, "points": 1, "targets": 1, "cases": 1, "samples": 4, "sizes": (2,),
    "canaries": 1, "space": 4, "sentences": 4, "budgets": (1,),
}  # fmt: skip
"""What of the attacks' settings the trial makes small, where an attack has it."""

CONTEXT = 64


def check(config: dict[str, Any]) -> Facts:
    """What a resolved config amounts to; raises `InputError` where it cannot work.

    Sections: `data` (where the documents come from, and whether they are there), `schedule` (trainings, attacks),
    `model` and `lora` as for the main job, `trial`. What cannot be known without a network or the data is None.
    """
    settings = Settings(config)
    shape = shape_of(settings.base, Settings({"method": "continue"}))
    facts: Facts = {"name": settings.name, "data": _data(settings.data), "schedule": _schedule(config)}
    facts["model"], facts["lora"], facts["trial"] = {"name": settings.base.name, "class": None}, None, None
    if shape is not None:
        facts["model"], facts["lora"] = model_facts(settings, shape)
        check_lengths(config["attacks"], facts["model"]["positions"], before=1)
        facts["trial"] = _trial(config, shape)
    return facts


def describe(facts: Facts) -> list[str]:
    """The facts in plain lines."""
    data, schedule, trial = facts["data"], facts["schedule"], facts["trial"]
    lines = [
        f"{facts['name']}: {schedule['defences']} defences x {schedule['seeds']} seeds, {schedule['shadows']} shadow "
        f"models; attacks: {', '.join(schedule['attacks'])}",
        _data_line(data),
        f"training: {schedule['method']}, {schedule['batch']} records a step, {_passes(schedule)}",
    ]
    if schedule["private"] is not None:
        private = schedule["private"]
        lines.append(
            f"private: epsilon {private['target_epsilon']:g} a {private['unit']}, delta "
            f"{'1/records' if private['delta'] is None else format(private['delta'], 'g')}, norm "
            f"{private['max_grad_norm']:g}, {private['batch']} {private['unit']}s a step, {private['epochs']} passes"
        )
    lines += model_lines(facts["model"], facts["lora"])
    if trial is not None:
        private = ", a private one" if trial["private"] else ""
        lines.append(
            f"trial: on a random two-layer {trial['class']} one step{private} and every attack went well "
            f"({trial['rows']} rows, {trial['measures']} measures)"
        )
    return lines


def _data(data: Settings) -> Facts:
    present = data.path is None or Path(data.path).exists()
    return {"corpus": data.corpus, "unit": data.unit, "path": data.path, "present": present, "absent": data.absent}


def _data_line(data: Facts) -> str:
    line = f"documents: {data['corpus']}, cut into {data['unit']}s"
    if data["present"]:
        return line
    if data["absent"] == "court":
        return f"{line}; {data['path']} is not there, so generated ones take their place"
    return f"{line}; {data['path']} is not there yet: put them there, or name them with data.path=PATH"


def _schedule(config: Facts) -> Facts:
    train, private = config["train"], config["private"]
    own = {name: train[name] if private[name] is None else private[name] for name in ("epochs", "batch_size")}
    used = any(defence["private"] for defence in config["defences"].values())
    return {
        "defences": len(config["defences"]),
        "seeds": len(config["seeds"]),
        "shadows": config["shadows"]["count"],
        "attacks": list(config["attacks"]),
        "method": train["method"],
        "batch": train["batch_size"] * train["accumulation"],
        "epochs": train["epochs"],
        "patience": train["patience"],
        "private": {
            **{name: private[name] for name in ("target_epsilon", "delta", "max_grad_norm", "unit")},
            "epochs": own["epochs"],
            "batch": own["batch_size"] * train["accumulation"],
        }
        if used
        else None,
    }


def _passes(schedule: Facts) -> str:
    if schedule["patience"] is None:
        return f"{schedule['epochs']} passes"
    return f"until {schedule['patience']} without a better validation perplexity, at most {schedule['epochs']} passes"


def _trial(config: Facts, shape: Any) -> Facts:
    """Train a step, privately too where the audit does, and attack, on the CPU."""
    from sm_ops.scoring.models.hf import HFModel
    from sm_ops.training.tiny import train_tokenizer

    records = _records()
    rows = measures = 0
    with tempfile.TemporaryDirectory() as folder:
        tokenizer = train_tokenizer([record.content for record in records], 300, Path(folder) / "tokenizer")
        model = small(shape)
        model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
        private = _train(config, model, tokenizer, records, Path(folder))
    attacked = HFModel(model.eval(), tokenizer, 256)
    material = _material(attacked, records)
    for name, settings in config["attacks"].items():
        attack = registry.load("attack", name)
        quick = Settings({**settings, **{key: value for key, value in QUICK.items() if key in settings}})
        found = attack.run(attacked, material, quick, 0)
        rows += len(found)
        measures += len(attack.summary(found, found, quick))
    return {"class": type(model).__name__, "private": private, "rows": rows, "measures": measures}


def _records() -> list[Record]:
    court = registry.load("corpus", "court")
    return cut(court.read(None, {"documents": 2, "seed": 0, "cast": "members"}), "paragraph")[:12]


def _material(model: Any, records: list[Record]) -> Any:
    from sm_ops.attacks.material import Material, Shadow

    middle = len(records) // 2
    halves = records[:middle], records[middle:]
    return Material(
        records=halves[0],
        others=halves[1],
        tagger=load_tagger("gold", records),
        shadows=[Shadow(model, frozenset(record.id for record in half)) for half in halves],
    )


def _train(config: Facts, model: Any, tokenizer: Any, records: list[Record], scratch: Path) -> bool:
    """One optimiser step of each kind of training that the audit has."""
    from sm_ops.scoring.tokenize import separator_id, tokenize_all
    from sm_ops.training import lora, packing, private, trainer
    from sm_ops.training.masked import unmasked
    from sm_ops.training.recipe import ONCE

    separator = separator_id(tokenizer)
    rows = packing.texts(unmasked(records, tokenize_all(records, tokenizer)), separator, CONTEXT)[:2]
    train = Settings({**config["train"], **ONCE})
    tuned = lora.wrap(model, train.lora) if train.method == "lora" else model
    trainer.fit(tuned, rows, separator, train, 0, scratch / "plain")
    used = any(defence["private"] for defence in config["defences"].values())
    if used:
        chosen = Settings({**config["private"], "noise_multiplier": 1.0, "delta": 0.1, "unit": "record"})
        private.fit_private(tuned, rows, [None] * len(rows), separator, train, chosen, 0, scratch / "private")
    return used
