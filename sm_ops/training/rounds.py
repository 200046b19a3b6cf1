"""Several trainings of one model, each from the weights of the last with a new optimiser and schedule (paper C.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sm_ops.core.history import read_history, write_history
from sm_ops.core.seeds import derive
from sm_ops.core.types import Progress, unheard
from sm_ops.training import trainer
from sm_ops.training.packing import Row


def fit(
    rounds: int,
    model: Any,
    rows: Sequence[Row],
    padding: int,
    settings: Any,
    seed: int,
    scratch: Path,
    progress: Progress = unheard,
    intervention: str = "loss",
    steps: int | None = None,
    history_file: Path | None = None,
) -> trainer.Numbers:
    """`trainer.fit` so many times in turn, whose arguments and errors these are; each round draws its own order.

    Steps and what happened in them are counted over all rounds, `train_loss` is that of the last. Each round has its
    checkpoints below `scratch`; a finished one is read back from its last.
    """
    if rounds == 1:
        return trainer.fit(
            model, rows, padding, settings, seed, scratch, progress, intervention, steps, history_file=history_file
        )
    numbers: list[trainer.Numbers] = []
    log: list[Mapping[str, Any]] = []
    for number in range(rounds):
        folder = scratch / f"round-{number + 1}"
        folder.mkdir(exist_ok=True)

        def told(done: int, total: int, number: int = number) -> None:
            progress(number * total + done, rounds * total)

        history = folder / "history.json"
        own = derive(seed, "round", str(number))
        found = trainer.fit(
            model, rows, padding, settings, own, folder, told, intervention, steps, history_file=history
        )
        before = sum(int(each["steps"] or 0) for each in numbers)
        for name, points in read_history(history).items():
            log += [{"step": before + step, name: value} for step, value in points]
        numbers.append(found)
    if history_file:
        write_history(log, history_file)
    return _together(numbers)


def _together(numbers: Sequence[trainer.Numbers]) -> trainer.Numbers:
    def total(name: str) -> float:
        return sum(each[name] or 0 for each in numbers)

    result = {**numbers[-1], **{name: total(name) for name in ("steps", "steps_without_loss")}}
    if "weakened_microbatches" in result:
        result["weakened_microbatches"] = weakened = total("weakened_microbatches")
        weighted = sum((each["mean_multiplier"] or 0) * (each["weakened_microbatches"] or 0) for each in numbers)
        result["mean_multiplier"] = weighted / weakened if weakened else None
    return result
