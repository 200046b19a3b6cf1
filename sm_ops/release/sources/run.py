"""A finished run as the material of a release: its redacted text, with its evidence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sm_ops.core import fs
from sm_ops.core.errors import InputError
from sm_ops.core.home import Run
from sm_ops.core.store import Store
from sm_ops.release.about import About, read_about
from sm_ops.release.material import Material
from sm_ops.release.sources.sanitized import from_sanitization
from sm_ops.release.sources.stored import lineage_of, pipeline_of, record_of
from sm_ops.report.surprise.results import load_results
from sm_ops.tracking.sent_surprise import SENT

SHARD = "train.jsonl"
_ENDS = ("se", "change", "change_se")

Json = dict[str, Any]


def material_of(home: Path, run: Run, about: Path | None = None) -> Material:
    """The material of a run, described by a file, or else by the run's own config; `InputError` where neither does."""
    said = about or (run.config.get("release") or {}).get("about")
    if said is None:
        hint = f"Nothing says what run {run.id} is about; name a file with --about, see docs/how-to/own-data.md"
        raise InputError("no-about", hint)
    return from_run(home, run, read_about(said))


def from_run(home: Path, run: Run, about: About) -> Material:
    """The redacted training text of a run, as its stage `redact` wrote it, or the records that a sanitization cleaned.

    Raises `InputError` for a run of another flow, one without that stage, or outputs that are no longer stored.
    """
    if run.flow == "sanitize":
        return from_sanitization(home, run, about)
    if run.flow != "surprise":
        hint = f"Run {run.id} is of the flow {run.flow}, which makes no redacted text; build a release from files with "
        raise InputError("no-redaction", hint + "--data, see docs/how-to/own-data.md")
    store = Store(home)
    redact, synthesize = record_of(run, store, "redact"), record_of(run, store, "synthesize")
    results = load_results(run, home)
    redaction = fs.read_json(store.output_path(redact, "redaction.json"))
    train = store.output_path(synthesize, "train.jsonl")
    values = [store.output_path(synthesize, name) for name in ("canaries.jsonl", "train.jsonl", "calibration.jsonl")]
    frontier = run.folder / "frontier.svg"
    return Material(
        method="redacted",
        shards={SHARD: store.output_path(redact, "redacted.jsonl")},
        about=about,
        lineage=lineage_of(run, store, redact, SHARD),
        origin={
            "run": run.id,
            "sources": {SHARD: str(train)},
            "places": {SHARD: str(store.output_path(redact, "places.jsonl"))},
            "values": [str(path) for path in values],
            "vault": None,
        },
        config={"run": run.id, "pipeline": pipeline_of(run, SENT)},
        evidence={"redaction.json": redaction, **_evidence(results, redaction["point"], run, store)},
        frontier=frontier if frontier.is_file() else None,
    )


def _evidence(results: Json, point: str, run: Run, store: Store) -> dict[str, Json]:
    """What the run measured of the released condition, by file name."""
    rows = {row["condition"]: row for row in results["rows"]}
    own, unmasked = rows[point], rows["unmasked"]
    chosen = next(each for each in results["references"] if each["chosen"])
    rates = {
        condition: {score: row[f"extraction_{score}"] for score in ("approx", "exact")}
        for condition, row in (("own", own), ("unmasked", unmasked))
    }
    attack, seed = run.config["attack"], run.config["seeds"][0]
    canaries = {row["canary"] for row in results["canaries"]}
    return {
        "extraction.json": {
            "condition": point,
            "attack": attack["name"],
            "budget": max(attack["budgets"]),
            "seeds": own["seeds"],
            "clusters": len(canaries),
            "device": record_of(run, store, f"attack@{point}-{seed}").payload["environment"]["device"],
            **rates["own"],
            "unmasked": rates["unmasked"],
        },
        "suitability.json": chosen,
        "utility.json": {
            "condition": point,
            "likelihood": (likelihood := results["likelihood"]),
            **{name: own[name] for name in (likelihood, *(f"{likelihood}_{end}" for end in _ENDS), "seeds")},
            "tasks": own["pass_at"] is not None,
        },
        "run.json": {
            "run": run.id,
            **{name: results[name] for name in ("rows", "claims", "operating_points", "application")},
        },
    }
