"""Make a Prefect server have what is wanted, by reading first: what is so already is not written again.

What a person did on the server stays: a paused schedule, pool, deployment or automation is not started again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.actions import (
    DeploymentScheduleCreate,
    DeploymentUpdate,
    WorkPoolCreate,
    WorkPoolUpdate,
)
from prefect.client.schemas.filters import (
    DeploymentFilter,
    DeploymentFilterId,
    DeploymentFilterTags,
    FlowFilter,
    FlowFilterId,
    FlowRunFilter,
    FlowRunFilterState,
    FlowRunFilterStateType,
)
from prefect.client.schemas.objects import ConcurrencyLimitStrategy, ConcurrencyOptions, StateType
from prefect.client.schemas.responses import DeploymentResponse
from prefect.events.schemas.automations import AutomationCore
from prefect.exceptions import ObjectNotFound
from prefect.workers.process import ProcessWorker

from flows._deployments import ENVIRONMENT, Deployment, automations, wanted
from flows._settings import TAG
from sm_ops.core.config.deployments import Deployments, Pool
from sm_ops.core.errors import InputError

Done = Literal["created", "changed", "unchanged", "removed", "stopped"]


@dataclass(frozen=True)
class Change:
    """What was done to one thing on the server; `paused` where a person has paused it.

    A deployment is `stopped`, it is no longer scheduled, where it is to be removed and a run of it is still going.
    """

    kind: Literal["pool", "deployment", "automation"]
    name: str
    done: Done
    paused: bool = False

    def to_json(self) -> dict[str, Any]:
        """For a program."""
        return asdict(self)


def apply(file: Deployments, client: SyncPrefectClient, may_remove: bool) -> Iterator[Change]:
    """Create, change and remove what differs, pools first. Only what carries our tag is removed.

    Raises `InputError`, before anything is changed, where a schedule would go that nobody has asked to remove.
    """
    deployments = wanted(file)
    if not may_remove:
        _refuse_removal({str(each) for each in deployments}, client)
    for name, pool in file.pools.items():
        yield _pool(name, pool, client)
    ids = {}
    for each in deployments:
        change, ids[str(each)] = _deployment(each, client)
        yield change
    yield from _remove_deployments(set(ids), client)
    triggered = [(each, trigger) for each in deployments for trigger in each.triggers]
    for each, trigger in triggered:
        trigger.set_deployment_id(ids[str(each)])
    asked = [*automations(), *(trigger.as_automation() for _, trigger in triggered)]
    yield from _automations(asked, client)


def _pool(name: str, pool: Pool, client: SyncPrefectClient) -> Change:
    try:
        found = client.read_work_pool(name)
    except ObjectNotFound:
        made = WorkPoolCreate(
            name=name,
            type=ProcessWorker.type,
            base_job_template=ProcessWorker.get_default_base_job_template(),
            concurrency_limit=pool.concurrency,
        )
        client.create_work_pool(made)
        return Change("pool", name, "created")
    if found.type != ProcessWorker.type:
        hint = f"The server's pool {name} is of type {found.type}, not {ProcessWorker.type}; choose another name."
        raise InputError("other-pool", hint)
    if found.concurrency_limit == pool.concurrency:
        return Change("pool", name, "unchanged", found.is_paused)
    client.update_work_pool(name, WorkPoolUpdate(concurrency_limit=pool.concurrency))
    return Change("pool", name, "changed", found.is_paused)


def _deployment(each: Deployment, client: SyncPrefectClient) -> tuple[Change, Any]:
    fields: dict[str, Any] = {
        "entrypoint": each.entrypoint,
        "work_pool_name": each.pool,
        "parameters": each.parameters,
        "parameter_openapi_schema": each.schema,
        "enforce_parameter_schema": True,
        "job_variables": {"env": ENVIRONMENT},
        "tags": [TAG],
    }
    try:
        found = client.read_deployment_by_name(str(each))
    except ObjectNotFound:
        flow_id = client.create_flow_from_name(each.flow)
        new = [DeploymentScheduleCreate(slug=slug, schedule=cron) for slug, cron in each.schedules.items()]
        made = client.create_deployment(flow_id, each.name, schedules=new, **_limit(each), **fields)
        return Change("deployment", str(each), "created"), made
    if TAG not in found.tags:
        hint = f"The server has a deployment {each} that sm-ops did not make; rename the schedule, or remove the other."
        raise InputError("other-deployment", hint)
    differs = any(getattr(found, name) != value for name, value in fields.items()) or _limit_of(found) != each.limit
    if differs:
        client.update_deployment(found.id, DeploymentUpdate(**_limit(each), **fields))
    differs |= _schedules(each, found, client)
    paused = found.paused or any(not one.active for one in found.schedules if one.slug in each.schedules)
    return Change("deployment", str(each), "changed" if differs else "unchanged", paused), found.id


def _limit(each: Deployment) -> dict[str, Any]:
    """A run that finds another of its deployment going waits, and holds no process while it does."""
    if each.limit is None:
        return {"concurrency_limit": None}
    waits = ConcurrencyOptions(collision_strategy=ConcurrencyLimitStrategy.ENQUEUE)
    return {"concurrency_limit": each.limit, "concurrency_options": waits}


def _limit_of(found: DeploymentResponse) -> int | None:
    return found.global_concurrency_limit.limit if found.global_concurrency_limit else None


def _schedules(each: Deployment, found: DeploymentResponse, client: SyncPrefectClient) -> bool:
    """Whether a schedule differed. Whether one is paused is the server's to know."""
    there = {one.slug: one for one in found.schedules}
    new = [slug for slug in each.schedules if slug not in there]
    other = [slug for slug, cron in each.schedules.items() if slug in there and there[slug].schedule != cron]
    old = [one for slug, one in there.items() if slug not in each.schedules]
    for slug in other:
        client.update_deployment_schedule(found.id, there[slug].id, schedule=each.schedules[slug])
    for one in old:
        client.delete_deployment_schedule(found.id, one.id)
    if new:
        made = [DeploymentScheduleCreate(slug=slug, schedule=each.schedules[slug]) for slug in new]
        client.create_deployment_schedules(found.id, made)
    return bool(new or other or old)


