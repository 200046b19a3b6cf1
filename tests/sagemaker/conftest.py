"""What the tests of SageMaker share: an inventory, a machine, a home with both, and servers that stand in for AWS."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aws_stand_in import ACCOUNT, REGION, Moto, started_moto


@pytest.fixture(scope="package")
def moto(tmp_path_factory) -> Iterator[Moto]:
    with started_moto(tmp_path_factory.mktemp("moto")) as server:
        yield server


@pytest.fixture
def inventory() -> dict[str, Any]:
    return {
        "format": "sagemaker-inventory/1",
        "account": ACCOUNT,
        "region": REGION,
        "role": f"arn:aws:iam::{ACCOUNT}:role/sm-ops-job",
        "bucket": "jobs",
        "prefix": "sm-ops",
        "kms_key": f"arn:aws:kms:{REGION}:{ACCOUNT}:key/00000000-0000-0000-0000-000000000000",
        "subnets": [],
        "security_groups": [],
        "model_package_group": "sm-ops-models",
    }


@pytest.fixture
def machine() -> dict[str, Any]:
    image = f"{ACCOUNT}.dkr.ecr.{REGION}.amazonaws.com/sm-ops-worker@sha256:{'0' * 64}"
    return {
        "image": image,
        "instance": "ml.g5.xlarge",
        "volume_gb": 50,
        "hours": 24,
        "spot": True,
        "wait_hours": 48,
    }


@pytest.fixture
def settled_home(tmp_path, inventory, machine) -> Path:
    """A home whose folder `sagemaker` holds inventory and machine."""
    folder = tmp_path / "home" / "sagemaker"
    folder.mkdir(parents=True)
    (folder / "inventory.json").write_text(json.dumps(inventory))
    (folder / "machine.yaml").write_text(json.dumps(machine))
    return folder.parent
