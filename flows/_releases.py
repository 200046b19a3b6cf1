"""The flows of releases: build and check, publish, expire. None waits for a person: a release is files.

Prefect gets names, sentences and digests. What a flow came to is the name of its last state and a sentence; an
artifact shows the release, its checks, and the command that a person types next. `deployments` is what starts them by
schedule or by an event.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from prefect import flow
from prefect.artifacts import create_markdown_artifact
from prefect.client.schemas.actions import DeploymentScheduleCreate
from prefect.client.schemas.objects import State
from prefect.client.schemas.schedules import CronSchedule
from prefect.deployments.runner import RunnerDeployment
from prefect.events import DeploymentEventTrigger
from prefect.states import Completed, Failed
from prefect.types.entrypoint import EntrypointType

from flows import _release_pages as pages
from sm_ops.core.errors import EXIT_CHECK, SmOpsError, sanitise
from sm_ops.core.home import find_run, home_folder
from sm_ops.core.orchestration import EXIT_CODES
from sm_ops.release.folder import Release, existing
from sm_ops.release.mirror import mirror_where_tracked

NAMES = {code: name for name, code in EXIT_CODES.items()}

RESOURCE = "sm-ops.release."
"""What an event about NAME@VERSION names as its resource: this and NAME@VERSION."""
APPROVED = "sm-ops.release.approved"
"""The event that asks for a publication. Whoever emits it decides nothing: `publish` verifies all."""

Ended = tuple[Release | None, State[Any]]


@flow(name="release-build", flow_run_name="build", persist_result=False)
def build(release: str | None = None, run: str | None = None) -> State[Any]:
    """Build the release of a finished run (by default the newest, under the run's own name) and check it.

    A failed check is what the flow found, not its failure: the state is completed, its name says that checks failed.
    """

    def work(home: Path) -> Ended:
        found = _built(home, release, run)
        failed = pages.failed_checks(found)
        if failed:
            message = f"{found} does not pass {', '.join(failed)}."
            return found, Completed(name=NAMES[EXIT_CHECK], message=message)
        return found, Completed(message=f"{found} is built and passes its checks; {pages.due(found)}")

    return _ended(work)


@flow(name="release-publish", flow_run_name="publish {release}", persist_result=False)
def publish(release: str, destination: str, bucket_owner: str | None = None) -> State[Any]:
    """Publish an approved release in a folder or at s3://BUCKET/PREFIX, after all of it was verified again."""

    def work(home: Path) -> Ended:
        from sm_ops.release.verbs.publish import publish as publish_release
        from sm_ops.storage.places import open_place

        found = existing(home, release)
        done = publish_release(found, open_place(destination, bucket_owner))
        how = "was published there before" if done.already else "is published"
        return found, Completed(message=f"{found} {how} at {done.place}, until {done.expires}.")

    return _ended(work, release)


@flow(name="release-expire", persist_result=False)
def expire() -> State[Any]:
    """Say of releases whose time is over that they expired, there where they were published."""

    def work(home: Path) -> Ended:
        from sm_ops.release.verbs.expire import expire as expire_releases

        expired = expire_releases(home)
        return None, Completed(message=f"Expired: {', '.join(map(str, expired))}." if expired else "None has expired.")

    return _ended(work)


def _built(home: Path, release: str | None, run: str | None) -> Release:
    from sm_ops.release import after_run
    from sm_ops.release.sources.run import material_of
    from sm_ops.release.verbs.build import build as build_release
    from sm_ops.release.verbs.check import check

    found = find_run(home, run)
    built = build_release(home, release, material_of(home, found)) if release else after_run.checked(found, home)
    check(built)
    return built


def _ended(work: Callable[[Path], Ended], release: str | None = None) -> State[Any]:
    """The last state of a flow, whose failure is a sentence, after the artifact and MLflow have learnt how it ended."""
    home, found = home_folder(), None
    try:
        found, state = work(home)
    except Exception as error:
        failure = sanitise(error)
        state = Failed(name=NAMES[failure.exit_code], message=str(failure))
        with suppress(SmOpsError):
            found = existing(home, release) if release else None
    with suppress(SmOpsError):  # of a damaged release nothing but the sentence is shown
        page = pages.of_release(found, state.message) if found else pages.of_home(home)
        key = pages.key(found.name) if found else "releases"
        create_markdown_artifact(page, key, description=str(found or "all releases"))
    mirror_where_tracked(home)
    return state


def deployments(destination: str | None = None, bucket_owner: str | None = None) -> list[RunnerDeployment]:
    """The three flows as `prefect.serve` or a work pool takes them.

    Building starts when a run of the main job completed, expiring every night. Publishing starts by hand or by a
    schedule that is added, and, with a destination, by the event `APPROVED`.
    """
    after_run = DeploymentEventTrigger(
        name="release-build after a run",
        expect={"prefect.flow-run.Completed"},
        match_related={"prefect.resource.role": "flow", "prefect.resource.name": "surprise"},
    )
    approved = DeploymentEventTrigger(
        name="release-publish after an approval",
        expect={APPROVED},
        match={"prefect.resource.id": f"{RESOURCE}*"},
        parameters={"release": _jinja("{{ event.resource.id | replace('" + RESOURCE + "', '') }}")},
    )
    place = {"destination": destination, "bucket_owner": bucket_owner} if destination else {}
    common: dict[str, Any] = {"concurrency_limit": 1, "entrypoint_type": EntrypointType.MODULE_PATH}
    nightly = DeploymentScheduleCreate(schedule=CronSchedule(cron="0 2 * * *", timezone="UTC"), slug="nightly")
    made = RunnerDeployment.from_flow
    return [
        made(build, "after-run", triggers=[after_run], **common),
        made(publish, "approved", triggers=[approved] if place else [], parameters=place, **common),
        made(expire, "nightly", schedules=[nightly], **common),
    ]


def _jinja(template: str) -> dict[str, str]:
    return {"__prefect_kind": "jinja", "template": template}
