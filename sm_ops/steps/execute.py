"""execute: run the programs of a data set with their tests, in the sandbox; one that fails stops the run."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from sm_ops.core import fs, registry
from sm_ops.core.errors import StageError
from sm_ops.data.dataset import SPLITS, Dataset
from sm_ops.evaluation import sandbox
from sm_ops.steps._splits import read_split

if TYPE_CHECKING:
    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context, Numbers
    from sm_ops.data.dataset import Trial

_LIMITS = sandbox.Limits(seconds=90)


def run(settings: Settings, context: Context) -> Numbers:
    """Write how each program ended, and count by state those that should pass or fail and did.

    Raises `StageError` with the first program that ended otherwise, and `InputError` where no sandbox can be had.
    """
    data = settings.data
    dataset = Dataset({split: read_split(context.inputs[split]) for split in SPLITS}, [], {})
    trials: list[Trial] = list(registry.load("dataset", data.dataset).trials(dataset, data, data.seed))
    programs = (sandbox.Program(trial.files, trial.command) for trial in trials)
    ended = sandbox.run_many(programs, len(trials), _LIMITS, context.progress)
    pairs = list(zip(trials, ended, strict=True))
    wrong = [(trial, outcome) for trial, outcome in pairs if outcome.reason != _expected(trial)]
    if wrong:
        trial, outcome = wrong[0]
        raise StageError(
            "programs-failed",
            f"{len(wrong)} of {len(trials)} programs did not end as they should, the first of them {trial.id} "
            f"({trial.state}): {outcome.reason}, where {_expected(trial)} was expected; on a busy machine a "
            "timeout may pass when run again, else correct or leave out these programs.",
        )
    rows = [{"id": trial.id, "state": trial.state, "reason": outcome.reason} for trial, outcome in pairs]
    fs.write_json(context.outputs["programs"], {"format": "programs/1", "programs": rows})
    states = Counter(trial.state for trial in trials)
    return {"programs": len(trials), "as_expected": len(pairs), "isolation": sandbox.isolation(), **states}


def _expected(trial: Trial) -> str:
    return "passed" if trial.passes else "failed"
