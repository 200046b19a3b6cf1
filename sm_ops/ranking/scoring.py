"""From the features of outputs to one score each; what is standardised takes its parameters from validation alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sm_ops.metrics import standardised

Features = Mapping[str, np.ndarray]


def score(features: Features, validation: Features) -> np.ndarray:
    """The only feature, or the equal-weight mean of several in standard deviations from their validation mean (D.4).

    Pass the validation side's own features for its own scores. Raises `InputError` for a feature that does not vary
    there.
    """
    if len(features) == 1:
        return next(iter(features.values()))
    return standardised(list(features.values()), [_known(validation[name]) for name in features])


def parameters(validation: Features) -> dict[str, Any] | None:
    """Mean and population standard deviation of each feature on validation, where several are standardised."""
    if len(validation) == 1:
        return None
    known = {name: _known(values) for name, values in validation.items()}
    return {name: {"mean": float(own.mean()), "deviation": float(own.std())} for name, own in known.items()}


def _known(values: np.ndarray) -> np.ndarray:
    return values[np.isfinite(values)]
