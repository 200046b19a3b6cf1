"""Measures that know nothing of models or masks: ranking, counts and rates, intervals (NumPy)."""

from sm_ops.metrics.counts import Confusion, confusion
from sm_ops.metrics.intervals import clustered_rate, standard_error, wilson
from sm_ops.metrics.ranking import auroc

__all__ = ["Confusion", "auroc", "clustered_rate", "confusion", "standard_error", "wilson"]
