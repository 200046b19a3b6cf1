"""Numbers of a run as MLflow's metrics. What is undefined is absent, never 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sm_ops.core import usage
from sm_ops.core.history import History, thinned
from sm_ops.tracking.sent import Measures

if TYPE_CHECKING:
    from mlflow.entities import Metric

POINTS = 50
"""The most that is sent of a curve: each point is a row in the server's database."""


def metrics(values: Measures, at: int, step: int = 0) -> list[Metric]:
    """Defined numbers, at a time in milliseconds."""
    from mlflow.entities import Metric

    return [Metric(name, float(value), at, step) for name, value in values.items() if value is not None]


def curves(history: History, label: str, at: int) -> list[Metric]:
    """A training's curves as `training/CURVE_LABEL`, the optimiser step as the step."""
    from mlflow.entities import Metric

    return [
        Metric(f"training/{name}_{label}", value, at, step)
        for name, points in history.items()
        for step, value in thinned(points, POINTS)
    ]


def system_metrics(samples: Sequence[usage.Sample]) -> list[Metric]:
    """What the run took of the machine, under the prefix that MLflow's page shows apart, each at its own time."""
    from mlflow.entities import Metric

    return [
        Metric(f"system/{name}", value, int(1000 * sample["time"]), step)
        for step, sample in enumerate(samples)
        for name, value in sample.items()
        if name != "time"
    ]


def totals(samples: Sequence[Mapping[str, float]]) -> Measures:
    """The run's seconds from first sample to last, and the most memory that its processes had at a time."""
    if not samples:
        return {}
    return {
        "wall_seconds": samples[-1]["time"] - samples[0]["time"],
        "peak_memory_megabytes": max(sample["run_memory_megabytes"] for sample in samples),
    }
