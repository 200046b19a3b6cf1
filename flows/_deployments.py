"""What a deployments file asks of a Prefect server: deployments of all flows, and automations."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from prefect.client.schemas.objects import StateType
from prefect.client.schemas.schedules import CronSchedule
from prefect.events.actions import ChangeFlowRunState
from prefect.events.schemas.automations import AutomationCore, EventTrigger, Posture
from prefect.events.schemas.events import ResourceSpecification

from flows._dates import dates
from flows._releases import deployments
from flows._settings import TAG
from sm_ops.core.config.deployments import ON_DEMAND, Deployments, Schedule, parameters_schema
from sm_ops.core.config.loading import FLOWS
from sm_ops.core.errors import InputError
from sm_ops.core.orchestration import EXIT_CODES, SETTINGS, SILENT, SUPERSEDED

SILENCE = 90
START = 300
"""Seconds without a heartbeat until a run is taken for dead, and from a worker's taking it to its first heartbeat."""

_CRON_FIELDS = 5

ENVIRONMENT = {**SETTINGS, **SILENT}
"""Of every run's process, whatever its worker's environment says. Secrets come from the worker alone."""

_LAST_STATES = {"Completed", "Failed", "Cancelled", "Crashed", "Paused", "Suspended", SUPERSEDED, *EXIT_CODES}


@dataclass(frozen=True)
class Deployment:
    """One deployment as it shall be. `limit` is how many runs of it go at a time, None: as many as the pool takes."""

    flow: str
    name: str
    entrypoint: str
    pool: str
    schema: dict[str, Any]
    parameters: dict[str, Any] = field(default_factory=dict)
    schedules: dict[str, CronSchedule] = field(default_factory=dict)
    limit: int | None = None
    triggers: tuple[Any, ...] = ()

    def __str__(self) -> str:
        return f"{self.flow}/{self.name}"


def wanted(file: Deployments) -> list[Deployment]:
    """Every flow on demand in the first pool, the file's schedules, and the flows of releases."""
    first = next(iter(file.pools))
    made = [Deployment(flow, ON_DEMAND, _entrypoint(flow), first, parameters_schema(flow)) for flow in FLOWS]
    made += [_scheduled(slug, each) for slug, each in file.schedules.items()]
    return made + _of_releases(file)


def automations() -> list[AutomationCore]:
    """What ends runs of which nobody will hear again, so that they hold no place in their pool for ever."""
    beat = {"heartbeat"}
    return [
        _crash(
            "sm-ops: a silent run is crashed",
            f"No heartbeat for {SILENCE} seconds: the run's process or its machine has gone.",
            after=beat,
            expect=beat | _LAST_STATES,
            seconds=SILENCE,
        ),
        _crash(
            "sm-ops: a run that never began is crashed",
            f"Not begun {START} seconds after a worker took it: the worker or its machine has gone.",
            after={"Pending", "Submitting", "InfrastructurePending"},
            expect={"Running", "Scheduled", "Late", "AwaitingConcurrencySlot"} | beat | _LAST_STATES,
            seconds=START,
        ),
    ]


def _crash(name: str, why: str, *, after: set[str], expect: set[str], seconds: int) -> AutomationCore:
    """Crash a run of ours that, after some event of it, has none of the expected ones for so many seconds."""
    trigger = EventTrigger(
        match=ResourceSpecification({"prefect.resource.id": "prefect.flow-run.*"}),
        match_related=ResourceSpecification(
            {"prefect.resource.role": "tag", "prefect.resource.id": f"prefect.tag.{TAG}"}
        ),
        after={f"prefect.flow-run.{each}" for each in after},
        expect={f"prefect.flow-run.{each}" for each in expect},
        for_each={"prefect.resource.id"},
        posture=Posture.Proactive,
        threshold=1,
        within=timedelta(seconds=seconds),
    )
    action = ChangeFlowRunState(name=None, state=StateType.CRASHED, message=why, force=False)
    return AutomationCore(name=name, description=why, trigger=trigger, actions=[action])


def _scheduled(slug: str, each: Schedule) -> Deployment:
    parameters = {
        "config": each.config,
        **({"seeds": list(each.seeds)} if each.seeds is not None else {}),
        **({"overrides": each.overrides} if each.overrides else {}),
    }
    return Deployment(
        each.flow,
        slug,
        _entrypoint(each.flow),
        each.pool,
        parameters_schema(each.flow),
        parameters,
        {slug: _cron(slug, each)},
        limit=1,
    )


def _cron(slug: str, each: Schedule) -> CronSchedule:
    try:
        found = CronSchedule(cron=each.cron, timezone=each.timezone)
        if len(each.cron.split()) == _CRON_FIELDS:
            dates(found, 1)
            return found
    except Exception:  # of a day that never comes: whatever the parser makes of it
        pass
    hint = f"schedules.{slug}.cron is {each.cron!r}, which is no time that comes; five fields, as in '0 2 * * *'."
    raise InputError("bad-cron", hint)


def _entrypoint(flow: str) -> str:
    return f"flows._deployed.{flow}"


def _of_releases(file: Deployments) -> list[Deployment]:
    if file.releases is None:
        return []
    made = []
    for each in deployments(file.releases.destination, file.releases.bucket_owner):
        made.append(
            Deployment(
                flow=str(each.flow_name),
                name=each.name,
                entrypoint=str(each.entrypoint),
                pool=file.releases.pool,
                schema=each._parameter_openapi_schema.model_dump(exclude_unset=True),
                parameters=each.parameters,
                schedules={str(one.slug): one.schedule for one in each.schedules or []},  # type: ignore[misc]
                limit=each.concurrency_limit,
                triggers=tuple(each.triggers),
            )
        )
    return made
