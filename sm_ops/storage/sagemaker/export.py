"""Aggregate files out of a finished job: what the allow-list names, and nothing else of the archive."""

from __future__ import annotations

import json
import os
import re
import shutil
import tarfile
import tempfile
from pathlib import Path, PurePosixPath
from typing import Any

from sm_ops.core import fs
from sm_ops.core.errors import InputError
from sm_ops.storage.places.s3 import S3Place
from sm_ops.storage.sagemaker.buckets import Buckets
from sm_ops.storage.sagemaker.request import outputs_of

ARCHIVE = "output.tar.gz"
_ALLOWED = re.compile(r"(run|results|usage)\.json|report\.html|[a-z0-9_-]+\.(csv|svg)")
_LARGEST = 32 << 20
"""Bytes; an aggregate file is far smaller, so is the whole archive."""


def is_aggregate(name: str) -> bool:
    """Whether a file of a run's folder holds numbers and names alone."""
    return _ALLOWED.fullmatch(name) is not None


def export(job: dict[str, Any], owner: str, out: Path) -> tuple[list[str], int]:
    """Write a job's aggregate files to the folder `out`, which is not there yet; their names, and how many were left.

    Raises `InputError` where the job has no results, or they are damaged.
    """
    if out.exists():
        raise InputError("output-exists", f"{out} is there already; choose another folder with --out.")
    place = Buckets(owner).at(outputs_of(job))
    out.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(dir=out.parent, prefix=f".{out.name}."))
    try:
        with tempfile.TemporaryFile(dir=unfinished) as archive:
            _fetch(place, archive)
            names, left = _unpack(archive, unfinished, place.text)
        os.replace(unfinished, out)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    fs.fsync(out.parent)
    return names, left


def _fetch(place: S3Place, archive: Any) -> None:
    try:
        for piece in place.read(ARCHIVE):
            archive.write(piece)
            if archive.tell() > _LARGEST:
                hint = f"{place.text}/{ARCHIVE} has more than {_LARGEST >> 20} MiB, which no aggregates have."
                raise InputError("export-size", hint)
    except FileNotFoundError:
        hint = f"There is no {place.text}/{ARCHIVE}; the job has made no results. See: sm-ops sagemaker status"
        raise InputError("no-results", hint) from None
    archive.seek(0)


def _unpack(archive: Any, folder: Path, where: str) -> tuple[list[str], int]:
    names, left = [], 0
    try:
        with tarfile.open(fileobj=archive, mode="r:gz") as tar:
            for member in tar:
                name = str(PurePosixPath(member.name))
                stream = tar.extractfile(member) if member.isreg() and is_aggregate(name) else None
                if stream is None or member.size > _LARGEST:
                    left += not member.isdir()
                    continue
                data = stream.read()
                if name.endswith(".json"):
                    json.loads(data)
                fs.write_atomic(folder / name, data)
                names.append(name)
    except (tarfile.TarError, ValueError, EOFError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise InputError("results-damaged", f"{where}/{ARCHIVE} is damaged; nothing was exported.") from None
    return sorted(names), left
