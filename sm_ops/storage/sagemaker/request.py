"""A training job as a pure function of config, machine and inventory; nothing is asked and nothing is written.

The service's own description of the call, which boto3 carries, says what names, patterns and limits it takes. boto3
itself checks types alone, and a stand-in for AWS takes anything, so all of it is checked here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from sm_ops.core import fs
from sm_ops.core.errors import InputError
from sm_ops.storage.sagemaker.inputs import Channel

Json = dict[str, Any]
ENTRY = ("python", "-m", "sm_ops.storage.sagemaker.container")
CHECKPOINTS = "/opt/ml/checkpoints"
REQUEST = "request"
"""The hyperparameter by which a job that is found is known to be the one that was asked for."""
_OWN_DISKS = re.compile(r"ml\.(g4dn|g5|g6e?|g7e?|p3dn|p4de?|p5(en?)?|p6[a-z0-9-]*|trn[12]n?|r5d)\.")
"""Machines with disks of their own, which the hardware encrypts; a job that names a key for them is refused."""
_HOUR = 3600


def series_of(config: Mapping[str, Any], machine: Json, inventory: Json, channels: list[Channel], local: bool) -> str:
    """What all attempts at one piece of work have in common: the begin of their names, and their checkpoints."""
    what = {"machine": machine, "inventory": inventory, "channels": {each.name: each.digest for each in channels}}
    name = re.sub(r"[^A-Za-z0-9]+", "-", str(config["name"])).strip("-")[:30] or "run"
    return f"{name}-{fs.sha256(fs.canonical_json(what))[:12]}" + ("-local" if local else "")


def training_job(series: str, attempt: int, machine: Json, inventory: Json, channels: list[Channel]) -> Json:
    """What `create_training_job` takes. Raises `InputError` for what the service would refuse."""
    place = f"s3://{inventory['bucket']}/{inventory['prefix']}"
    hours, spot = machine["hours"], machine["spot"]
    resources = {"InstanceType": machine["instance"], "InstanceCount": 1, "VolumeSizeInGB": machine["volume_gb"]}
    if not _OWN_DISKS.match(machine["instance"]):
        resources["VolumeKmsKeyId"] = inventory["kms_key"]
    job: Json = {
        "TrainingJobName": f"{series}-{attempt}",
        "AlgorithmSpecification": {
            "TrainingImage": machine["image"],
            "TrainingInputMode": "File",
            "ContainerEntrypoint": list(ENTRY),
        },
        "RoleArn": inventory["role"],
        "InputDataConfig": [_channel(f"{place}/{each.key}/", each.name) for each in channels],
        "OutputDataConfig": {"S3OutputPath": f"{place}/outputs/", "KmsKeyId": inventory["kms_key"]},
        "ResourceConfig": resources,
        "StoppingCondition": {
            "MaxRuntimeInSeconds": hours * _HOUR,
            **({"MaxWaitTimeInSeconds": machine["wait_hours"] * _HOUR} if spot else {}),
        },
        "EnableNetworkIsolation": True,
        "EnableInterContainerTrafficEncryption": True,
        "EnableManagedSpotTraining": spot,
        "CheckpointConfig": {"S3Uri": f"{place}/checkpoints/{series}/", "LocalPath": CHECKPOINTS},
        "Tags": [{"Key": "project", "Value": "sm-ops"}, {"Key": "series", "Value": series}],
    }
    if inventory["subnets"]:
        job["VpcConfig"] = {
            "Subnets": list(inventory["subnets"]),
            "SecurityGroupIds": list(inventory["security_groups"]),
        }
    job["HyperParameters"] = {REQUEST: fs.sha256(fs.canonical_json(job))}
    if found := list(problems(job)):
        raise InputError("bad-job", f"SageMaker would refuse the job: {'; '.join(found)}.")
    return job


def outputs_of(job: Json) -> str:
    """Where the service puts what a job made, as `s3://...` with a closing slash."""
    return f"{job['OutputDataConfig']['S3OutputPath']}{job['TrainingJobName']}/output/"


def problems(job: Json) -> Iterator[str]:
    """What the service would not take, a clause each."""
    yield from _against(_shape(), job, "")
    limits = job["StoppingCondition"]
    if job["EnableManagedSpotTraining"] and limits["MaxWaitTimeInSeconds"] < limits["MaxRuntimeInSeconds"]:
        yield "MaxWaitTimeInSeconds is less than MaxRuntimeInSeconds"
    if "@sha256:" not in job["AlgorithmSpecification"]["TrainingImage"]:
        yield "TrainingImage names no digest, so another image could run under its name"


def _channel(uri: str, name: str) -> Json:
    source = {"S3DataType": "S3Prefix", "S3Uri": uri, "S3DataDistributionType": "FullyReplicated"}
    return {"ChannelName": name, "DataSource": {"S3DataSource": source}}


@cache
def _shape() -> Any:
    import botocore.session

    model = botocore.session.get_session().get_service_model("sagemaker")
    return model.operation_model("CreateTrainingJob").input_shape


def _against(shape: Any, value: Any, place: str) -> Iterator[str]:
    """Where a value is not of a shape of the service's description."""
    if shape.type_name == "structure":
        for name, member in value.items():
            if name not in shape.members:
                yield f"there is no {place}{name}"
            else:
                yield from _against(shape.members[name], member, f"{place}{name}.")
        yield from (f"{place}{name} is missing" for name in shape.required_members if name not in value)
        return
    named = place.rstrip(".")
    if shape.type_name == "list":
        for number, member in enumerate(value):
            yield from _against(shape.member, member, f"{named}[{number}].")
    elif shape.type_name == "map":
        for name, member in value.items():
            yield from _against(shape.key, name, place)
            yield from _against(shape.value, member, f"{place}{name}.")
    elif shape.type_name == "string":
        pattern = shape.metadata.get("pattern", ".*")
        if shape.enum and value not in shape.enum:
            yield f"{named} is {value!r}, which this version of boto3 does not know"
        elif "\\p" not in pattern and not re.fullmatch(pattern, value, re.DOTALL):  # a class that `re` does not know
            yield f"{named} is {value!r}, which is not of the form {pattern}"
    size = value if isinstance(value, int | float) else len(value)
    if size < shape.metadata.get("min", size):
        yield f"{named} is under the least of {shape.metadata['min']}"
    if size > shape.metadata.get("max", size):
        yield f"{named} is over the most of {shape.metadata['max']}"
