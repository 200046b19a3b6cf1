"""What can be known before anything is sent: identity, role, key, image, quota, and the bucket's own protection.

Every question only reads. A refusal to answer is `unknown`, never `ok` and never `bad`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from sm_ops.core.errors import InputError
from sm_ops.storage.places.calls import Absent as Unset
from sm_ops.storage.places.calls import Bucket
from sm_ops.storage.sagemaker.service import Absent, Service

Json = dict[str, Any]
Verdict = tuple[Literal["ok", "bad", "unknown"], str]


@dataclass(frozen=True)
class Row:
    """One question and its answer."""

    what: str
    verdict: Literal["ok", "bad", "unknown"]
    found: str


def preflight(inventory: Json, machine: Json) -> Iterator[Row]:
    """One row a question; the account alone where the credentials are not its own, or there are none."""
    region = inventory["region"]
    account = _answered("account", lambda: _account(Service("sts", region), inventory))
    yield account
    if account.verdict != "ok":
        return
    bucket = Bucket(inventory["bucket"], inventory["account"])
    questions: dict[str, Callable[[], Verdict]] = {
        "role": lambda: _role(Service("iam", region), inventory["role"]),
        "key": lambda: _key(Service("kms", region), inventory["kms_key"]),
        "image": lambda: _image(machine["image"], region),
        "quota": lambda: _quota(Service("service-quotas", region), machine),
        "versioning": lambda: _versioning(bucket),
        "encryption": lambda: _encryption(bucket, inventory["kms_key"]),
        "public access": lambda: _public_access(bucket),
        "TLS only": lambda: _tls(bucket),
    }
    for what, ask in questions.items():
        yield _answered(what, ask)


def _answered(what: str, ask: Callable[[], Verdict]) -> Row:
    try:
        return Row(what, *ask())
    except InputError as error:
        return Row(what, "unknown", str(error))


def _account(sts: Service, inventory: Json) -> Verdict:
    found = sts.read("get_caller_identity")["Account"]
    if found != inventory["account"]:
        return "bad", f"the credentials are account {found}'s, the inventory is {inventory['account']}'s"
    return "ok", f"{found} in {sts.region}"


def _role(iam: Service, arn: str) -> Verdict:
    try:
        role = iam.read("get_role", RoleName=arn.rpartition("/")[2])["Role"]
    except Absent:
        return "bad", f"there is no role {arn}; see infra/terraform"
    statements = role.get("AssumeRolePolicyDocument", {}).get("Statement", [])
    trusted = any("sagemaker.amazonaws.com" in str(each.get("Principal")) for each in statements)
    if role["Arn"] != arn:
        return "bad", f"the role is {role['Arn']}, not {arn}"
    return ("ok", arn) if trusted else ("bad", f"{arn} cannot be assumed by sagemaker.amazonaws.com")


def _key(kms: Service, arn: str) -> Verdict:
    try:
        state = kms.read("describe_key", KeyId=arn)["KeyMetadata"]["KeyState"]
    except Absent:
        return "bad", f"there is no key {arn}"
    return ("ok", arn) if state == "Enabled" else ("bad", f"{arn} is {state}; enable it")


def _image(image: str, region: str) -> Verdict:
    host, _, rest = image.partition("/")
    name, _, digest = rest.partition("@")
    account, _, _, home, *_ = host.split(".")
    if home != region:
        return "bad", f"the image lies in {home}, the job would run in {region}"
    asked = {"registryId": account, "repositoryName": name, "imageIds": [{"imageDigest": digest}]}
    try:
        Service("ecr", region).read("describe_images", **asked)
    except Absent:
        return "bad", f"{name} has no image {digest[:19]}; push it first"
    return "ok", f"{name}@{digest[:19]}"


def _quota(quotas: Service, machine: Json) -> Verdict:
    use = "spot training job" if machine["spot"] else "training job"
    name, token = f"{machine['instance']} for {use} usage", {}
    while True:
        answer = quotas.read("list_service_quotas", ServiceCode="sagemaker", **token)
        for quota in answer["Quotas"]:
            if quota["QuotaName"] == name:
                value = f"{quota['Value']:.0f} of {name}"
                return ("ok", value) if quota["Value"] >= 1 else ("bad", f"{value}; ask for more in Service Quotas")
        if not answer.get("NextToken"):
            return "unknown", f"Service Quotas lists none named {name!r}"
        token = {"NextToken": answer["NextToken"]}


def _versioning(bucket: Bucket) -> Verdict:
    status = bucket.ask("get_bucket_versioning").get("Status")
    return ("ok", "enabled") if status == "Enabled" else ("bad", f"{bucket.name} keeps no versions; enable versioning")


def _encryption(bucket: Bucket, key: str) -> Verdict:
    answer = _setting(bucket, "get_bucket_encryption", "ServerSideEncryptionConfiguration", {"Rules": []})
    rules = [rule["ApplyServerSideEncryptionByDefault"] for rule in answer["Rules"]]
    keys = [rule.get("KMSMasterKeyID") for rule in rules if rule["SSEAlgorithm"] == "aws:kms"]
    if key in keys:
        return "ok", "aws:kms under the inventory's key"
    return "bad", f"{bucket.name} does not encrypt under {key} by default"


def _public_access(bucket: Bucket) -> Verdict:
    answer = _setting(bucket, "get_public_access_block", "PublicAccessBlockConfiguration", {})
    names = ("BlockPublicAcls", "IgnorePublicAcls", "BlockPublicPolicy", "RestrictPublicBuckets")
    if missing := [name for name in names if not answer.get(name)]:
        return "bad", f"{bucket.name} lacks {', '.join(missing)}"
    return "ok", "blocked"


def _tls(bucket: Bucket) -> Verdict:
    policy = re.sub(r"\s", "", _setting(bucket, "get_bucket_policy", "Policy", ""))
    if '"aws:SecureTransport":"false"' in policy and '"Effect":"Deny"' in policy:
        return "ok", "required by the bucket's policy"
    return "bad", f"the policy of {bucket.name} does not deny requests without TLS"


def _setting(bucket: Bucket, operation: str, name: str, missing: Any) -> Any:
    """A setting of the bucket, or what stands for one that it has not."""
    try:
        return bucket.ask(operation)[name]
    except Unset:
        return missing
