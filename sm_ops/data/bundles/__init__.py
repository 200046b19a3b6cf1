"""Bundles: repositories of 24 files around a task, with private values planted into 16 of them (paper, A.1)."""

from sm_ops.data.bundles.bundle import CLEAN as CLEAN
from sm_ops.data.bundles.bundle import HOLDING as HOLDING
from sm_ops.data.bundles.bundle import SUITE as SUITE
from sm_ops.data.bundles.bundle import Bundle as Bundle
from sm_ops.data.bundles.collection import Collection as Collection
from sm_ops.data.bundles.collection import collect as collect
from sm_ops.data.bundles.collection import draw_tasks as draw_tasks
