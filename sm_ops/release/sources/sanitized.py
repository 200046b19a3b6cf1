"""A sanitization as the material of a release: the records that the chosen filter cleaned, with its evidence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sm_ops.core import fs
from sm_ops.core.errors import InputError
from sm_ops.core.home import Run
from sm_ops.core.store import Store
from sm_ops.release.about import About
from sm_ops.release.material import Material
from sm_ops.release.sources.stored import lineage_of, pipeline_of, record_of
from sm_ops.tracking.sent_sanitize import SENT

SHARD = "records.jsonl"

Json = dict[str, Any]


def from_sanitization(home: Path, run: Run, about: About) -> Material:
    """The cleaned records of a run, as its stage `san_redact` wrote them.

    Raises `InputError` for a run that cut its corpus into folds, which cleans no whole corpus, for one that found no
    filter to take, and for outputs that are no longer stored.
    """
    if run.config["corpus"]["folds"]:
        hint = f"Run {run.id} measured filters over folds of a labelled corpus; release a run that cleans records of "
        raise InputError("no-redaction", hint + "its own (corpus.records).")
    store = Store(home)
    corpus, redact = record_of(run, store, "san_corpus"), record_of(run, store, "san_redact")
    redaction = fs.read_json(store.output_path(redact, "redaction.json"))
    choice = redaction["choices"]["0"]
    if choice["filter"] is None:
        hint = f"Run {run.id} found no filter to take and so cleaned nothing; see its report, and name one with use."
        raise InputError("no-redaction", hint)
    measures = fs.read_json(store.output_path(record_of(run, store, "san_measure@0"), "measures.json"))
    sources = [store.output_path(corpus, f"{side}-0.jsonl") for side in ("records", "validation")]
    return Material(
        method="redacted",
        shards={SHARD: store.output_path(redact, "redacted.jsonl")},
        about=about,
        lineage=lineage_of(run, store, redact, SHARD),
        origin={
            "run": run.id,
            "sources": {SHARD: str(sources[0])},
            "places": {SHARD: str(store.output_path(redact, "places.jsonl"))},
            "values": [str(path) for path in sources],
            "vault": None,
        },
        config={"run": run.id, "pipeline": pipeline_of(run, SENT)},
        evidence={"redaction.json": redaction, "suitability.json": _verdict(choice, measures)},
    )


def _verdict(choice: Json, measures: Json) -> Json:
    """What validation says of the filter that cleaned, and the application side where it is labelled."""
    own = measures["filters"][choice["filter"]]
    sides = {side: own[side] for side in ("validation", "application") if own[side] is not None}
    return {
        **choice,
        "auroc": own["validation"]["auroc"]["value"],
        "unit": measures["unit"],
        "sides": {
            side: {name: each[name] for name in ("auroc", "tpr", "fpr", "precision", "f1", "counts", "clusters")}
            for side, each in sides.items()
        },
    }
