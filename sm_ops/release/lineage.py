"""Where every released byte comes from: from the sources' digests over each step to the shards (format lineage/1).

`steps` lists what happened, in order: `step` (a name), `sentence`, and digests (SHA-256) of what went in and came out,
by name. A step of a run also has its `fingerprint`, which covers settings, code, inputs and libraries.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sm_ops.core import fs
from sm_ops.core.home import Run
from sm_ops.core.store import Record, Store

FORMAT = "lineage/1"

Json = dict[str, Any]


def lineage(steps: Iterable[Json]) -> Json:
    """The file's content."""
    return {"format": FORMAT, "steps": list(steps)}


def entry(step: str, sentence: str, inputs: Mapping[str, str], outputs: Mapping[str, str], **more: Any) -> Json:
    """One step."""
    return {"step": step, "sentence": sentence, "inputs": dict(inputs), "outputs": dict(outputs), **more}


def chain(run: Run, store: Store, last: Record) -> list[Json]:
    """The steps of a run that lead to the record `last`, from the sources on."""
    makers: dict[str, Record] = {}
    for _, step in sorted(run.steps.items(), reverse=True):
        if record := store.find(step["stage"], step["fingerprint"]):
            makers |= {stored.sha256: record for stored in record.outputs.values()}
    ordered: dict[str, Record] = {}

    def follow(record: Record) -> None:
        for digest in record.payload["inputs"].values():
            if digest in makers and makers[digest].step not in ordered and makers[digest] is not record:
                follow(makers[digest])
        ordered[record.step] = record

    follow(last)
    return [_told(record) for record in ordered.values()]


def _told(record: Record) -> Json:
    payload = record.payload
    outputs = {name: stored.sha256 for name, stored in sorted(record.outputs.items())}
    code = fs.sha256(fs.canonical_json(payload["code"]))
    sources = {f"files of {dotted}": digest for dotted, digest in payload["places"].items()}
    inputs = {**payload["inputs"], **sources}
    return entry(record.step, _sentence(record), inputs, outputs, fingerprint=record.fingerprint, code=code)


def _sentence(record: Record) -> str:
    cell, numbers, settings = record.step.partition("@")[2], record.numbers, record.payload["settings"]
    sentences = {
        "synthesize": lambda: (
            "Records came from the dataset {dataset} with seed {seed}".format(**settings["data"])
            + f": {numbers.get('records_train')} for training, {numbers.get('records_calibration')} for calibration."
        ),
        "audit": lambda: f"The splits were searched for what they must not share: {numbers.get('findings')} findings.",
        "execute": lambda: f"Every program was run with its tests: {numbers.get('as_expected')} did what they should.",
        "base": lambda: "A small model was trained on public code and clean records.",
        "fit": lambda: f"The reference {cell} was fitted to clean records.",
        "score": lambda: f"The reference {cell} told the surprise of {numbers.get('tokens'):,} tokens.",
        "calibrate": lambda: "Thresholds were chosen on the calibration records.",
        "mask": lambda: f"Masks were fixed over {numbers.get('eligible_tokens'):,} tokens.",
        "redact": lambda: (
            f"What {settings['redact']['point']} masks, and every annotated span, gave way to [MASKED]: "
            f"{numbers.get('intervals'):,} stretches of text."
        ),
        "san_corpus": lambda: (
            f"Records came from the corpus {numbers.get('corpus')}: {numbers.get('records'):,} to be cleaned, and a "
            "labelled sample."
        ),
        "san_fit": lambda: f"The reference {cell.rpartition('-')[0]} was fitted to what is no target in the sample.",
        "san_tune": lambda: f"The detector {cell.rpartition('-')[0]} was trained on the sample.",
        "san_levels": lambda: f"The filter {cell.rpartition('-')[0]} gave every character a level.",
        "san_measure": lambda: f"On the sample, the filter {numbers.get('choice')} and its threshold were chosen.",
        "san_redact": lambda: (
            f"What the filter masks, and every labelled span, gave way to [MASKED]: {numbers.get('intervals'):,} "
            "stretches of text."
        ),
    }
    return sentences[record.stage]()
