"""The channels into the bucket: exactly the declared files, sent with their SHA-256 and read back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sm_ops.core import fs
from sm_ops.core.errors import InputError
from sm_ops.storage.sagemaker.buckets import Buckets
from sm_ops.storage.sagemaker.inputs import Channel


@dataclass(frozen=True)
class Sent:
    """How many files were sent, and how many were there already."""

    sent: int = 0
    found: int = 0


def upload(channels: list[Channel], inventory: dict[str, Any], done: Callable[[str], None] = lambda name: None) -> Sent:
    """Send what is not there. Raises `InputError` where something else lies there too, or a file has changed."""
    sent = found = 0
    buckets = Buckets(inventory["account"])
    for channel in channels:
        place = buckets.at(f"s3://{inventory['bucket']}/{inventory['prefix']}/{channel.key}")
        there = set(place.keys(""))
        if undeclared := there - channel.files.keys():
            hint = f"{place.text} holds {len(undeclared)} objects that were not declared, which a job would get too; "
            raise InputError("undeclared-inputs", f"{hint}remove them: sm-ops sagemaker teardown")
        for name, path in channel.files.items():
            if name in there and place.digest(name) == channel.digests[name]:
                found += 1
                continue
            place.stage(name, path)
            if place.digest(name) != channel.digests[name]:
                raise _differs(path, channel.digests[name], f"{place.text}/{name}")
            sent += 1
        done(channel.name)
    return Sent(sent, found)


def _differs(path: Any, declared: str, where: str) -> InputError:
    if fs.file_hash(path) != declared:
        return InputError("input-changed", f"{path} has changed while it was sent; run the same command again.")
    return InputError("s3-damaged", f"{where} is not what was sent; run the same command again.")
