"""A job is submitted at most once, whatever the service answers, or does not; a stubbed client answers here."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest
from aws_stand_in import REGION
from botocore.stub import Stubber

from sm_ops.core import fs
from sm_ops.core.errors import InputError
from sm_ops.storage.places import calls
from sm_ops.storage.sagemaker import jobs, registry
from sm_ops.storage.sagemaker.inputs import Channel
from sm_ops.storage.sagemaker.journal import Entry, Journal
from sm_ops.storage.sagemaker.request import training_job
from sm_ops.storage.sagemaker.service import Forbidden, Service

pytestmark = pytest.mark.unit

SERIES = "tiny-0123456789ab"
ARN = f"arn:aws:sagemaker:{REGION}:123456789012:training-job/{SERIES}-1"
_client: Any = None


class Stubbed(Service):
    """The service with answers that are given before; what is asked beyond them fails the test."""

    def __init__(self) -> None:
        global _client
        super().__init__("sagemaker", REGION)
        given = {"aws_access_key_id": "-", "aws_secret_access_key": "-", "region_name": REGION}
        _client = _client or boto3.client("sagemaker", **given)  # half a second each
        self._client = _client
        self.stub = Stubber(_client)
        self.stub.activate()

    def takes(self) -> None:
        self.stub.add_response("create_training_job", {"TrainingJobArn": ARN})

    def refuses(self, operation: str, code: str, message: str = "", status: int = 400) -> None:
        self.stub.add_client_error(operation, code, message, http_status_code=status)

    def knows_none(self) -> None:
        self.refuses("describe_training_job", "ValidationException", "Requested resource not found.")

    def says(self, status: str, doing: str | None = None, request: str | None = None, **more: Any) -> None:
        image = {"TrainingInputMode": "File"}
        found = {
            "TrainingJobName": f"{SERIES}-1",
            "TrainingJobArn": ARN,
            "ModelArtifacts": {"S3ModelArtifacts": "s3://jobs/x"},
            "TrainingJobStatus": status,
            "SecondaryStatus": doing or ("Training" if status == "InProgress" else status),
            "AlgorithmSpecification": image,
            "ResourceConfig": {"InstanceType": "ml.g5.xlarge", "InstanceCount": 1, "VolumeSizeInGB": 1},
            "StoppingCondition": {},
            "CreationTime": datetime(2026, 1, 1),
            "HyperParameters": {"request": request} if request else {},
        }
        self.stub.add_response("describe_training_job", found | more)


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch):
    monkeypatch.setattr(calls, "PAUSE", 0.0)


@pytest.fixture
def service():
    stubbed = Stubbed()
    yield stubbed
    stubbed.stub.assert_no_pending_responses()
    stubbed.stub.deactivate()


@pytest.fixture
def journal(tmp_path) -> Journal:
    return Journal(tmp_path)


@pytest.fixture
def entry(journal, machine, inventory) -> Entry:
    channels = [Channel("config", {}, {"config.json": "a" * 64})]
    return journal.plan(training_job(SERIES, 1, machine, inventory, channels), inventory, False)


def states(journal: Journal) -> list[str]:
    """What the disk says, as another process would read it."""
    (entry,) = journal.entries()
    return [each["state"] for each in entry.states]


def make_older(entry: Entry, **ago: int) -> None:
    entry.states[-1]["at"] = (datetime.now(UTC) - timedelta(**ago)).isoformat()
    path = entry.folder / "journal.json"
    fs.write_json(path, {**fs.read_json(path), "states": entry.states})


def test_a_job_that_is_taken(entry, service, journal):
    service.takes()
    jobs.submit(entry, service)
    assert states(journal) == ["planned", "submitting", "submitted"]
    assert journal.find(None).states[-1]["arn"] == ARN


def test_the_same_work_is_not_submitted_beside_a_job_that_runs(entry, service, journal):
    service.takes()
    jobs.submit(entry, service)
    service.says("InProgress")
    with pytest.raises(InputError, match="job-runs"):
        jobs.next_attempt(journal, SERIES, service)


@pytest.mark.parametrize(("status", "due"), [("Failed", 2), ("Stopped", 2)])
def test_after_an_end_without_results_another_attempt_follows(status, due, entry, service, journal):
    service.takes()
    jobs.submit(entry, service)
    service.says(status)
    assert jobs.next_attempt(journal, SERIES, service) == due
    assert states(journal)[-1] == "ended"


def test_what_is_done_is_not_done_again(entry, service, journal):
    service.takes()
    jobs.submit(entry, service)
    service.says("Completed")
    with pytest.raises(InputError, match="job-done"):
        jobs.next_attempt(journal, SERIES, service)


def test_throttling_is_waited_for(entry, service, journal):
    for _ in range(3):
        service.refuses("create_training_job", "ThrottlingException")
    service.takes()
    jobs.submit(entry, service)
    assert states(journal)[-1] == "submitted"


def test_an_endless_queue_ends_as_a_refusal(entry, service, journal):
    for _ in range(calls.TRIES):
        service.refuses("create_training_job", "ThrottlingException")
    with pytest.raises(InputError, match="aws-busy"):
        jobs.submit(entry, service)
    assert states(journal)[-1] == "refused"
    assert jobs.next_attempt(journal, SERIES, service) == 2


def test_an_answer_that_was_lost_is_found_again(entry, service, journal):
    """The service took the job, and broke down before it said so."""
    service.refuses("create_training_job", "InternalFailure", status=500)
    service.says("InProgress", request=entry.request["HyperParameters"]["request"])
    jobs.submit(entry, service)
    assert states(journal) == ["planned", "submitting", "submitted"]


def test_an_unknown_submission_is_never_submitted_twice(entry, service, journal):
    service.refuses("create_training_job", "InternalFailure", status=500)
    service.knows_none()
    with pytest.raises(InputError, match="job-unknown"):
        jobs.submit(entry, service)
    service.knows_none()
    with pytest.raises(InputError, match="job-unknown"):
        jobs.next_attempt(journal, SERIES, service)
    make_older(entry, minutes=16)
    service.knows_none()
    assert jobs.next_attempt(journal, SERIES, service) == 2
    assert states(journal) == ["planned", "submitting", "not-arrived"]


def test_a_command_that_was_killed_leaves_a_submission_that_is_looked_for(entry, service, journal):
    entry.enter("submitting")
    service.says("Completed", request=entry.request["HyperParameters"]["request"])
    service.says("Completed")
    assert jobs.status(journal.find(None), service)["status"] == "Completed"
    assert states(journal) == ["planned", "submitting", "submitted", "ended"]


def test_what_may_not_be_looked_at_is_not_absent(entry, service, journal):
    entry.enter("submitting")
    make_older(entry, days=2)
    service.refuses("describe_training_job", "AccessDeniedException", "is not authorized; resource not found")
    with pytest.raises(Forbidden):
        jobs.next_attempt(journal, SERIES, service)
    assert states(journal)[-1] == "submitting"


def test_a_name_that_our_own_job_has(entry, service, journal):
    service.refuses("create_training_job", "ResourceInUse")
    service.says("InProgress", request=entry.request["HyperParameters"]["request"])
    jobs.submit(entry, service)
    assert states(journal)[-1] == "submitted"


def test_a_name_that_another_job_has(entry, service, journal):
    service.refuses("create_training_job", "ResourceInUse")
    service.says("InProgress", request="0" * 64)
    with pytest.raises(InputError, match="name-taken"):
        jobs.submit(entry, service)
    assert states(journal)[-1] == "refused"


def test_a_refusal_is_told_and_final(entry, service, journal):
    service.refuses("create_training_job", "ValidationException", "Could not assume role; role not found")
    with pytest.raises(InputError, match="Could not assume role"):
        jobs.submit(entry, service)
    assert states(journal)[-1] == "refused"


def test_an_exhausted_quota(entry, service):
    service.refuses("create_training_job", "ResourceLimitExceeded")
    with pytest.raises(InputError, match="aws-quota"):
        jobs.submit(entry, service)


def test_nobody_listens(entry, journal, monkeypatch):
    """Where no connection came about, nothing was submitted."""
    for name, value in {"AWS_ACCESS_KEY_ID": "-", "AWS_SECRET_ACCESS_KEY": "-"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(InputError, match="aws-unreachable"):
        jobs.submit(entry, Service("sagemaker", REGION))
    assert states(journal)[-1] == "refused"


def test_a_job_that_spot_took_the_machine_from(entry, service, journal):
    service.takes()
    jobs.submit(entry, service)
    began = datetime(2026, 1, 1)
    gone = [{"Status": name, "StartTime": began} for name in ("Training", "Interrupted", "Restarting", "Interrupted")]
    service.says("InProgress", "Interrupted", SecondaryStatusTransitions=gone)
    found = jobs.status(entry, service)
    assert (found["status"], found["doing"], found["interruptions"]) == ("InProgress", "Interrupted", 2)
    assert states(journal)[-1] == "submitted"


def test_a_job_that_waited_too_long_for_a_machine(entry, service, journal):
    service.takes()
    jobs.submit(entry, service)
    service.says("Stopped", "MaxWaitTimeExceeded")
    assert jobs.status(entry, service)["doing"] == "MaxWaitTimeExceeded"
    assert journal.find(None).states[-1]["status"] == "Stopped"


def test_stopping(entry, service):
    service.takes()
    jobs.submit(entry, service)
    service.says("InProgress")
    service.stub.add_response("stop_training_job", {})
    service.says("Stopping")
    assert jobs.stop(entry, service)["status"] == "Stopping"
    service.says("Stopped")
    heard: list[str] = []
    assert jobs.stop(entry, service, heard.append)["status"] == "Stopped"
    assert heard == [f"{SERIES}-1 does not run, so there is nothing to stop"]


def test_a_journal_is_held_by_one(journal, tmp_path):
    with journal.held(), pytest.raises(InputError, match="journal-busy"), Journal(tmp_path).held():
        pass


def test_a_damaged_journal_is_refused(entry, journal):
    (entry.folder / "journal.json").write_text("{")
    with pytest.raises(InputError, match="journal-damaged"):
        journal.entries()


def test_an_unknown_job(entry, journal):
    with pytest.raises(InputError, match=f"nearest is {SERIES}-1"):
        journal.find("tinny-0123456789ab")


def test_only_a_finished_job_is_registered(entry, service):
    with pytest.raises(InputError, match="job-not-done"):
        registry.register(entry, service)
