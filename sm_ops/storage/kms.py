"""Data keys under a key of AWS KMS. Credentials, region and endpoint are found as boto3 always finds them."""

from __future__ import annotations

from typing import Any

from sm_ops.core.errors import InputError

Context = dict[str, str]
_TRIES = 3
_SECONDS = 10


class Kms:
    """One KMS key. Each call carries an encryption context, which KMS binds to the ciphertext and writes to its log."""

    def __init__(self, key_id: str) -> None:
        self.key_id = key_id
        self._client: Any = None

    def generate(self, context: Context) -> tuple[bytes, bytes]:
        """A new data key of 32 bytes, plain and wrapped."""
        answer = self._call("generate_data_key", KeyId=self.key_id, KeySpec="AES_256", EncryptionContext=context)
        return answer["Plaintext"], answer["CiphertextBlob"]

    def encrypt(self, data_key: bytes, context: Context) -> bytes:
        """Wrap a data key."""
        answer = self._call("encrypt", KeyId=self.key_id, Plaintext=data_key, EncryptionContext=context)
        return answer["CiphertextBlob"]

    def decrypt(self, wrapped: bytes, context: Context) -> bytes:
        """Unwrap a data key that this very key has wrapped under this very context."""
        answer = self._call("decrypt", KeyId=self.key_id, CiphertextBlob=wrapped, EncryptionContext=context)
        return answer["Plaintext"]

    def _call(self, operation: str, **arguments: Any) -> dict[str, Any]:
        import boto3
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            if self._client is None:
                limits = Config(connect_timeout=_SECONDS, read_timeout=_SECONDS, retries={"total_max_attempts": _TRIES})
                self._client = boto3.client("kms", config=limits)
            return getattr(self._client, operation)(**arguments)
        except ClientError as error:
            raise self._refused(error.response.get("Error", {}).get("Code", "unknown")) from None
        except BotoCoreError as error:
            hint = f"AWS KMS could not be asked ({type(error).__name__}); check credentials, region and network."
            raise InputError("kms-unreachable", hint) from None

    def _refused(self, code: str) -> InputError:
        if code in ("InvalidCiphertextException", "IncorrectKeyException"):
            hint = f"The KMS key {self.key_id} did not wrap this for this dataset; it is another key, or damaged."
            return InputError("kms-ciphertext", hint)
        advice = {
            "NotFoundException": "check the key's id and the region",
            "DisabledException": "enable the key",
            "KMSInvalidStateException": "the key is disabled or about to be deleted",
            "AccessDeniedException": "the credentials need kms:GenerateDataKey, kms:Encrypt and kms:Decrypt on it",
        }.get(code, "see the service's documentation of this code")
        return InputError("kms-refused", f"AWS KMS refused the key {self.key_id} with {code}; {advice}.")
