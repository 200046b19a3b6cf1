"""What a summary of attack rows is made of: measures with their counts and intervals, of all rows, of each class and
of each number of occurrences.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isclose
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sm_ops.attacks.material import Row
from sm_ops.metrics import ratio_interval, wilson

Measure = dict[str, Any]
"""`measure` (name), `class` ("all" or one), what else it is of, `value` (None: undefined), its interval and `n`."""

Labels = dict[str, Any]

RATES = ("precision", "recall", "accuracy", "tpr", "success", "inclusion")

ALL = "all"
BUCKETS = ("1", "2", "3-4", "5-8", "9+")


def measure(
    name: str, value: float | None, ends: tuple[float, float] | None, interval: str | None, n: int, /, **labels: Any
) -> Measure:
    """A measure from its parts; `ends` are those of its 95 % interval, None where it has none. Without a class: all.

    Ends of a bootstrap that miss the value, as those of a largest share may, are moved to it.
    """
    low, high = (None, None) if value is None or ends is None else (min(ends[0], value), max(ends[1], value))
    return {
        "measure": name,
        "class": ALL,
        **labels,
        "value": value,
        "low": low,
        "high": high,
        "interval": interval,
        "n": n,
    }


def rate(name: str, hits: int, n: int, /, **labels: Any) -> Measure:
    """The share `hits / n` of independent trials with Wilson's interval; undefined for n = 0."""
    value = hits / n if n else None
    return {**measure(name, value, wilson(hits, n), "wilson", n, **labels), "hits": hits}


def ratio(name: str, parts: ArrayLike, wholes: ArrayLike, /, **labels: Any) -> Measure:
    """The ratio of sums `parts / wholes`, one of each per independent unit, with a bootstrap interval over the units.

    With `wholes` of ones it is a mean. Undefined where the wholes are all 0 or there are none.
    """
    part, whole = np.asarray(parts, np.float64), np.asarray(wholes, np.float64)
    value = float(part.sum() / whole.sum()) if whole.sum() else None
    ends = ratio_interval(part, whole, seed=0) if value is not None else None
    return measure(name, value, ends, "bootstrap", len(whole), **labels)


def is_rate(measure: Mapping[str, Any]) -> bool:
    """Whether a measure is a share, which people read in percent."""
    return measure.get("interval") == "wilson" or "hits" in measure or str(measure.get("measure")).startswith(RATES)


def at_ceiling(measure: Mapping[str, Any]) -> bool:
    """Whether a measure is the most that the attack could have shown."""
    return measure["value"] is not None and "ceiling" in measure and isclose(measure["value"], measure["ceiling"])


def occurrence_bucket(count: int) -> str:
    """The bucket of a value that the members mention `count` times: "1", "2", "3-4", "5-8" or "9+"."""
    return BUCKETS[min(max(count - 1, 0).bit_length(), len(BUCKETS) - 1)]


def by_class(rows: Sequence[Row]) -> Iterator[tuple[Labels, list[Row]]]:
    """All rows, then those of each class in alphabetical order, each with the labels of a measure of them."""
    yield {"class": ALL}, list(rows)
    for name in sorted({row["class"] for row in rows}):
        yield {"class": name}, [row for row in rows if row["class"] == name]


def by_occurrences(rows: Sequence[Row]) -> Iterator[tuple[Labels, list[Row]]]:
    """The rows of each bucket of occurrences, all classes together; what the members never mention is left out."""
    for bucket in BUCKETS:
        own = [row for row in rows if row["occurrences"] > 0 and occurrence_bucket(row["occurrences"]) == bucket]
        if own:
            yield {"class": ALL, "occurrences": bucket}, own


def groups(rows: Sequence[Row]) -> Iterator[tuple[Labels, list[Row]]]:
    """`by_class`, then `by_occurrences`: the groups that every attack reports its success of."""
    yield from by_class(rows)
    yield from by_occurrences(rows)


def headline_labels(attack: Any, measures: Sequence[Measure]) -> Labels:
    """The labels of the measure that stands for an attack: of its `PREFERRED` ones the first that is defined.

    `PREFERRED` holds changes of `HEADLINE`, whose measure is always defined; an attack that has just one lacks it.
    """
    for change in getattr(attack, "PREFERRED", ()):
        wanted = {**attack.HEADLINE, **change}
        if any(wanted.items() <= each.items() and each["value"] is not None for each in measures):
            return wanted
    return attack.HEADLINE
