"""Sanitization's steps: a matrix of filters and folds, measured fold by fold, and one redaction."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from sm_ops.core.fetched import located
from sm_ops.core.home import home_folder
from sm_ops.core.registry import members
from sm_ops.core.stage import Output, Step
from sm_ops.detectors import named
from sm_ops.plans.references import is_fitted, places
from sm_ops.plans.steps import make_step, outputs_of
from sm_ops.sanitizing.rules import check_published
from sm_ops.stages import SAN_CORPUS, SAN_FIT, SAN_LEVELS, SAN_MEASURE, SAN_REDACT, SAN_TUNE

ABOUT = {"corpus": ("san_corpus", "corpus.json")}


def folds_of(config: dict[str, Any]) -> list[str]:
    """The names of the corpus's folds; `0` alone where it is not cut."""
    return [str(number) for number in range(config["corpus"]["folds"] or 1)]


def plan(config: dict[str, Any]) -> list[Step]:
    """The steps of a run, each after those it reads. Raises `InputError` for an unknown published rule."""
    config, folds = located(config, home_folder()), folds_of(config)
    for name, each in config["filters"].items():
        check_published(name, each["rule"])
    names = (f"{side}-{fold}.jsonl" for fold in folds for side in ("validation", "records"))
    outputs = tuple(Output(name, "restricted") for name in names)
    families = Path(config["corpus"]["families"] or "")
    file = ("corpus.families",) if families.suffix else ()  # elsewhere the name of a map that comes with the package
    corpus = replace(SAN_CORPUS, outputs=SAN_CORPUS.outputs + outputs, places=SAN_CORPUS.places + file)
    steps = [make_step(corpus, config, inputs={}, own={"readers": members("corpus")})]
    for fold in folds:
        steps += _fold(config, fold)
    steps.append(make_step(SAN_REDACT, config, inputs=ABOUT | _redacted(config, folds)))
    return steps


def _fold(config: dict[str, Any], fold: str) -> list[Step]:
    """The steps of one fold: what is fitted, the levels of every filter, and what they are worth."""
    labelled = {"validation": ("san_corpus", f"validation-{fold}.jsonl")}
    sides = labelled | {"records": ("san_corpus", f"records-{fold}.jsonl")}
    public = outputs_of("san_corpus", "public.jsonl")
    steps, levels, references = [], {}, config["references"]
    fitted = {name for name, each in references.items() if is_fitted(each)}
    used = {each["reference"] for each in config["filters"].values()}
    for name in sorted(fitted & used):
        own, called = {"reference": references[name]}, {"reference": f"references.{name}"}
        inputs = labelled | public
        steps.append(make_step(SAN_FIT, config, inputs=inputs, cell=(name, fold), own=own, called=called))
    for name, each in config["filters"].items():
        inputs = sides | ABOUT | _model(each["reference"], fitted, fold)
        detectors, files = _named(name, each)
        called = {"filter": f"filters.{name}", "reference": f"references.{each['reference']}"}
        if each["detector"] in TRAINED and "model" not in each["settings"]:
            own = {"filter": each, "detectors": detectors}
            tune = replace(SAN_TUNE, places=files)
            steps.append(make_step(tune, config, inputs=labelled, cell=(name, fold), own=own, called=called))
            inputs |= {"fitted": (f"san_tune@{name}-{fold}", "model")}
        own = {
            "name": name,
            "filter": each,
            "reference": references.get(each["reference"]),
            "detectors": detectors,
            "rules": {} if each["detector"] else members("rule"),
            "windows": {} if each["detector"] else members("window"),
        }
        stage = replace(SAN_LEVELS, places=_places(own["reference"]) + files)
        steps.append(make_step(stage, config, inputs=inputs, cell=(name, fold), own=own, called=called))
        for side in ("validation", "records"):
            levels[f"levels/{name}/{side}"] = (steps[-1].name, f"{side}.parquet")
    first = next((each["reference"] for each in config["filters"].values() if each["reference"]), None)
    inputs = sides | ABOUT | levels | _model(first, fitted, fold)
    measure = replace(SAN_MEASURE, places=_places(references[first] if first else None))
    own, called = {"reference": references[first] if first else None}, {"reference": f"references.{first}"}
    steps.append(make_step(measure, config, inputs=inputs, cell=(fold,), own=own, called=called))
    return steps


def _model(name: str | None, fitted: set[str], fold: str) -> dict[str, tuple[str, str]]:
    return {"fitted": (f"san_fit@{name}-{fold}", "model")} if name in fitted else {}


def _named(filter_: str, own: dict[str, Any]) -> tuple[dict[str, dict[str, Any]], tuple[str, ...]]:
    """The detectors of a filter, and the settings that may name their files; none of a scorer."""
    name, settings = own["detector"], own["settings"]
    if name is None:
        return {}, ()
    detectors = named.detectors(name, settings, f"filters.{filter_}.settings")
    return detectors, tuple(f"filter.settings.{each}" for each in named.places(name, settings))


TRAINED = ("classifier",)
"""Detectors that are trained on the validation side."""


def _places(reference: dict[str, Any] | None) -> tuple[str, ...]:
    return () if reference is None else places(reference)


def _redacted(config: dict[str, Any], folds: list[str]) -> dict[str, tuple[str, str]]:
    """What the redaction reads of each fold: its records, its measures, and the levels of all filters."""
    inputs = {}
    for fold in folds:
        inputs[f"records/{fold}"] = ("san_corpus", f"records-{fold}.jsonl")
        inputs[f"measures/{fold}"] = (f"san_measure@{fold}", "measures.json")
        for name in config["filters"]:
            inputs[f"levels/{fold}/{name}"] = (f"san_levels@{name}-{fold}", "records.parquet")
    return inputs
