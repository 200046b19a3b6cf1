"""Runs programs that nobody has read: no network, a read-only system, hard limits, a reason for every end."""

from sm_ops.evaluation.sandbox.available import isolation, required
from sm_ops.evaluation.sandbox.limits import Limits, Outcome, Program
from sm_ops.evaluation.sandbox.running import run, run_all, run_many

__all__ = ["Limits", "Outcome", "Program", "isolation", "required", "run", "run_all", "run_many"]
