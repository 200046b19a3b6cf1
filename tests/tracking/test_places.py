"""No place of the user's is told: every string setting of every flow gets a path, and what is sent has none."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatch
from typing import Any, get_args, get_origin

import pytest

from sm_ops.core.config.base import Section
from sm_ops.core.config.loading import FLOWS
from sm_ops.tracking.allowed import without_places
from sm_ops.tracking.experiment import SENT

pytestmark = pytest.mark.unit

PATH = "/home/someone/gold.jsonl"
SETTINGS = {"records": PATH, "of": [PATH], "settings": {"gold": {"records": PATH, "rules": PATH}}}
"""Settings that no section knows, such as a detector's, and of a union's detectors among them."""


def planted(annotation: Any) -> Any:
    """A value of a type with a path wherever it has a free string; None where it has none."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return {
            name: planted(field.annotation)
            for name, field in annotation.model_fields.items()
            if not any(getattr(each, "pattern", None) for each in field.metadata)  # of names, which hold no slash
        }
    if annotation is str:
        return PATH
    if annotation is Any:
        return SETTINGS
    inside = [each for argument in get_args(annotation) if (each := planted(argument)) is not None]
    if get_origin(annotation) is dict:
        value = planted(get_args(annotation)[1])
        return SETTINGS if value is SETTINGS else {"one": value}
    if get_origin(annotation) is tuple:
        return inside
    return inside[0] if inside else None


def left(values: Any, dotted: str = "") -> Iterator[str]:
    """Where a path still stands."""
    if isinstance(values, dict | list):
        for key, value in values.items() if isinstance(values, dict) else enumerate(values):
            yield from left(value, f"{dotted}.{key}" if dotted else str(key))
    elif values == PATH:
        yield dotted


NO_PLACES = (
    "*revision", "*.prefix_token", "*.prompt", "*.backend", "*.detector", "*.reference", "*.calls.key",
    "data.dataset", "data.families.*", "data.own.quirk", "data.corpus", "masking.by", "masking.select",
    "masking.windows", "attack.name", "attacks.*", "tagger", "classes.*", "detectors.*", "corpus.name", "by",
    "regimes.*", "combinations.*", "filters.*.rule.*", "pairs.setting", "pairs.types.*", "scores.*.rule",
    "selectors.*.of.*", "conditions.*.selector", "published.*", "release.about.*",
)  # fmt: skip
"""Strings that are names of members, conditions, keys or environment variables, prompts, or what a card says."""


@pytest.mark.parametrize("flow", FLOWS)
def test_every_setting_that_names_a_place_is_known(flow: str) -> None:
    config, sent = planted(FLOWS[flow]), SENT[flow]
    assert sum(1 for _ in left(config)) > 5, "the walk finds what it plants"
    told = without_places(config, sent.places, sent.models)
    assert [each for each in left(told) if not any(fnmatch(each, name) for name in NO_PLACES)] == []


def test_records_of_a_detector_are_a_place_whatever_they_look_like() -> None:
    """Theirs could be the name of a model on the hub."""
    settings = {"records": "own/gold", "settings": {"gold": {"records": "own/gold"}, "spacy": {"model": "own/gold"}}}
    config = {"masking": {"detectors": {"one": {"settings": settings}}}, "mixture": None}
    sent = SENT["surprise"]
    told = without_places(config, sent.places, sent.models)["masking"]["detectors"]["one"]["settings"]
    assert "own/gold" not in (told["records"], told["settings"]["gold"]["records"])
    assert told["settings"]["spacy"]["model"] == "own/gold"
