"""A prefix of an S3 bucket as a place: conditional writes, SHA-256 on every byte sent, Object Lock object by object.

Files above `PART` bytes go in parts. Reading goes on where a broken connection left it.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from sm_ops.core.errors import InputError
from sm_ops.storage.places.calls import Absent, Bucket, Forbidden, Unmet, pauses
from sm_ops.storage.places.place import Lock, read_digest

PART = 64 << 20
_MOST_PARTS = 10_000
_PIECE = 1 << 20
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_OWNER = re.compile(r"[0-9]{12}")

Json = dict[str, Any]


class S3Place:
    """`s3://BUCKET/PREFIX`."""

    def __init__(self, bucket: Bucket, prefix: str) -> None:
        self._bucket = bucket
        self._prefix = f"{prefix}/" if prefix else ""
        self.owner = bucket.owner
        self.text = f"s3://{bucket.name}/{self._prefix}".rstrip("/")

    @classmethod
    def named(cls, text: str, owner: str | None) -> S3Place:
        """From its text. Raises `InputError` for another form of place or owner."""
        name, _, prefix = text.removeprefix("s3://").partition("/")
        parts = prefix.strip("/").split("/")
        if not _NAME.fullmatch(name) or "." in parts or ".." in parts or ("" in parts and len(parts) > 1):
            raise InputError("place", f"{text} is not of the form s3://BUCKET/PREFIX.")
        if owner is not None and not _OWNER.fullmatch(owner):
            raise InputError("bucket-owner", f"{owner!r} is no AWS account: 12 digits.")
        return cls(Bucket(name, owner), "/".join(parts))

    def check(self, lock: bool) -> None:
        """Refuse a bucket of somebody else, without versions, or without Object Lock where that is asked for."""
        try:
            versions = self._bucket.ask("get_bucket_versioning").get("Status")
        except Forbidden as refused:
            raise self._not_owned() or refused from None
        if versions != "Enabled":
            hint = f"The bucket {self._bucket.name} keeps no versions, so what was published could be replaced; enable "
            raise InputError("no-versions", hint + "versioning on it.")
        if lock and not self._has_lock():
            hint = (
                f"The policy asks for Object Lock, which the bucket {self._bucket.name} has not; enable it, or leave "
            )
            raise InputError("no-object-lock", hint + "object_lock out of the policy.")

    def _not_owned(self) -> InputError | None:
        """The refusal to ask a bucket as the owner's, where without an owner it would have answered."""
        owner = self._bucket.owner
        if owner is None:
            return None
        try:
            Bucket(self._bucket.name, None).ask("get_bucket_versioning")
        except InputError:
            return None
        hint = (
            f"The bucket {self._bucket.name} is not account {owner}'s; nothing was sent. Check name and --bucket-owner."
        )
        return InputError("bucket-owner", hint)

    def _has_lock(self) -> bool:
        try:
            answer = self._bucket.ask("get_object_lock_configuration")
        except Absent:
            return False
        return answer.get("ObjectLockConfiguration", {}).get("ObjectLockEnabled") == "Enabled"

    def keys(self, prefix: str) -> list[str]:
        """The keys that begin with a prefix, sorted."""
        found = self._bucket.pages("list_objects_v2", "Contents", Prefix=self._prefix + prefix)
        return sorted(entry["Key"].removeprefix(self._prefix) for entry in found)

    def digest(self, key: str) -> str | None:
        """SHA-256 of what is there: as S3 computed it when it was written, or of the bytes read in full."""
        try:
            head = self._bucket.ask("head_object", Key=self._prefix + key, ChecksumMode="ENABLED")
            whole = head.get("ChecksumSHA256", "-")  # with a dash: a checksum of parts' checksums
            return base64.b64decode(whole).hex() if "-" not in whole else read_digest(self.read(key))
        except (Absent, FileNotFoundError):
            return None

    def read(self, key: str) -> Iterator[bytes]:
        """The bytes, in pieces; after a broken connection, of the same version, from where it broke."""
        from botocore.exceptions import BotoCoreError

        said, offset, kind = {}, 0, ""
        for _ in pauses():
            try:
                answer = self._bucket.ask("get_object", Key=self._prefix + key, **said)
            except (Absent, Unmet):
                raise FileNotFoundError(key) from None
            end = offset + answer["ContentLength"]
            try:
                for piece in answer["Body"].iter_chunks(_PIECE):
                    offset += len(piece)
                    yield piece
                return
            except BotoCoreError as error:
                kind = type(error).__name__
                if offset == end:  # whole, but not of the checksum that it was stored with
                    break
                said = {"Range": f"bytes={offset}-", "IfMatch": answer["ETag"]}
        raise self._bucket.unreachable(kind)

    def get(self, key: str) -> tuple[bytes, str] | None:
        """A small object and its entity tag."""
        try:
            answer = self._bucket.ask("head_object", Key=self._prefix + key)
            data = b"".join(self.read(key))
        except (Absent, FileNotFoundError):
            return None
        return data, answer["ETag"]

    def stage(self, key: str, source: Path) -> None:
        """Write a file, or write it anew."""
        size = source.stat().st_size
        with source.open("rb") as stream:
            if size <= PART:
                self._put(key, stream.read())
                return

            def send(number: int, start: int, end: int, place: Json) -> Json:
                data = stream.read(end - start)
                return self._bucket.ask("upload_part", Body=data, PartNumber=number, **place, **_checksum(data))

            self._in_parts(key, size, send, {})

    def promote(self, staged: str, key: str, lock: Lock | None) -> bool:
        """Copy a staged object to its final key within S3; False, and nothing done, where something is there."""
        source = {"Bucket": self._bucket.name, "Key": self._prefix + staged}
        head = self._bucket.ask("head_object", Key=self._prefix + staged)
        unchanged = {"CopySource": source, "CopySourceIfMatch": head["ETag"]}

        def copy(number: int, start: int, end: int, place: Json) -> Json:
            part = {"PartNumber": number, "CopySourceRange": f"bytes={start}-{end - 1}"}
            return self._bucket.ask("upload_part_copy", **part, **unchanged, **place)["CopyPartResult"]

        once = {"IfNoneMatch": "*"}
        try:
            if head["ContentLength"] > PART:
                self._in_parts(key, head["ContentLength"], copy, _kept(lock), once)
            else:
                wanted = {"Key": self._prefix + key, "ChecksumAlgorithm": "SHA256", **once, **_kept(lock)}
                self._bucket.ask("copy_object", **wanted, **unchanged)
        except Unmet:
            return False
        return True

    def keep(self, key: str, lock: Lock) -> None:
        """Lock an object that is not locked in that mode: there are services that copy without the lock."""
        place = {"Key": self._prefix + key}
        if not self._is_kept(place, lock):
            retention = {"Mode": lock.mode, "RetainUntilDate": lock.until}
            self._bucket.ask("put_object_retention", Retention=retention, **place)
            if not self._is_kept(place, lock):
                hint = (
                    f"{self.text}/{key} cannot be locked ({lock.mode}); the policy asks for Object Lock, so nothing is "
                )
                raise InputError("no-object-lock", hint + "published. Publish elsewhere, or under another policy.")

    def _is_kept(self, place: Json, lock: Lock) -> bool:
        return self._bucket.ask("head_object", **place).get("ObjectLockMode") == lock.mode

    def put_once(self, key: str, data: bytes, lock: Lock | None) -> bool:
        """Write a small object; False, and nothing done, where something is there already."""
        return self._put(key, data, IfNoneMatch="*", **_kept(lock))

    def swap(self, key: str, data: bytes, tag: str | None) -> bool:
        """Replace a small object if its entity tag is `tag` (None: it is not there)."""
        return self._put(key, data, **({"IfNoneMatch": "*"} if tag is None else {"IfMatch": tag}))

    def remove(self, prefix: str, keep: Collection[str] = ()) -> None:
        """Delete every version and delete marker below a prefix, and uploads that were not ended."""
        below = {"Prefix": self._prefix + prefix}
        for kind in ("Versions", "DeleteMarkers"):
            for entry in list(self._bucket.pages("list_object_versions", kind, **below)):
                if entry["Key"].removeprefix(self._prefix) not in keep:
                    self._delete({"Key": entry["Key"], "VersionId": entry["VersionId"]})
        for entry in list(self._bucket.pages("list_multipart_uploads", "Uploads", **below)):
            self._bucket.ask("abort_multipart_upload", Key=entry["Key"], UploadId=entry["UploadId"])

    def _delete(self, version: Json) -> None:
        try:
            self._bucket.ask("delete_object", **version)
        except Forbidden:  # under GOVERNANCE, or not allowed at all
            self._bucket.ask("delete_object", **version, BypassGovernanceRetention=True)

    def _put(self, key: str, data: bytes, **arguments: Any) -> bool:
        try:
            self._bucket.ask("put_object", Key=self._prefix + key, Body=data, **_checksum(data), **arguments)
        except Unmet:
            return False
        return True

    def _in_parts(
        self,
        key: str,
        size: int,
        make: Callable[[int, int, int, Json], Json],
        kept: Json,
        condition: Json | None = None,
    ) -> None:
        """Write an object in parts; `make(number, start, end, place)` makes one and returns what S3 says of it."""
        length = max(PART, -(-size // _MOST_PARTS))
        place: Json = {"Key": self._prefix + key}
        begun = self._bucket.ask("create_multipart_upload", ChecksumAlgorithm="SHA256", **place, **kept)
        place["UploadId"] = begun["UploadId"]
        try:
            parts = []
            for number, start in enumerate(range(0, size, length), start=1):
                made = make(number, start, min(start + length, size), place)
                parts.append({"PartNumber": number, "ETag": made["ETag"], "ChecksumSHA256": made["ChecksumSHA256"]})
            self._bucket.ask(
                "complete_multipart_upload", MultipartUpload={"Parts": parts}, **place, **(condition or {})
            )
        except BaseException:
            with suppress(InputError, Absent):  # what ended the upload is what is told
                self._bucket.ask("abort_multipart_upload", **place)
            raise


def _checksum(data: bytes) -> Json:
    return {"ChecksumSHA256": base64.b64encode(hashlib.sha256(data).digest()).decode()}


def _kept(lock: Lock | None) -> Json:
    return {"ObjectLockMode": lock.mode, "ObjectLockRetainUntilDate": lock.until} if lock else {}
