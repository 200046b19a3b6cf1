"""Own files as the material of a release: what `sm-ops mask --redact`, `sm-ops pii mask` and `sm-ops pii scrub` wrote.

`redacted` records have a placeholder for what was removed, and `places` tell where; `reversible` ones have tokens such
as [PERSON_1], whose spellings are in the vault; `scrubbed` ones have [TYPE] for what was removed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sm_ops.core import fs
from sm_ops.core.errors import InputError
from sm_ops.core.records import Record
from sm_ops.data.records import read_records
from sm_ops.pii.corpus import text_digest
from sm_ops.pii.files import rows, texts
from sm_ops.pii.replacement import TOKEN
from sm_ops.release import lineage
from sm_ops.release.material import Material, Method
from sm_ops.release.places import read_places

if TYPE_CHECKING:
    from sm_ops.core.config.about import About

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_DID = {
    "redacted": "Masked stretches of text gave way to a placeholder.",
    "reversible": "Private values gave way to numbered tokens; their spellings are in a vault that is not released.",
    "scrubbed": "Private values gave way to their types, for good.",
}

Json = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True)
class Restricted:
    """What a release's checks compare with and never becomes part of it.

    `sources` are the records before their values were taken out and `places` what was removed of them (a mask file or
    what the stage `redact` writes), each in the order of the released files or empty; `values` are files of known
    values; `vaults` are the datasets that restore reversible records, in the same order or one for all files;
    `calibration` is what `sm-ops calibrate` wrote.
    """

    sources: Sequence[Path] = ()
    places: Sequence[Path] = ()
    values: Sequence[Path] = ()
    vaults: Sequence[str] = ()
    calibration: Path | None = None


def from_files(files: Sequence[Path], about: About, method: Method, restricted: Restricted | None = None) -> Material:
    """Files of records (JSONL, Parquet or text) whose values are gone, with what the checks compare them with.

    Raises `InputError` for a file that is not there, two of one name, sources, places or datasets of the vault that are
    not one for each file, a file that is its own source, or a dataset that does not fit.
    """
    own = restricted or Restricted()
    shards = _shards(files)
    sources = _beside(shards, [*map(fs.existing, own.sources)], "--source")
    places = _beside(shards, [*map(fs.existing, own.places)], "--places")
    for name, source in sources.items():
        if fs.file_hash(source) == fs.file_hash(shards[name]):
            hint = f"{shards[name]} is its own source, so nothing was taken out of it; name what was made from it by "
            raise InputError("own-source", hint + "sm-ops mask --redact, sm-ops pii mask or sm-ops pii scrub")
    datasets = _datasets(shards, own.vaults, method)
    values = [*map(fs.existing, own.values), *sources.values()]
    return Material(
        method=method,
        shards=shards,
        about=about,
        lineage=lineage.lineage(_steps(shards, sources, method)),
        origin={
            "run": None,
            "sources": {name: str(path.absolute()) for name, path in sources.items()},
            "places": {name: str(path.absolute()) for name, path in places.items()} or None,
            "values": [str(path.absolute()) for path in values],
            "vault": datasets if len(own.vaults) > 1 else next(iter(own.vaults), None),
        },
        evidence=_evidence(shards, sources, places, datasets, own.calibration),
    )


def _shards(files: Sequence[Path]) -> dict[str, Path]:
    shards: dict[str, Path] = {}
    for path in map(fs.existing, files):
        name = f"{path.stem}.jsonl"
        if not _NAME.fullmatch(name):
            hint = f"{path}: the released file keeps this name; use letters, digits, '.', '_' and '-' alone."
            raise InputError("shard-name", hint)
        if name in shards:
            raise InputError("shard-name", f"{shards[name]} and {path} would both be released as {name}; rename one.")
        shards[name] = path
    if not shards:
        raise InputError("no-data", "There is nothing to release; name a finished run (--run) or files (--data).")
    return shards


def _beside(shards: dict[str, Path], given: Sequence[T], what: str, how: str = "one for each") -> dict[str, T]:
    """What was given for each shard, or nothing."""
    if given and len(given) != len(shards):
        hint = f"There are {len(shards)} of --data and {len(given)} of {what}; give {how}, in the same order."
        raise InputError("half-a-pair", hint)
    return dict(zip(shards, given, strict=False))


def _datasets(shards: dict[str, Path], given: Sequence[str], method: Method) -> dict[str, str]:
    """The vault's dataset that restores each shard."""
    if (method == "reversible") != bool(given):  # a revocation destroys the datasets that are named here
        hint = "A reversible release needs the vault's dataset that restores it, and no other has one: --vault NAME"
        raise InputError("no-vault", hint)
    if len(given) == 1:
        return dict.fromkeys(shards, given[0])
    return _beside(shards, given, "--vault", "one for all, or one for each")


