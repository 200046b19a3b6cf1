"""Calls of S3: credentials, region and endpoint as boto3 finds them, retries, and refusals as sentences.

A call is repeated, with growing pauses of random length, after a 5xx answer, a reset, a timeout, and when another
conditional write was under way; so a write may have happened although an earlier try of it was never answered.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from typing import Any

from sm_ops.core.errors import InputError

TRIES = 6
CONNECT_SECONDS, READ_SECONDS = 10, 60
PAUSE = 0.5
"""Seconds; the first pause is up to this, each further one up to twice as much as the one before."""
_ABSENT = {"NoSuchKey", "404", "NotFound"}
_UNSET = {
    "ObjectLockConfigurationNotFoundError",
    "ServerSideEncryptionConfigurationNotFoundError",
    "NoSuchPublicAccessBlockConfiguration",
    "NoSuchBucketPolicy",
}
"""S3 has a code of its own for each setting that a bucket has not."""
_UNMET = {"PreconditionFailed", "412"}
_BUSY = {"ConditionalRequestConflict", "OperationAborted"}
_FORBIDDEN = {"AccessDenied", "403", "Forbidden", "AllAccessDisabled"}
_CREDENTIALS = {"InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken", "AuthFailure"}
_BROKEN = {"BadDigest", "XAmzContentSHA256Mismatch", "XAmzContentChecksumMismatch", "IncompleteBody"}
_PERMISSIONS = {
    "put_object": "s3:PutObject (and s3:PutObjectRetention with Object Lock)",
    "create_multipart_upload": "s3:PutObject (and s3:PutObjectRetention with Object Lock)",
    "copy_object": "s3:PutObject, s3:GetObject (and s3:PutObjectRetention with Object Lock)",
    "get_object": "s3:GetObject",
    "head_object": "s3:GetObject",
    "list_objects_v2": "s3:ListBucket",
    "list_object_versions": "s3:ListBucketVersions",
    "list_multipart_uploads": "s3:ListBucketMultipartUploads",
    "get_bucket_versioning": "s3:GetBucketVersioning",
    "get_object_lock_configuration": "s3:GetBucketObjectLockConfiguration",
    "put_object_retention": "s3:PutObjectRetention",
    "delete_object": "s3:DeleteObjectVersion (and s3:BypassGovernanceRetention with Object Lock)",
}


class Absent(Exception):
    """There is no such object, or the bucket has no such setting."""


class Unmet(Exception):
    """The condition of a write does not hold."""


class Forbidden(InputError):
    """The service lets these credentials not do it."""


def pauses() -> Iterator[None]:
    """As many rounds as there are tries; between two of them it waits."""
    for number in range(TRIES):
        yield
        if number + 1 < TRIES:
            time.sleep(random.uniform(0, PAUSE * 2**number))


class Bucket:
    """One bucket, asked as one account's where an owner is given."""

    def __init__(self, name: str, owner: str | None) -> None:
        self.name = name
        self.owner = owner
        self._client: Any = None

    def ask(self, operation: str, **arguments: Any) -> dict[str, Any]:
        """One call. Raises `Absent`, `Unmet`, `Forbidden`, or `InputError` for whatever else ends it."""
        from botocore.exceptions import BotoCoreError, ClientError

        if self.owner is not None:
            arguments["ExpectedBucketOwner"] = self.owner
            if "CopySource" in arguments:
                arguments["ExpectedSourceBucketOwner"] = self.owner
        code = "unknown"
        for _ in pauses():
            try:
                return getattr(self._connected(), operation)(Bucket=self.name, **arguments)
            except ClientError as error:
                code = error.response.get("Error", {}).get("Code", "unknown")
                if code not in _BUSY:
                    break
            except (BotoCoreError, ValueError) as error:
                raise self.unreachable(type(error).__name__) from None
        raise self._refused(code, operation, arguments.get("Key", "")) from None

    def pages(self, operation: str, found: str, **arguments: Any) -> Iterator[dict[str, Any]]:
        """The entries named `found` of a listing, page by page."""
        while True:
            answer = self.ask(operation, **arguments)
            yield from answer.get(found) or ()
            if not answer.get("IsTruncated"):
                return
            following = {
                name.removeprefix("Next"): answer[name]
                for name in ("NextContinuationToken", "NextKeyMarker", "NextVersionIdMarker", "NextUploadIdMarker")
                if name in answer
            }
            arguments |= following

    def unreachable(self, kind: str) -> InputError:
        """No answer, or no credentials to ask with."""
        if "Credential" in kind or "Token" in kind:
            hint = (
                f"boto3 found no usable credentials for s3://{self.name} ({kind}); see: aws configure, or AWS_PROFILE"
            )
            return InputError("s3-credentials", hint)
        hint = (
            f"s3://{self.name} could not be asked ({kind}); check network, region and AWS_ENDPOINT_URL, then run the "
            "same command again."
        )
        return InputError("s3-unreachable", hint)

    def _connected(self) -> Any:
        import boto3
        from botocore.config import Config

        if self._client is None:
            retries = {"mode": "standard", "total_max_attempts": TRIES}
            limits = Config(connect_timeout=CONNECT_SECONDS, read_timeout=READ_SECONDS, retries=retries)
            self._client = boto3.Session().client("s3", config=limits)  # not of credentials used before
        return self._client

    def _refused(self, code: str, operation: str, key: str) -> Exception:
        where = f"s3://{self.name}/{key}" if key else f"s3://{self.name}"
        if code in _UNMET:
            return Unmet()
        if code == "NoSuchBucket":
            return InputError("no-bucket", f"There is no bucket {self.name}; check its name, region and endpoint.")
        if code in _ABSENT | _UNSET:
            return Absent()
        if code in _FORBIDDEN:
            owned = f" and the bucket to be account {self.owner}'s" if self.owner else ""
            needed = _PERMISSIONS.get(operation, operation)
            return Forbidden("s3-forbidden", f"{where} was refused to these credentials; it needs {needed}{owned}.")
        if code in _CREDENTIALS:
            return InputError("s3-credentials", f"{where}: the credentials are not valid ({code}); renew them.")
        if code in _BROKEN:
            hint = f"{where}: what arrived is not what was sent ({code}); run the same command again."
            return InputError("s3-damaged", hint)
        hint = f"{where}: the service answered {code} to {operation}; run the same command again, or look the code up."
        return InputError("s3-refused", hint)
