"""Run steps in the order of their inputs, several at a time; only what is not stored needs a worker."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from types import MappingProxyType

from sm_ops.core.errors import sanitise
from sm_ops.core.execute import Outcome, identify
from sm_ops.core.pool import Pool
from sm_ops.core.stage import Step
from sm_ops.core.store import Record, Store

Finished = Callable[[Step, Outcome], None]


def run_steps(
    steps: Sequence[Step],
    store: Store,
    pool: Pool,
    jobs: int,
    finished: Finished,
    known: Mapping[str, Record] = MappingProxyType({}),
) -> dict[str, Record]:
    """Execute all steps over those whose records are `known`; `finished` hears of each.

    Returns the records of all. The first failure ends the run, with the workers.
    """
    records = dict(known)
    todo = {step.name: step for step in steps}
    running: dict[Future[Outcome], Step] = {}
    with ThreadPoolExecutor(max_workers=jobs) as threads:
        try:
            while todo or running:
                for step in list(todo.values()):
                    if not step.upstream <= records.keys():
                        continue
                    del todo[step.name]
                    if found := look_up(step, records, store):
                        records[step.name] = found
                        finished(step, Outcome(found, found=True))
                    else:
                        running[threads.submit(pool.run, step, dict(records))] = step
                if todo and not running:
                    raise RuntimeError(f"no order allows the steps {', '.join(todo)}")
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    step = running.pop(future)
                    outcome = future.result()
                    records[step.name] = outcome.record
                    finished(step, outcome)
        except BaseException:
            for future in running:
                future.cancel()
            pool.close()
            raise
    return records


def look_up(step: Step, upstream: dict[str, Record], store: Store) -> Record | None:
    """The step's stored result, without running anything."""
    try:
        return store.find(step.stage.name, identify(step, upstream)[1])
    except Exception as error:
        sanitised = sanitise(error)
    raise sanitised
