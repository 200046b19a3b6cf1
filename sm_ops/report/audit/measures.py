"""Measures of attacks over seeds: which is which, their mean, and intervals that hold for both kinds of error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, inf, sqrt
from typing import Any

import numpy as np

from sm_ops.attacks.measures import is_rate
from sm_ops.metrics import ratio_interval, standard_error, student

Json = dict[str, Any]

LABELS = (
    "measure", "class", "variant", "samples", "size", "knowledge", "context", "occurrences", "criterion", "score",
    "draw",
)  # fmt: skip
"""What says which measure one is; `samples` is its place on the curve of sample sizes ("2/4")."""
COUNTS = ("n", "hits", "ceiling")
PLAIN = ("unsubtracted", "none")
"""Variants that leave nothing out for what the model before fine-tuning does."""


def labels(measure: Json) -> Json:
    """What says which measure it is: `LABELS`, and any other text, of an attack that has labels of its own."""
    other = ("interval", "defence", "attack", *LABELS)
    own = [name for name, value in measure.items() if isinstance(value, str) and name not in other]
    return {name: measure[name] for name in (*LABELS, *own) if name in measure}


def placed(measures: Sequence[Json]) -> list[Json]:
    """An attack's measures of one model, those with sampled `tokens` with their place on its curve.

    Models end their texts at other places, so equally many samples have other numbers of tokens.
    """
    sizes = sorted({m["tokens"] for m in measures if "tokens" in m})
    return [m | {"samples": f"{1 + sizes.index(m['tokens'])}/{len(sizes)}"} if "tokens" in m else m for m in measures]


def agrees(measure: Json, other: Json, but: Sequence[str]) -> bool:
    """Whether all labels that both have are the same, but for those named."""
    mine, others = labels(measure), labels(other)
    return all(mine[name] == others[name] for name in mine.keys() & others.keys() - {*but})


def key(measure: Json) -> tuple[tuple[str, str], ...]:
    """The labels as a key."""
    return tuple(sorted((name, str(value)) for name, value in labels(measure).items()))


def headline(measures: Sequence[Json], selector: Mapping[str, Any]) -> Json | None:
    """The measure that the labels select; of several the one with the most sampled tokens."""
    chosen = [m for m in measures if all(m.get(name) == value for name, value in selector.items())]
    if "occurrences" not in selector:
        chosen = [m for m in chosen if "occurrences" not in m]
    return max(chosen, key=lambda m: m.get("tokens") or 0, default=None)


def unsubtracted(measures: Sequence[Json], selector: Json) -> Json | None:
    """The headline measure in its variant without baseline subtraction; itself where it subtracts nothing."""
    return next((each for name in PLAIN if (each := headline(measures, selector | {"variant": name}))), None) or (
        headline(measures, selector)
    )


def over_seeds(own: Sequence[Json]) -> Json:
    """One measure from that of every seed: `value` is the mean and `se` its standard error, null for one seed.

    All seeds attack values of the same records, so more seeds do not make their error smaller: `low` and `high` lie as
    far from the mean as those of a single seed do on average, and the 95 % interval of Student's t over seeds, both in
    quadrature. `n`, `hits` and the like are those of one seed, on average; `seeds` counts the seeds for which the value
    is defined.
    """
    defined = [m for m in own if m["value"] is not None]
    values = np.array([m["value"] for m in defined], float)
    mean, error = (float(values.mean()) if defined else None), standard_error(values)
    low = high = None
    bounded = [m for m in defined if m["low"] is not None and m["high"] is not None]
    if mean is not None and bounded:
        spread = 0.0 if error is None else student(0.95, len(defined) - 1) * error
        least, most = _range(own[0])
        low = max(least, mean - _reach([m["value"] - m["low"] for m in bounded], spread))
        high = min(most, mean + _reach([m["high"] - m["value"] for m in bounded], spread))
    counts = {name: _mean([m[name] for m in own]) for name in COUNTS if all(m.get(name) is not None for m in own)}
    if all("tokens" in m for m in own):
        counts["tokens"] = round(_mean([m["tokens"] for m in own]))
    numbers = {"value": mean, "se": error, "low": low, "high": high, "interval": own[0].get("interval")}
    if any(m.get("too_few") for m in own):
        counts["too_few"] = True
    return {**labels(own[0]), **numbers, **counts, "seeds": len(defined)}


def perplexity(utility: Json) -> Json:
    """Held-out perplexity pooled over tokens; its interval resamples whole records."""
    nll, tokens = -np.array(utility["logprob_sums"], float), np.array(utility["tokens"], float)
    limits = ratio_interval(nll, tokens, seed=0)
    low, high = (None, None) if limits is None else map(exp, limits)
    value = exp(nll.sum() / tokens.sum()) if tokens.sum() else None
    return {
        "measure": "perplexity", "value": value, "low": low, "high": high, "interval": "bootstrap", "n": len(tokens)
    }  # fmt: skip


def _range(measure: Json) -> tuple[float, float]:
    """Between which numbers a measure can lie at all."""
    if is_rate(measure) or measure["measure"].startswith("auc"):
        return 0.0, 1.0
    return (1.0, inf) if measure["measure"] == "perplexity" else (-inf, inf)


def _mean(values: Sequence[float]) -> float:
    mean = sum(values) / len(values)
    return int(mean) if mean == int(mean) else mean


def _reach(distances: Sequence[float], spread: float) -> float:
    return sqrt(float(np.mean(distances)) ** 2 + spread**2)
