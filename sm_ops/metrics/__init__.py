"""Measures that know nothing of models or masks: counts, ranking, intervals, correlation, tasks (NumPy)."""

from sm_ops.metrics.bootstrap import (
    correlation_interval,
    difference_interval,
    mean_ratio_interval,
    ratio_interval,
    ratio_intervals,
)
from sm_ops.metrics.counts import Confusion, category_view, confusion
from sm_ops.metrics.intervals import (
    clopper_pearson,
    clustered_rate,
    hits_needed,
    lower_bound,
    standard_error,
    student,
    wilson,
)
from sm_ops.metrics.ranking import auroc, auroc_interval, threshold_at_fpr, tpr_at_fpr, tpr_at_fpr_interval
from sm_ops.metrics.separation import Separation, auroc_interval_by_cluster
from sm_ops.metrics.statistics import pearson, standardised
from sm_ops.metrics.tasks import (
    completion_nll,
    display_at,
    pass_at,
    pass_at_unbiased,
    pass_rates,
    usd_per_million,
)

__all__ = [
    "Confusion",
    "Separation",
    "auroc",
    "auroc_interval",
    "auroc_interval_by_cluster",
    "category_view",
    "clopper_pearson",
    "clustered_rate",
    "completion_nll",
    "confusion",
    "correlation_interval",
    "difference_interval",
    "display_at",
    "hits_needed",
    "lower_bound",
    "mean_ratio_interval",
    "pass_at",
    "pass_at_unbiased",
    "pass_rates",
    "pearson",
    "ratio_interval",
    "ratio_intervals",
    "standard_error",
    "standardised",
    "student",
    "threshold_at_fpr",
    "tpr_at_fpr",
    "tpr_at_fpr_interval",
    "usd_per_million",
    "wilson",
]