def _remove_deployments(names: set[str], client: SyncPrefectClient) -> Iterator[Change]:
    for flow, deployment in ours(client):
        if (name := f"{flow}/{deployment.name}") in names:
            continue
        for one in deployment.schedules:
            client.delete_deployment_schedule(deployment.id, one.id)
        if _is_going(deployment, client):  # which without its deployment could take no further state, and hold its slot
            yield Change("deployment", name, "stopped")
        else:
            client.delete_deployment(deployment.id)
            yield Change("deployment", name, "removed")


def _refuse_removal(names: set[str], client: SyncPrefectClient) -> None:
    gone = sorted({f"{flow}/{deployment.name}" for flow, deployment in ours(client) if deployment.schedules} - names)
    if gone:
        hint = (
            f"The server has {', '.join(gone[:3])}{' and more' if len(gone) > 3 else ''}, which would be removed; name "
            "your file, so that it is meant: sm-ops deploy my_deployments.yaml"
        )
        raise InputError("other-schedules", hint)


def _is_going(deployment: DeploymentResponse, client: SyncPrefectClient) -> bool:
    going = FlowRunFilterStateType(any_=[StateType.PENDING, StateType.RUNNING, StateType.CANCELLING])
    found = client.read_flow_runs(
        flow_run_filter=FlowRunFilter(state=FlowRunFilterState(type=going)),
        deployment_filter=DeploymentFilter(id=DeploymentFilterId(any_=[deployment.id])),
        limit=1,
    )
    return bool(found)


def _automations(asked: list[AutomationCore], client: SyncPrefectClient) -> Iterator[Change]:
    there = {each.name: each for each in client.read_automations() if TAG in each.tags}
    for each in asked:
        found = there.pop(each.name, None)
        new = _ours(each, found is None or found.enabled)
        if found is None:
            client.create_automation(new)
            yield Change("automation", each.name, "created")
        elif _ours(found, found.enabled) == new:
            yield Change("automation", each.name, "unchanged", not found.enabled)
        else:
            client.update_automation(found.id, new)
            yield Change("automation", each.name, "changed", not found.enabled)
    for name, found in there.items():
        client.delete_automation(found.id)
        yield Change("automation", name, "removed")


def _ours(automation: AutomationCore, enabled: bool) -> AutomationCore:
    """With our tag, and every field set, because the client leaves out what is not (an action's type, too)."""
    fields = automation.model_dump(mode="json", include=AutomationCore.model_fields.keys() - {"owner_resource"})
    return AutomationCore.model_validate(fields | {"tags": [TAG], "enabled": enabled})


def ours(client: SyncPrefectClient) -> Iterator[tuple[str, DeploymentResponse]]:
    """Flow and deployment of everything on the server that carries our tag."""
    mine = DeploymentFilter(tags=DeploymentFilterTags(all_=[TAG]))
    found = client.read_deployments(deployment_filter=mine)
    ids = FlowFilter(id=FlowFilterId(any_=[each.flow_id for each in found]))
    names = {flow.id: flow.name for flow in client.read_flows(flow_filter=ids)} if found else {}
    for each in found:
        yield names[each.flow_id], each
