"""Requests as a server takes them that stands in for AWS: jobs, the model registry, preflight, rights."""

from __future__ import annotations

import json
from typing import Any

import pytest
from aws_stand_in import ACCOUNT, REGION, Moto
from botocore.stub import Stubber
from driving import SMALLEST, run_cli

from sm_ops.core import fs
from sm_ops.storage.places import calls
from sm_ops.storage.sagemaker import jobs, preflight, registry
from sm_ops.storage.sagemaker.inputs import Channel
from sm_ops.storage.sagemaker.journal import Entry, Journal
from sm_ops.storage.sagemaker.request import training_job
from sm_ops.storage.sagemaker.service import Service
from sm_ops.storage.sagemaker.teardown import to_remove

pytestmark = pytest.mark.slow

POLICY = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Sid": "Tls",
            "Effect": "Deny",
            "Principal": "*",
            "Action": "s3:*",
            "Resource": "arn:aws:s3:::jobs/*",
            "Condition": {"Bool": {"aws:SecureTransport": "false"}},
        }
    ],
}


@pytest.fixture
def aws(moto: Moto, monkeypatch) -> Moto:
    """An account with nothing in it."""
    moto.post("/moto-api/reset")
    monkeypatch.setattr(calls, "PAUSE", 0.0)
    for name, value in moto.variables.items():
        monkeypatch.setenv(name, value)
    return moto


@pytest.fixture
def service(aws) -> Service:
    return Service("sagemaker", REGION)


@pytest.fixture
def entry(tmp_path, machine, inventory) -> Entry:
    channels = [Channel("config", {}, {"config.json": "a" * 64})]
    job = training_job("tiny-0123456789ab", 1, machine, inventory, channels)
    return Journal(tmp_path / "home").plan(job, inventory, False)


def test_the_request_is_taken_as_it_is(entry, service, aws):
    jobs.submit(entry, service)
    found = aws.client("sagemaker").describe_training_job(TrainingJobName=entry.name)
    for name in ("AlgorithmSpecification", "OutputDataConfig", "ResourceConfig", "StoppingCondition"):
        assert found[name].items() >= entry.request[name].items()
    assert found["InputDataConfig"] == entry.request["InputDataConfig"]
    assert found["HyperParameters"] == entry.request["HyperParameters"]
    assert found["EnableNetworkIsolation"] is True
    assert jobs.status(entry, service)["status"] == "Completed"


def test_no_secret_is_in_a_request(entry):
    """What whoever may describe a job reads: names and digests."""
    assert set(entry.request["HyperParameters"]) == {"request"}
    assert "Environment" not in entry.request


@pytest.mark.parametrize("decision", ["Approved", "Rejected"])
def test_models_wait_for_a_person(decision, entry, service, aws):
    client = aws.client("sagemaker")
    client.create_model_package_group(ModelPackageGroupName="sm-ops-models")
    jobs.submit(entry, service)
    jobs.status(entry, service)
    assert registry.approval(entry, service) is None
    arn = registry.register(entry, service)
    assert registry.register(entry, service) == arn, "registered twice"
    assert registry.approval(entry, service)["approval"] == "PendingManualApproval"
    client.update_model_package(ModelPackageArn=arn, ModelApprovalStatus=decision, ApprovalDescription="looked at")
    assert registry.approval(entry, service) == {"arn": arn, "approval": decision, "description": "looked at"}


def test_the_command_submits_once(aws, settled_home):
    aws.client("s3").create_bucket(Bucket="jobs", CreateBucketConfiguration={"LocationConstraint": REGION})
    dry = run_cli("sagemaker", "submit", str(SMALLEST), home=settled_home)
    assert aws.client("sagemaker").list_training_jobs()["TrainingJobSummaries"] == [], "a dry run acted"
    assert json.loads(dry.stdout)["RoleArn"] == f"arn:aws:iam::{ACCOUNT}:role/sm-ops-job"
    first, second = (run_cli("sagemaker", "submit", str(SMALLEST), "--execute", home=settled_home) for _ in range(2))
    assert (first.returncode, second.returncode) == (0, 2), first.stderr
    assert "[job-done]" in second.stderr
    (job,) = aws.client("sagemaker").list_training_jobs()["TrainingJobSummaries"]
    assert first.stdout.startswith(job["TrainingJobName"])
    (journal,) = (settled_home / "sagemaker" / "jobs").glob("*/journal.json")
    assert fs.read_json(journal)["request"] == json.loads(dry.stdout)


# ---- preflight -----------------------------------------------------------------------------------------


