"""What an audit has not tried, read off its config: what `sm_ops.attacks.untried` says, and defences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from sm_ops.attacks import untried

Json = dict[str, Any]


def not_tried(config: Json, statistics: Iterable[Json]) -> list[str]:
    """Sentences on what the run leaves out; `statistics` are the rows of the corpus, one a class."""
    found = [each["class"] for each in statistics if each["class"] != "all"]
    filled = config["filling"]["model"] is not None
    shadows = config["shadows"]["count"]
    return [
        *untried.not_tried(config["attacks"], config["classes"], found, config["tagger"], shadows, filled),
        *_defences(config["defences"].values()),
    ]


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
