"""Which detectors and files the settings of a detector name."""

from __future__ import annotations

import pytest

from sm_ops.core.config import built, resolve
from sm_ops.core.errors import InputError
from sm_ops.core.registry import members
from sm_ops.detectors.named import detectors, places, without_places
from sm_ops.plans import plan

pytestmark = pytest.mark.unit
NESTED = {"of": ["gold", "privacy_filter"], "settings": {"gold": {"records": "a.jsonl"}, "privacy_filter": {}}}


def test_a_union_names_its_detectors_and_their_files() -> None:
    assert detectors("union", NESTED) == {"union": {}, "gold": {}, "privacy_filter": {}}
    assert places("union", NESTED) == ("settings.gold.records",)
    assert without_places("union", NESTED) == {**NESTED, "settings": {"gold": {}, "privacy_filter": {}}}
    assert [*detectors("union", {})] == ["union", "spacy", "regex"]


@pytest.mark.parametrize("name", [name for name in members("detector") if name != "union"])
def test_others_name_themselves(name) -> None:
    assert detectors(name, {}) == {name: {}}
    assert places(name, {}) == ()


def test_what_a_union_cannot_be_made_of_is_told() -> None:
    for settings, words in (({"of": "gold"}, "needs the names of others"), ({"of": ["gould"]}, "the nearest is gold")):
        with pytest.raises(InputError) as caught:
            detectors("union", settings)
        assert words in caught.value.hint


def test_every_flow_counts_them() -> None:
    """A filter's, a selector's and a tagger's alike: as a table that the stage names, and as places."""
    detector = {"kind": "detector", "detector": "union", "settings": NESTED}
    flows = {
        "san_levels@mine-0": {
            "flow": "sanitize",
            "corpus": {"validation": "v.jsonl", "records": "r.jsonl"},
            "filters": {"mine": detector},
        },
        "rewrite_score@mine": {
            "flow": "rewriting",
            "selectors": {"mine": detector},
            "conditions": {"one": {"kind": "unmodified"}, "two": {"kind": "direct", "selector": "mine"}},
        },
        "audit_data": {"flow": "audit", "tagger": "union"},
        "pii_detect@union": {"flow": "pii", "detectors": ["union"]},
    }
    for name, given in flows.items():
        made = {each.name: each for each in plan(resolve(built({"name": "mine", **given}, "mine.yaml")))}[name]
        default = name in ("audit_data", "pii_detect@union")
        assert [*made.settings["detectors"]] == ["union", *(("spacy", "regex") if default else NESTED["of"])]
        assert ("detectors", "detector") in made.stage.members
        assert default or any(place.endswith("settings.settings.gold.records") for place in made.stage.places)
