"""audit_data: labelled documents cut into records: members, others of their kind, validation; and public text."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sm_ops.core import fs, registry
from sm_ops.core.records import Record
from sm_ops.data.records import read_records, write_records
from sm_ops.data.statistics import statistics
from sm_ops.data.units import cut, split
from sm_ops.detectors.taggers import load_tagger, relabel

if TYPE_CHECKING:
    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context, Numbers

SPLITS = ("train", "others", "validation")


def run(settings: Settings, context: Context) -> Numbers:
    """Write the splits and the statistics of the members; no document or author is in two splits."""
    data, tagger = settings.data, "+".join(settings.tagger.plain())
    reading = _reading(data)
    documents = list(islice(reading, data.documents))
    labelled = relabel(documents, load_tagger(tagger, documents))
    records = cut(labelled, data.unit)
    splits = split(records, dict(zip(SPLITS, data.shares, strict=True)), data.seed)
    for name in SPLITS:
        write_records(context.outputs[name], splits[name])
    _write(context.outputs["public"], [] if data.public is None else _public(Path(data.public), data.public_chars))
    _write(context.outputs["reference"], _public_cases(data))
    fs.write_json(
        context.outputs["statistics"],
        {
            "corpus": data.corpus,
            "unit": data.unit,
            "tagger": tagger,
            "documents": len(documents),
            "skipped": dict(reading.skipped),
            "records": {name: len(own) for name, own in splits.items()},
            "classes": statistics(splits["train"]),
        },
    )
    counts = {f"records_{name}": len(own) for name, own in splits.items()}
    return {"documents": len(documents), **counts}


def _reading(data: Settings) -> Any:
    """The corpus's documents, and how many were left out by reason once they are read."""
    if data.corpus == "court":
        return _court(data.documents, data.seed, "members")
    return registry.load("corpus", data.corpus).read(data.path)


def _court(documents: int | None, seed: int, cast: str) -> Any:
    """Generated documents, as many as is usual for None; those of another cast share no name with these."""
    number = {} if documents is None else {"documents": documents}
    return registry.load("corpus", "court").read(None, {"seed": seed, "cast": cast, **number})


def _public_cases(data: Settings) -> list[Record]:
    return cut(_court(data.public_documents, data.seed, "public"), data.unit) if data.public_documents else []


def _public(path: Path, chars: int) -> list[Record]:
    """The beginnings of all public records, each to its share of the characters: every kind of text is there."""
    records = list(read_records(path))
    share = chars // len(records)
    begun = (Record(record.id, text=record.content[:share]) for record in records)
    return [record for record in begun if record.content.strip()]


def _write(path: Path, records: list[Record]) -> None:
    """A split that may be empty."""
    if records:
        write_records(path, records)
    else:
        fs.write_atomic(path, b"")
