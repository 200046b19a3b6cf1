"""build: data, evidence and a signed manifest become a bundle, whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import rfc8785

from sm_ops.core import fs
from sm_ops.core.errors import InputError
from sm_ops.release import clock, envelopes, keys, ledger, shards
from sm_ops.release.checking import ORIGIN_FORMAT
from sm_ops.release.croissant import croissant
from sm_ops.release.facts import facts_of
from sm_ops.release.folder import (
    CONFIG,
    CROISSANT,
    DATA,
    EVIDENCE,
    FORMAT,
    FRONTIER,
    LINEAGE,
    MANIFEST,
    MANIFEST_SIGNED,
    PACKAGES,
    POLICY,
    Release,
    files_of,
    named,
)
from sm_ops.release.material import Json, Material
from sm_ops.release.packages import packages
from sm_ops.release.places import read_places
from sm_ops.release.policy import parse, read_policy

if TYPE_CHECKING:
    from sm_ops.release.shards import Part

def build(home: Path, release: str, material: Material, policy: Path | None = None) -> Release:
    """Build `NAME@VERSION`, sign its manifest with the builder's key, and open its log.

    Built before from the same data, evidence and policy, it is left as it is. Raises `InputError` where something else
    was built under that name, and for data that is restricted or is no file of records.
    """
    wanted = named(home, release)
    for path in material.shards.values():
        shards.refuse_restricted(home, path)
    said = _said(material, read_policy(policy))
    with ledger.opened(wanted):
        if wanted.exists():
            _check_same(wanted, said)
        else:
            with _unfinished(wanted) as folder:
                parts = _fill(folder, wanted, material, said)
                _write_origin(wanted, material, parts)
    return wanted


def _said(material: Material, policy: bytes) -> dict[str, bytes]:
    """The files that say what a release is: equal ones mean the same release, whenever and wherever it is built."""
    about = material.about.model_dump(mode="json")
    config = {"method": material.method, "about": about, **material.config}
    values = {CONFIG: config, LINEAGE: material.lineage}
    values |= {f"{EVIDENCE}/{name}": value for name, value in material.evidence.items()}
    return {POLICY: policy, **{path: _json(value) for path, value in sorted(values.items())}}


def _json(value: Json) -> bytes:
    return json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def _check_same(release: Release, said: dict[str, bytes]) -> None:
    listed = {file["path"]: file["sha256"] for file in fs.read_json(release.folder / MANIFEST)["files"]}
    kept = {path for path in listed if path in (POLICY, CONFIG, LINEAGE) or path.startswith(f"{EVIDENCE}/")}
    other = sorted(path for path in kept | said.keys() if listed.get(path) != fs.sha256(said.get(path, b"")))
    if other:
        hint = f"{release} was built before from something else ({', '.join(other)}); what is built never changes. "
        raise InputError("release-exists", hint + "Build another version, or see: sm-ops release ls")


@contextmanager
def _unfinished(release: Release) -> Iterator[Path]:
    """A folder that takes the bundle's place when all went well, and is gone otherwise.

    What a killed build left is swept by whoever opens the release next.
    """
    folder = ledger.unfinished_folder(release)
    try:
        yield folder
        folder.chmod(0o755)
        for path in files_of(folder).values():
            fs.fsync(path)
        os.rename(folder, release.folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    fs.fsync(release.folder.parent)


def _fill(folder: Path, release: Release, material: Material, said: dict[str, bytes]) -> dict[str, list[Part]]:
    """Write every file of the bundle, the signed manifest and the log's first line last."""
    created = clock.told(clock.now())
    checks = parse(said[POLICY]).checks.plain()
    columns = checks.get("k_anonymity", {}).get("columns", ())
    parts = {name: shards.write(name, source, folder / DATA, columns) for name, source in material.shards.items()}
    for path, data in said.items():
        fs.write_atomic(folder / path, data)
    fs.write_atomic(folder / PACKAGES, _json(packages(str(release), created)))
    if material.frontier is not None:
        shutil.copyfile(material.frontier, folder / FRONTIER)
    builder = keys.builder(release.home)
    manifest: Json = {
        "format": FORMAT,
        "release": str(release),
        "name": release.name,
        "version": release.version,
        "created": created,
        "method": material.method,
        "builder": {"key": builder.public_key.keyid, "public": keys.public_of(builder)},
    }
    rows = {f"{DATA}/{part.name}": part.rows for own in parts.values() for part in own}
    files = [_entry(path, file, rows) for path, file in files_of(folder).items()]
    draft = manifest | {"files": files}
    fs.write_atomic(folder / CROISSANT, _json(croissant(facts_of(folder, manifest=draft), folder)))
    files.append(_entry(CROISSANT, folder / CROISSANT, rows))
    signed = rfc8785.dumps(manifest | {"files": sorted(files, key=lambda file: file["path"])}) + b"\n"
    predicate = {"release": str(release), "created": created}
    envelope = envelopes.signed(envelopes.statement("build", {MANIFEST: fs.sha256(signed)}, predicate), [builder])
    late = {MANIFEST: signed, MANIFEST_SIGNED: envelope}
    for path, data in {**late, **ledger.first_lines(str(release), builder, late, created)}.items():
        fs.write_atomic(folder / path, data)
    return parts


def _entry(path: str, file: Path, rows: dict[str, int]) -> Json:
    """A file as the manifest lists it."""
    counted = {"rows": rows[path]} if path in rows else {}
    return {"path": path, "sha256": fs.file_hash(file), "size": file.stat().st_size, **counted}


def _write_origin(release: Release, material: Material, parts: dict[str, list[Part]]) -> None:
    """Where the restricted sources of each data file lie, for the checks; for its owner alone (mode 0600).

    What lies in the home is told from there, so that a home can be moved.
    """
    fs.private_folder(fs.private_folder(release.home / "restricted") / release.origin.parent.name)
    given = material.origin
    sources = {shard: _told(release, path) for shard, path in given["sources"].items()}
    places = {shard: _as_lines(release, shard, Path(path)) for shard, path in (given["places"] or {}).items()}
    vault = given["vault"]

    def by_part(given: dict[str, str]) -> dict[str, str]:
        return {part.name: value for shard, value in given.items() for part in parts[shard]}

    origin = {
        **given,
        "format": ORIGIN_FORMAT,
        "method": material.method,
        "sources": by_part(sources),
        "places": by_part(places) or None,
        "values": [_told(release, path) for path in given["values"]],
        "vault": by_part(vault) if isinstance(vault, dict) else vault,
    }
    fs.write_atomic(release.origin, _json(origin), mode=0o600)


def _told(release: Release, path: str) -> str:
    return str(Path(path).relative_to(release.home)) if Path(path).is_relative_to(release.home) else path


def _as_lines(release: Release, shard: str, path: Path) -> str:
    """Places as JSON lines: those of a mask file are written beside the origin."""
    if path.suffix != ".parquet":
        return _told(release, str(path))
    removed, _ = read_places(path)
    lines = [json.dumps({"id": id_, "intervals": own}, ensure_ascii=False) + "\n" for id_, own in removed.items()]
    target = release.origin.with_name(f"{release}.places") / shard
    fs.private_folder(target.parent)
    fs.write_atomic(target, "".join(lines).encode(), mode=0o600)
    return _told(release, str(target))
