"""What a job on SageMaker is made of: the account's inventory, which Terraform prints, and the machine to run on."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from sm_ops.core.config.base import Positive, Section


class Inventory(Section):
    """Where jobs run and what they may touch: `terraform output -json inventory` (infra/terraform)."""

    format: Literal["sagemaker-inventory/1"]
    account: str
    region: str
    role: str
    bucket: str
    prefix: str = "sm-ops"
    kms_key: str
    subnets: Annotated[tuple[str, ...], Field(max_length=16)] = ()
    security_groups: Annotated[tuple[str, ...], Field(max_length=5)] = ()
    model_package_group: str | None = None

    @field_validator("account", "region", "role", "bucket", "prefix", "kms_key")
    @classmethod
    def _form(cls, value: str, info: ValidationInfo) -> str:
        return _formed(str(info.field_name), value)

    @model_validator(mode="after")
    def _of_one_account(self) -> Inventory:
        for name, arn in (("role", self.role), ("kms_key", self.kms_key)):
            if self.account not in arn.split(":"):
                raise ValueError(f"{name} is not account {self.account}'s")
        if self.region not in self.kms_key.split(":"):
            raise ValueError(f"kms_key is not in the region {self.region}")
        if bool(self.subnets) != bool(self.security_groups):
            raise ValueError("subnets and security_groups go together")
        return self


class Machine(Section):
    """What one training job asks for."""

    image: str
    instance: str = "ml.g5.xlarge"
    volume_gb: Annotated[int, Field(ge=1, le=16_384)] = 50
    hours: Annotated[int, Field(ge=1, le=28 * 24)] = Field(default=24, description="at most, of running")
    spot: bool = True
    wait_hours: Positive = Field(default=48, description="with spot: at most, of running and waiting together")

    @field_validator("image", "instance")
    @classmethod
    def _form(cls, value: str, info: ValidationInfo) -> str:
        return _formed(str(info.field_name), value)

    @model_validator(mode="after")
    def _waits_as_long_as_it_runs(self) -> Machine:
        if self.spot and self.wait_hours < self.hours:
            raise ValueError(f"wait_hours is {self.wait_hours}, but it counts the {self.hours} hours of running too")
        return self


_FORMS = {
    "account": (r"[0-9]{12}", "an account is 12 digits"),
    "region": (r"[a-z]{2}(-[a-z]+)+-[0-9]", "a region reads like eu-central-1"),
    "role": (r"arn:aws[a-z-]*:iam::[0-9]{12}:role/[\w+=,.@/-]{1,512}", "a role is named by its ARN"),
    "bucket": (r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]", "a bucket's name is 3 to 63 of a-z, 0-9, '.', '-'"),
    "prefix": (r"[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*", "a prefix is made of letters, digits, '_', '-' and single '/'"),
    "kms_key": (r"arn:aws[a-z-]*:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9-]+", "a key is named by its ARN"),
    "instance": (r"ml\.[a-z0-9-]+\.[a-z0-9-]+", "a machine for training reads like ml.g5.xlarge"),
    "image": (
        r"[0-9]{12}\.dkr\.ecr\.[a-z0-9-]+\.amazonaws\.com(\.cn)?/[a-z0-9._/-]+@sha256:[0-9a-f]{64}",
        "an image is named by its digest: ACCOUNT.dkr.ecr.REGION.amazonaws.com/NAME@sha256:...",
    ),
}


def _formed(name: str, value: str) -> str:
    form, told = _FORMS[name]
    if not re.fullmatch(form, value):
        raise PydanticCustomError("form", told)  # type: ignore[arg-type]
    return value
