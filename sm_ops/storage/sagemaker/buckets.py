"""Prefixes of buckets by their `s3://` form, all asked as one account's."""

from __future__ import annotations

from sm_ops.storage.places.calls import Bucket
from sm_ops.storage.places.s3 import S3Place


class Buckets:
    """One connection a bucket."""

    def __init__(self, owner: str) -> None:
        self._owner = owner
        self._known: dict[str, Bucket] = {}

    def split(self, uri: str) -> tuple[Bucket, str]:
        """The bucket and the prefix, with its closing slash."""
        name, _, prefix = uri.removeprefix("s3://").partition("/")
        return self._known.setdefault(name, Bucket(name, self._owner)), prefix

    def at(self, uri: str) -> S3Place:
        """What is below a prefix."""
        bucket, prefix = self.split(uri)
        return S3Place(bucket, prefix.rstrip("/"))
