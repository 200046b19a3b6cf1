"""Correlation, and scores made of several standardised features (spec section 11)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sm_ops.core.errors import InputError


def pearson(x: np.ndarray, y: np.ndarray) -> float | None:
    """Pearson's correlation of equally long sequences; `None` for fewer than two points or without variance."""
    x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if len(x) < 2 or (x == x[0]).all() or (y == y[0]).all():
        return None
    x, y = (_deviations(values) for values in (x, y))
    return float(np.clip(x @ y / np.sqrt((x @ x) * (y @ y)), -1.0, 1.0))


def standardised(features: Sequence[np.ndarray], reference: Sequence[np.ndarray]) -> np.ndarray:
    """The mean of several features with equal weights, each in standard deviations from its validation mean.

    `features` holds one row per feature, one entry per unit; `reference` the same features on validation
    data, whose mean and population standard deviation count. Raises `InputError` for a feature that does not
    vary there.
    """
    rows = []
    for number, (values, known) in enumerate(zip(features, reference, strict=True)):
        known = np.asarray(known, np.float64)
        if not len(known) or (known == known[0]).all():
            raise InputError(
                "constant-feature", f"Feature {number} does not vary on the validation data; leave it out."
            )
        rows.append((np.asarray(values, np.float64) - known.mean()) / known.std())
    return np.mean(rows, axis=0)


def _deviations(values: np.ndarray) -> np.ndarray:
    """From the mean, scaled so that squares neither overflow nor vanish."""
    values = values - values.mean()
    return values / np.abs(values).max()