def quotas(monkeypatch, value: float) -> None:
    """Service Quotas, which the stand-in has not."""
    import boto3

    client = boto3.client("service-quotas", region_name=REGION)
    stub = Stubber(client)
    pages = [
        ({"ServiceCode": "sagemaker"}, {"Quotas": [{"QuotaName": "other", "Value": 9.0}], "NextToken": "2"}),
        (
            {"ServiceCode": "sagemaker", "NextToken": "2"},
            {"Quotas": [{"QuotaName": "ml.g5.xlarge for spot training job usage", "Value": value}]},
        ),
    ]
    for asked, answer in pages:
        stub.add_response("list_service_quotas", answer, asked)
    stub.activate()
    connected = Service._connected
    monkeypatch.setattr(
        Service, "_connected", lambda self: client if self.name == "service-quotas" else connected(self)
    )


@pytest.fixture
def ready(aws, inventory, machine) -> tuple[dict[str, Any], dict[str, Any]]:
    """An account that has all that a job needs."""
    trust = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole"}]}
    trust["Statement"][0]["Principal"] = {"Service": "sagemaker.amazonaws.com"}  # type: ignore[index]
    aws.client("iam").create_role(RoleName="sm-ops-job", AssumeRolePolicyDocument=json.dumps(trust))
    inventory["kms_key"] = aws.client("kms").create_key()["KeyMetadata"]["Arn"]
    s3 = aws.client("s3")
    s3.create_bucket(Bucket="jobs", CreateBucketConfiguration={"LocationConstraint": REGION})
    s3.put_bucket_versioning(Bucket="jobs", VersioningConfiguration={"Status": "Enabled"})
    default = {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": inventory["kms_key"]}
    rules = {"Rules": [{"ApplyServerSideEncryptionByDefault": default}]}
    s3.put_bucket_encryption(Bucket="jobs", ServerSideEncryptionConfiguration=rules)
    names = ("BlockPublicAcls", "IgnorePublicAcls", "BlockPublicPolicy", "RestrictPublicBuckets")
    s3.put_public_access_block(Bucket="jobs", PublicAccessBlockConfiguration=dict.fromkeys(names, True))
    s3.put_bucket_policy(Bucket="jobs", Policy=json.dumps(POLICY))
    aws.client("ecr").create_repository(repositoryName="sm-ops-worker")
    config = {"mediaType": "application/vnd.docker.container.image.v1+json", "size": 1, "digest": f"sha256:{'1' * 64}"}
    manifest = {"schemaVersion": 2, "mediaType": "application/vnd.docker.distribution.manifest.v2+json"}
    body = json.dumps({**manifest, "config": config, "layers": []})
    image = aws.client("ecr").put_image(repositoryName="sm-ops-worker", imageManifest=body)["image"]
    machine["image"] = f"{machine['image'].partition('@')[0]}@{image['imageId']['imageDigest']}"
    return inventory, machine


def verdicts(inventory, machine) -> dict[str, str]:
    return {row.what: row.verdict for row in preflight.preflight(inventory, machine)}


def test_an_account_that_is_ready(ready, monkeypatch):
    quotas(monkeypatch, 2.0)
    assert set(verdicts(*ready).values()) == {"ok"}


def test_an_account_that_is_bare(aws, inventory, machine, monkeypatch):
    quotas(monkeypatch, 0.0)
    aws.client("s3").create_bucket(Bucket="jobs", CreateBucketConfiguration={"LocationConstraint": REGION})
    found = verdicts(inventory, machine)
    assert found.pop("account") == "ok"
    assert set(found.values()) == {"bad"}


def test_another_account(ready, monkeypatch):
    quotas(monkeypatch, 2.0)
    inventory, machine = ready
    rows = {row.what: row for row in preflight.preflight({**inventory, "account": "210987654321"}, machine)}
    assert rows["account"].verdict == "bad"
    assert "the credentials are account 123456789012's" in rows["account"].found
    assert rows.keys() == {"account"}, "nothing else is asked with the credentials of others"


def as_nobody(aws: Moto, monkeypatch) -> None:
    """A user without any rights."""
    iam = aws.client("iam")
    iam.create_user(UserName="nobody")
    made = iam.create_access_key(UserName="nobody")["AccessKey"]
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", made["AccessKeyId"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", made["SecretAccessKey"])


@pytest.fixture
def decided(aws) -> Any:
    """While inside, policies decide."""
    aws.post("/moto-api/reset-auth", b"0")
    yield
    aws.post("/moto-api/reset-auth", b"inf")


def test_what_may_not_be_asked_is_unknown(ready, aws, monkeypatch, request):
    quotas(monkeypatch, 2.0)
    as_nobody(aws, monkeypatch)
    request.getfixturevalue("decided")
    found = verdicts(*ready)
    del found["quota"], found["account"]
    assert set(found.values()) == {"unknown"}


def test_an_account_that_may_not_be_looked_at_is_not_torn_down(entry, ready, aws, monkeypatch, request):
    as_nobody(aws, monkeypatch)
    request.getfixturevalue("decided")
    things = to_remove([entry], [entry])
    assert {thing.state for thing in things} == {"unknown"}
