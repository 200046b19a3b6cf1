"""What an audit has not tried, read off its config: attacks, their settings, knowledge, taggers, classes, defences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, get_args, get_origin

from sm_ops.core.registry import members

Json = dict[str, Any]


def not_tried(config: Json, statistics: Iterable[Json]) -> list[str]:
    """Sentences on what the run leaves out; `statistics` are the rows of the corpus, one a class."""
    return [
        *_attacks(config["attacks"]),
        *_knowledge(config),
        *_classes(config["classes"], statistics),
        *_taggers(config["tagger"]),
        *_defences(config["defences"].values()),
    ]


def _attacks(tried: Json) -> Iterator[str]:
    if absent := sorted(members("attack").keys() - tried.keys()):
        yield f"Attacks left out: {', '.join(absent)}."
    for name, settings in tried.items():
        others = [f"{field} {' and '.join(left)}" for field, left in _left_out(name, settings)]
        if others:
            yield f"Settings of {name} left out: {', '.join(others)}."


def _left_out(name: str, settings: Json) -> Iterator[tuple[str, list[str]]]:
    """The alternatives of each setting with a choice that the run did not take."""
    from sm_ops.core.config.attacks import ATTACKS

    for field, info in ATTACKS[name].model_fields.items() if name in ATTACKS else ():
        taken = settings.get(field)
        taken = taken if isinstance(taken, list) else [taken]
        if left := [str(choice) for choice in _choices(info.annotation) if choice not in taken]:
            yield field, left


def _choices(annotation: Any) -> list[Any]:
    if get_origin(annotation) is Literal:
        return list(get_args(annotation))
    return [choice for part in get_args(annotation) for choice in _choices(part)]


def _knowledge(config: Json) -> Iterator[str]:
    yield "White-box attacks: all attacks see next-token probabilities alone, no weights, gradients or activations."
    if not config["shadows"]["count"]:
        yield "Shadow models: none was trained, so no attacker had models of the same kind to compare with."
    if config["filling"]["model"] is None and any("surroundings" in each for each in config["attacks"].values()):
        yield "Filling of residual masks: no masked language model read what scrubbing left around a slot."


def _classes(chosen: Iterable[str], statistics: Iterable[Json]) -> Iterator[str]:
    if chosen:
        absent = [each["class"] for each in statistics if each["class"] not in {*chosen, "all"}]
        yield f"Classes left out: {', '.join(absent) or 'all but ' + ', '.join(chosen)}."


def _taggers(tagger: str) -> Iterator[str]:
    if absent := sorted(members("detector").keys() - {*tagger.split("+"), "union"}):
        yield f"Other taggers: {', '.join(absent)}. What they find and {tagger} does not is in no rate."


def _defences(tried: Iterable[Json]) -> Iterator[str]:
    done = list(tried)
    absent = {
        "de-duplication": not any(each["dedup"] for each in done),
        "scrubbing": not any(each["scrub"] for each in done),
        "differential privacy": not any(each["private"] for each in done),
        "surprise masking": not any(each["mask"] == "surprise" for each in done),
        "Goldfish": not any(each["mask"] == "goldfish" for each in done),
    }
    if names := [name for name, left_out in absent.items() if left_out]:
        yield f"Defences left out: {', '.join(names)}."
