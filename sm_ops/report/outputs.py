"""The one door through which a report reads stored outputs; restricted ones stay shut (DESIGN, law 5)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sm_ops.core import fs
from sm_ops.core.errors import InputError
from sm_ops.core.home import Run
from sm_ops.core.store import Store


class Outputs:
    """Stored outputs of a finished run."""

    def __init__(self, run: Run, home: Path) -> None:
        self._run = run
        self._store = Store(home)

    def json(self, step: str, output: str) -> Any:
        """Read one JSON output. `InputError` where it is restricted or no longer stored."""
        known = self._run.steps.get(step)
        record = self._store.find(known["stage"], known["fingerprint"]) if known else None
        if record is None or output not in record.outputs:
            raise InputError(
                "output-missing",
                f"Run {self._run.id}: {output} of step {step} is not in the store (it was removed or changed); "
                "run the same pipeline again with: sm-ops run",
            )
        if record.outputs[output].cls == "restricted":
            raise InputError(
                "restricted",
                f"Run {self._run.id}: {output} of step {step} is restricted, and a report never opens such an output.",
            )
        return fs.read_json(self._store.output_path(record, output))


def stage_times(run: Run, order: Sequence[str]) -> list[dict[str, Any]]:
    """`{stage, steps, seconds}` in the given order of stages, the seconds as they were when the results were made."""
    seconds: dict[str, list[float]] = {stage: [] for stage in order}
    for step in run.steps.values():
        seconds.setdefault(step["stage"], []).append(step["seconds"])
    return [{"stage": name, "steps": len(own), "seconds": round(sum(own), 3)} for name, own in seconds.items() if own]
