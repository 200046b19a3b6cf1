"""The account's roles, keys and buckets: planned with made-up answers, applied to a stand-in for AWS."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from aws_stand_in import ACCOUNT, REGION, Moto
from botocore.exceptions import ClientError
from driving import ROOT

from sm_ops.core.config.loading import load_section
from sm_ops.core.config.sagemaker import Inventory

pytestmark = pytest.mark.slow

LAUNCHER = f"arn:aws:iam::{ACCOUNT}:role/launcher"
PUBLISHER = f"arn:aws:iam::{ACCOUNT}:role/publisher"


class Terraform:
    """The binary over a copy of the module, with providers from a folder alone."""

    def __init__(self, folder: Path) -> None:
        binary = shutil.which("terraform")
        if binary is None:
            pytest.skip("there is no terraform on this machine")
        mirror = Path(os.environ.get("SM_OPS_TERRAFORM_MIRROR", "/usr/local/share/terraform/plugins"))
        if not mirror.is_dir():
            pytest.skip("SM_OPS_TERRAFORM_MIRROR names no folder with Terraform's providers")
        self._binary, self.module = binary, folder / "module"
        ignored = shutil.ignore_patterns(".terraform*", "*.tfstate*")
        shutil.copytree(ROOT / "infra" / "terraform", self.module, ignore=ignored)
        (folder / "rc").write_text(
            f'provider_installation {{\n  filesystem_mirror {{\n    path = "{mirror}"\n  }}\n}}\n'
        )
        self._environment = {
            "TF_CLI_CONFIG_FILE": str(folder / "rc"),
            "CHECKPOINT_DISABLE": "1",
            "TF_IN_AUTOMATION": "1",
        }
        self.run("init", "-backend=false", "-input=false")

    def run(
        self, *arguments: str, allowed: tuple[int, ...] = (0,), **variables: str
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [self._binary, f"-chdir={self.module}", *arguments],
            env={**os.environ, **self._environment, **variables},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def terraform(tmp_path_factory) -> Terraform:
    return Terraform(tmp_path_factory.mktemp("terraform"))


def test_what_is_planned(terraform):
    assert "Success! 6 passed, 0 failed." in terraform.run("test", "-no-color")


@pytest.fixture(scope="module")
def applied(terraform, moto: Moto) -> dict[str, Any]:
    """The outputs of the module that was applied."""
    iam = moto.client("iam")
    for name in ("launcher", "publisher"):
        iam.create_role(RoleName=name, AssumeRolePolicyDocument="{}")
    values = {"region": REGION, "endpoint": moto.url, "launchers": [LAUNCHER], "publishers": [PUBLISHER]}
    (terraform.module / "terraform.tfvars.json").write_text(json.dumps(values))
    terraform.run("apply", "-auto-approve", "-input=false", "-no-color", **moto.variables)
    return {name: each["value"] for name, each in json.loads(terraform.run("output", "-json")).items()}


def test_a_second_plan_changes_nothing(applied, terraform, moto):
    assert "No changes." in terraform.run("plan", "-detailed-exitcode", "-input=false", "-no-color", **moto.variables)


def test_the_inventory_is_what_the_commands_read(applied, tmp_path):
    (tmp_path / "inventory.json").write_text(json.dumps(applied["inventory"]))
    found = load_section(Inventory, tmp_path / "inventory.json")
    assert (found.account, found.bucket) == (ACCOUNT, f"sm-ops-{ACCOUNT}-{REGION}-jobs")


@pytest.mark.parametrize("kind", ["jobs", "releases", "logs"])
def test_a_bucket_is_closed(kind, applied, moto):
    s3, name = moto.client("s3"), f"sm-ops-{ACCOUNT}-{REGION}-{kind}"
    assert all(s3.get_public_access_block(Bucket=name)["PublicAccessBlockConfiguration"].values())
    assert s3.get_bucket_versioning(Bucket=name)["Status"] == "Enabled"
    statements = json.loads(s3.get_bucket_policy(Bucket=name)["Policy"])["Statement"]
    tls = next(each for each in statements if each["Sid"] == "DenyWithoutTls")
    assert tls["Effect"] == "Deny"
    assert tls["Principal"] in ("*", {"AWS": "*"})
    assert tls["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    assert sorted(tls["Resource"]) == [f"arn:aws:s3:::{name}", f"arn:aws:s3:::{name}/*"]
    rule = s3.get_bucket_encryption(Bucket=name)["ServerSideEncryptionConfiguration"]["Rules"][0]
    wanted = "AES256" if kind == "logs" else "aws:kms"
    assert rule["ApplyServerSideEncryptionByDefault"]["SSEAlgorithm"] == wanted


def test_releases_are_locked(applied, moto):
    found = moto.client("s3").get_object_lock_configuration(Bucket=applied["releases"])["ObjectLockConfiguration"]
    assert found["ObjectLockEnabled"] == "Enabled"
    retention = found["Rule"]["DefaultRetention"]
    assert (retention["Mode"], retention["Days"]) == ("GOVERNANCE", 1)


def test_a_job_may_do_what_it_has_to_and_no_more(applied, moto):
    """moto decides by the role's policy; the buckets' refusals are put aside, since it heeds no condition of theirs."""
    bucket = applied["inventory"]["bucket"]
    s3 = moto.client("s3")
    for name in (bucket, applied["releases"]):
        s3.delete_bucket_policy(Bucket=name)
    inputs, outputs, other = "sm-ops/inputs/a", "sm-ops/outputs/a", "vault/mapping"
    for key in (inputs, other):
        s3.put_object(Bucket=bucket, Key=key, Body=b"-")
    assumed = moto.client("sts").assume_role(RoleArn=applied["inventory"]["role"], RoleSessionName="job")["Credentials"]
    given = {
        "aws_access_key_id": assumed["AccessKeyId"],
        "aws_secret_access_key": assumed["SecretAccessKey"],
        "aws_session_token": assumed["SessionToken"],
    }
    job, training = moto.client("s3", **given), moto.client("sagemaker", **given)
    moto.post("/moto-api/reset-auth", b"0")
    try:
        assert job.get_object(Bucket=bucket, Key=inputs)["Body"].read() == b"-"
        job.put_object(Bucket=bucket, Key=outputs, Body=b"-")
        for refused in (
            lambda: job.put_object(Bucket=bucket, Key=inputs, Body=b"-"),
            lambda: job.get_object(Bucket=bucket, Key=other),
            lambda: job.get_object(Bucket=bucket, Key=outputs),
            lambda: job.delete_object(Bucket=bucket, Key=inputs),
            lambda: job.put_object(Bucket=applied["releases"], Key="a", Body=b"-"),
            lambda: training.list_training_jobs(),
        ):
            with pytest.raises(ClientError, match="AccessDenied"):
                refused()
    finally:
        moto.post("/moto-api/reset-auth", b"inf")