def _steps(shards: dict[str, Path], sources: dict[str, Path], method: Method) -> Iterator[Json]:
    """From each source to its shard: digests alone, since the names of an owner's files may tell something."""
    for name, path in shards.items():
        if name in sources:
            inputs = {"source": fs.file_hash(sources[name])}
            yield lineage.entry("source", f"Records that {name} was made from; they are not released.", {}, inputs)
        else:
            inputs = {}
        digest = {"file": fs.file_hash(path)}
        yield lineage.entry(method, _DID[method], inputs, digest)
        yield lineage.entry("release", f"Of each record, id and text alone were copied to data/{name}.", digest, {})


# ---- evidence ------------------------------------------------------------------------------------------


def _evidence(
    shards: dict[str, Path],
    sources: dict[str, Path],
    places: dict[str, Path],
    datasets: dict[str, str],
    calibration: Path | None,
) -> dict[str, Json]:
    found: dict[str, Json] = {}
    if sources and places:
        found["redaction.json"] = _redaction(sources, places)
    if datasets:
        found["restoration.json"] = _restoration(shards, datasets)
    if calibration is not None:
        found["suitability.json"] = _verdict(fs.existing(calibration))
    return found


def _redaction(sources: dict[str, Path], places: dict[str, Path]) -> Json:
    """What was removed, and how many of the annotated spans with it."""
    from sm_ops.masking.redaction import Counts

    counts, points = Counts(), set()
    for name, source in sources.items():
        removed, point = read_places(places[name])
        points.add(point)
        for record in read_records(source):
            counts.add(record, removed[_known(record, removed, places[name])])
    return {"point": points.pop() if len(points) == 1 else None, **counts.told()}


def _known(record: Record, removed: dict[str, Any], path: Path) -> str:
    if record.id not in removed:
        raise InputError("other-places", f"{path} does not tell of every record of the source; name the one of it.")
    return record.id


def _restoration(shards: dict[str, Path], datasets: dict[str, str]) -> Json:
    """Tokens by type, and how many of the records the vault's mappings were made for."""
    from sm_ops.vault import Vault

    tokens: Counter[str] = Counter()
    records = fitting = 0
    for name, path in shards.items():
        with Vault().mappings(datasets[name]) as mappings:
            for row in rows(path):
                contents = texts(row.value)
                _, digest = mappings.get_with_digest(row.id)
                fitting += digest == text_digest(contents)
                records += 1
                tokens.update(token[1:].rpartition("_")[0] for text in contents for token in TOKEN.findall(text))
    return {
        "records": records,
        "mapped": {"k": fitting, "n": records, "low": None, "high": None},
        "placeholders": sum(tokens.values()),
        "by_label": dict(sorted(tokens.items())),
    }


def _verdict(path: Path) -> Json:
    """What calibration says of the rule; of a reference that is a folder, its name alone."""
    try:
        report = fs.read_json(path)
        counts = {name: report[name] for name in ("auroc", "target_tokens", "other_tokens", "independent_units")}
        return {**report["verdict"], **counts, "reference": Path(report["reference"]["name"]).name or None}
    except (ValueError, TypeError, KeyError):
        raise InputError("no-calibration", f"{path} is not what sm-ops calibrate wrote; name that file.") from None
