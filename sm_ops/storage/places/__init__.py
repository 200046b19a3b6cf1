"""Places outside of the house, all of one protocol: a folder, or a prefix of an S3 bucket.

place    what a place can do
folder   a folder of this machine or of a mounted share
s3       a prefix of a bucket; `calls` asks the service, with retries, and puts its refusals into words
"""

from __future__ import annotations

from pathlib import Path

from sm_ops.core.errors import InputError
from sm_ops.storage.places.folder import FolderPlace
from sm_ops.storage.places.place import STAGING, Lock, Place, read_digest
from sm_ops.storage.places.s3 import S3Place

__all__ = ["STAGING", "Lock", "Place", "open_place", "read_digest"]


def open_place(text: str, owner: str | None = None) -> Place:
    """`s3://BUCKET/PREFIX` or the path of a folder; nothing is asked or written yet.

    `owner` is the account (12 digits) that the bucket must belong to. Raises `InputError` for another form.
    """
    if text.startswith("s3://"):
        return S3Place.named(text, owner)
    if "://" in text:
        scheme, _, rest = text.partition("://")
        shown = f"{scheme}://{rest.rpartition('@')[2]}"  # without what may be a password
        raise InputError("place", f"{shown} is no place to publish at; name a folder, or s3://BUCKET/PREFIX.")
    if owner is not None:
        raise InputError("place", f"{text} is a folder, which no AWS account owns; leave out --bucket-owner.")
    return FolderPlace(Path(text).absolute())
