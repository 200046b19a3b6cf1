"""The metadata of a release as Croissant 1.1 with the vocabulary for responsible AI, for tools that load datasets.

Specification: https://docs.mlcommons.org/croissant/docs/croissant-spec-1.1.html and croissant-rai-spec.html.
A shard is a FileObject and a RecordSet of its own, named like its file without the ending; fields are its columns.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from sm_ops.release import words
from sm_ops.release.about import About
from sm_ops.release.columns import NUMBER, TEXT, TRUTH, WHOLE, Type, columns
from sm_ops.release.facts import Facts

Json = dict[str, Any]

CONFORMS_TO = "http://mlcommons.org/croissant/1.1"
_FORMATS = {".jsonl": "application/jsonlines", ".parquet": "application/x-parquet"}
_TYPES = {TEXT: "sc:Text", WHOLE: "sc:Integer", NUMBER: "sc:Float", TRUTH: "sc:Boolean"}
_CONTEXT: Json = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    **{
        name: f"cr:{name}"
        for name in (
            "arrayShape", "citeAs", "column", "containedIn", "equivalentProperty", "extract", "field", "fileObject",
            "fileProperty", "fileSet", "format", "includes", "isArray", "isLiveDataset", "jsonPath", "key", "md5",
            "parentField", "path", "recordSet", "references", "regex", "repeated", "replace", "samplingRate",
            "separator", "source", "subField", "transform",
        )
    },
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "description": {"@container": "@language"},
    "name": {"@container": "@language"},
}  # fmt: skip


def croissant(facts: Facts, folder: Path) -> Json:
    """The metadata of a bundle whose data files lie in `folder` and are listed in the draft of its manifest."""
    manifest, about = facts.manifest, facts.about
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS_TO,
        "name": manifest["name"],
        "alternateName": about.title,
        "description": about.description,
        "version": manifest["version"],
        "datePublished": manifest["created"],
        **_said(about),
        **_responsible(facts),
        "isLiveDataset": False,
        "distribution": [_file(shard) for shard in facts.shards],
        "recordSet": [
            _records(name, shard, columns(folder / shard["path"]))
            for name, shard in zip(_names(facts.shards), facts.shards, strict=True)
        ],
    }


def _said(about: About) -> Json:
    """What only people know, without what they left out."""
    told: Json = {
        "license": None if about.licence is None else licence_address(about.licence),
        "url": about.url,
        "creator": None if about.creator is None else {"@type": "sc:Organization", "name": about.creator},
        "citeAs": about.citation,
        "keywords": list(about.tags),
        "inLanguage": [language for language in about.languages if language != "code"],
        "isBasedOn": [
            _present(
                {
                    "@type": "sc:CreativeWork",
                    "name": source.name,
                    "url": source.url,
                    "license": source.licence and licence_address(source.licence),
                }
            )
            for source in about.sources
        ],
    }
    return _present(told)


def _responsible(facts: Facts) -> Json:
    """The fields of the responsible-AI vocabulary (https://docs.mlcommons.org/croissant/docs/croissant-rai-spec.html)."""
    about = facts.about
    told: Json = {
        "dataCollection": about.collection,
        "dataPreprocessingProtocol": words.how_made(facts),
        "dataAnnotationProtocol": words.labels(about),
        "dataUseCases": [*about.intended_use, *(f"Not for: {each}" for each in about.not_for)],
        "dataLimitations": [*about.limits, *facts.not_measured],
        "dataBiases": list(about.biases),
        "personalSensitiveInformation": list(about.personal),
        "dataReleaseMaintenancePlan": " ".join(words.maintenance(about)),
    }
    return {f"rai:{name}": value for name, value in _present(told).items()}


def licence_address(licence: str) -> str:
    """The page of a licence in the SPDX list; an expression of several, or a licence of one's own, stays as it is."""
    own = licence.startswith("LicenseRef-") or not re.fullmatch(r"[A-Za-z0-9.\-]+", licence)
    return licence if own else f"https://spdx.org/licenses/{licence}.html"


def _file(shard: Json) -> Json:
    path = PurePosixPath(shard["path"])
    return {
        "@type": "cr:FileObject",
        "@id": shard["path"],
        "name": path.name,
        "contentUrl": shard["path"],
        "contentSize": f"{shard['size']} B",
        "encodingFormat": _FORMATS[path.suffix],
        "sha256": shard["sha256"],
    }


def _names(shards: Sequence[Json]) -> list[str]:
    """Each shard's file without its ending, or with it where two would have one name."""
    paths = [PurePosixPath(shard["path"]) for shard in shards]
    stems = [path.stem for path in paths]
    return [path.stem if stems.count(path.stem) == 1 else path.name for path in paths]


def _records(name: str, shard: Json, found: Mapping[str, Type]) -> Json:
    fields = {column: _field(f"{name}/{column}", column, type_, shard["path"]) for column, type_ in found.items()}
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": f"{shard['rows']} records of {shard['path']}.",
        **({"key": {"@id": f"{name}/id"}} if "id" in found else {}),
        "field": [field for field in fields.values() if field],
    }


def _field(id_: str, column: str, type_: Type, file: str) -> Json | None:
    """A column as a field: a scalar, a record of scalars, or a list of either; what is deeper is left out."""
    told: Json = {"@type": "cr:Field", "@id": id_, "name": column}
    inner = type_
    if isinstance(type_, tuple) and type_[0] == "list":
        inner = type_[1]
        told |= {"isArray": True, "arrayShape": "-1"}
    if isinstance(inner, tuple):
        within = inner[1] if inner[0] == "record" else {}
        leaves = {name: each for name, each in within.items() if isinstance(each, str)}
        told["subField"] = [
            {
                "@type": "cr:Field",
                "@id": f"{id_}/{name}",
                "name": name,
                "dataType": _TYPES[each],
                "source": _source(file, column) | {"transform": {"jsonPath": name}},
            }
            for name, each in leaves.items()
        ]
        return told if leaves else None
    return told | {"dataType": _TYPES[inner or TEXT], "source": _source(file, column)}


def _source(file: str, column: str) -> Json:
    return {"fileObject": {"@id": file}, "extract": {"column": column}}


def _present(told: Json) -> Json:
    return {name: value for name, value in told.items() if value not in (None, [], "")}
