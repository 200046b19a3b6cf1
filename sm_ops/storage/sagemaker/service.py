"""Calls of AWS other than S3: credentials and endpoint as boto3 finds them, patience, and refusals as sentences.

What changes nothing is asked again after throttling, a 5xx answer or none. What may have happened although nobody
answered raises `Unanswered` instead: only the caller knows how to find out.
"""

from __future__ import annotations

import re
from typing import Any

from sm_ops.core.errors import InputError
from sm_ops.storage.places import calls

_THROTTLED = {"ThrottlingException", "Throttling", "TooManyRequestsException", "RequestLimitExceeded"}
_ABSENT = {"ResourceNotFound", "NoSuchEntity", "NoSuchEntityException", "NotFoundException", "ImageNotFoundException"}
_ABSENT |= {"RepositoryNotFoundException", "NoSuchResourceException", "ResourceNotFoundException"}
_FORBIDDEN = {"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"}
_CREDENTIALS = {"UnrecognizedClientException", "ExpiredTokenException", "ExpiredToken", "InvalidClientTokenId"}
_CREDENTIALS |= {"InvalidSignatureException", "SignatureDoesNotMatch", "InvalidAccessKeyId"}
_NOT_FOUND = re.compile(r"not found|could not find|does not exist", re.IGNORECASE)
"""SageMaker answers ValidationException for a malformed name and for a missing job alike; only its text differs."""


class Absent(Exception):
    """There is no such thing."""


class Unanswered(Exception):
    """It may have happened, or not."""


class Taken(Exception):
    """There is a thing of that name already."""


class Forbidden(InputError):
    """The service lets these credentials not do it, so nothing is known of what was asked about."""


class _Busy(InputError):
    """Refused for now."""


class Service:
    """One service of AWS in one region; the client is made when it is first asked."""

    def __init__(self, name: str, region: str) -> None:
        self.name = name
        self.region = region
        self._client: Any = None

    def read(self, operation: str, **arguments: Any) -> dict[str, Any]:
        """A call that changes nothing, or the same when repeated. Raises `Absent`, `Forbidden` or `InputError`."""
        for _ in calls.pauses():
            try:
                return self.change(operation, **arguments)
            except Unanswered:
                continue
        raise self._unreachable(operation)

    def change(self, operation: str, **arguments: Any) -> dict[str, Any]:
        """A call that must not happen twice; it is repeated only where it certainly did not happen.

        Raises `Taken` and `Unanswered` beside what `read` raises.
        """
        from botocore.exceptions import BotoCoreError, ClientError, ConnectTimeoutError, EndpointConnectionError

        failure: Exception = Unanswered()
        for _ in calls.pauses():
            try:
                return getattr(self._connected(), operation)(**arguments)
            except (EndpointConnectionError, ConnectTimeoutError):
                failure = self._unreachable(operation)
            except ClientError as error:
                failure = self._failed(error.response, operation)
                if not isinstance(failure, _Busy):
                    raise failure from None
            except BotoCoreError as error:
                raise self._not_answered(type(error).__name__, operation) from None
        raise failure

    def _failed(self, response: dict[str, Any], operation: str) -> Exception:
        answer, status = response.get("Error", {}), response.get("ResponseMetadata", {}).get("HTTPStatusCode", 400)
        code = answer.get("Code", "unknown")
        if code in _THROTTLED:
            return _Busy("aws-busy", f"{self.name} in {self.region} is busy ({code}); run this again later.")
        return Unanswered() if status >= 500 else self._refused(code, answer.get("Message", ""), operation)

    def _connected(self) -> Any:
        import boto3
        from botocore.config import Config

        if self._client is None:
            seconds = {"connect_timeout": calls.CONNECT_SECONDS, "read_timeout": calls.READ_SECONDS}
            limits = Config(retries={"total_max_attempts": 1}, **seconds)
            self._client = boto3.Session().client(self.name, region_name=self.region, config=limits)
        return self._client

    def _unreachable(self, operation: str) -> InputError:
        hint = f"{self.name} in {self.region} gave no answer to {operation}; check network, region and "
        return InputError("aws-unreachable", hint + "AWS_ENDPOINT_URL, then run the same command again.")

    def _not_answered(self, kind: str, operation: str) -> Exception:
        """What boto3 itself found wrong before it sent anything, or else a connection that broke."""
        if kind == "ParamValidationError":
            return InputError("aws-refused", f"{self.name}: boto3 finds {operation} malformed; nothing was sent.")
        if "Credential" in kind or "Token" in kind:
            hint = f"boto3 found no usable credentials for {self.name} ({kind}); see: aws configure, or AWS_PROFILE"
            return InputError("aws-credentials", hint)
        return Unanswered()

    def _refused(self, code: str, message: str, operation: str) -> Exception:
        where = f"{self.name} in {self.region}"
        invalid = code == "ValidationException"
        if operation.startswith("create_") and invalid:  # of what such a call names, nothing is of the data
            return InputError("aws-refused", f"{where} refuses {operation}: {message[:300]}")
        if code in _ABSENT or (invalid and _NOT_FOUND.search(message)):
            return Absent()
        if code == "ResourceInUse":
            return Taken()
        if code in _FORBIDDEN:
            return Forbidden("aws-forbidden", f"{where} refused {operation} to these credentials ({code}).")
        if code in _CREDENTIALS:
            return InputError("aws-credentials", f"{where}: the credentials are not valid ({code}); renew them.")
        if code == "ResourceLimitExceeded":
            hint = f"{where}: the account's quota does not allow this; see: sm-ops sagemaker preflight"
            return InputError("aws-quota", hint)
        return InputError("aws-refused", f"{where} answered {code} to {operation}; look the code up.")
