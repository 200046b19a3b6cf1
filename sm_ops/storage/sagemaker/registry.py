"""A finished job's models in SageMaker's model registry, pending until a person decides there.

The registry is a notice board: whoever may write to it can change an approval, so nothing here is let out because of
one. A release is (`sm-ops release`).
"""

from __future__ import annotations

from typing import Any

from sm_ops.core.errors import InputError
from sm_ops.storage.sagemaker.journal import Entry
from sm_ops.storage.sagemaker.request import REQUEST, outputs_of
from sm_ops.storage.sagemaker.service import Absent, Service

Json = dict[str, Any]


def register(entry: Entry, service: Service) -> str:
    """The ARN of the job's model package, made as PendingManualApproval where it is not there."""
    group = entry.inventory["model_package_group"]
    if group is None:
        hint = "The inventory names no model_package_group; make one (infra/terraform) and print the inventory anew."
        raise InputError("no-registry", hint)
    if entry.states[-1].get("status") != "Completed":
        raise InputError("job-not-done", f"The job {entry.name} is not done; see: sm-ops sagemaker status {entry.name}")
    if found := approval(entry, service):
        return found["arn"]
    container = {
        "Image": entry.request["AlgorithmSpecification"]["TrainingImage"],
        "ModelDataUrl": f"{outputs_of(entry.request)}model.tar.gz",
    }
    formats = {"SupportedContentTypes": ["application/json"], "SupportedResponseMIMETypes": ["application/json"]}
    made = service.change(
        "create_model_package",
        ModelPackageGroupName=group,
        ModelPackageDescription=entry.name,
        InferenceSpecification={"Containers": [container], **formats},
        ModelApprovalStatus="PendingManualApproval",
        CustomerMetadataProperties={"job": entry.name, "request": entry.request["HyperParameters"][REQUEST]},
    )
    return made["ModelPackageArn"]


def approval(entry: Entry, service: Service) -> Json | None:
    """`arn`, `approval` and `description` of the job's model package, or None where there is none."""
    group, token = entry.inventory["model_package_group"], {}
    while group is not None:
        try:
            answer = service.read("list_model_packages", ModelPackageGroupName=group, **token)
        except Absent:
            return None
        for package in answer["ModelPackageSummaryList"]:
            if package.get("ModelPackageDescription") == entry.name:
                arn = package["ModelPackageArn"]
                found = service.read("describe_model_package", ModelPackageName=arn)
                return {
                    "arn": arn,
                    "approval": found["ModelApprovalStatus"],
                    "description": found.get("ApprovalDescription"),
                }
        if not answer.get("NextToken"):
            return None
        token = {"NextToken": answer["NextToken"]}
    return None
