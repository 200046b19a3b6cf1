"""rewrite_apply: the texts that a condition makes; this is where texts are sent to the rewriter, if one is named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from sm_ops.core import fs, registry
from sm_ops.core.home import home_folder
from sm_ops.data.records import read_records
from sm_ops.rewriting import applying
from sm_ops.rewriting.asking import Asker, Usage
from sm_ops.rewriting.benchmarks import BENCHMARKS
from sm_ops.rewriting.endpoint import Endpoint
from sm_ops.rewriting.measures import bleu
from sm_ops.steps._documents import write_rows

if TYPE_CHECKING:
    from sm_ops.core.records import Record
    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context, Numbers


def run(settings: Settings, context: Context) -> Numbers:
    """Write the texts; the calls, their tokens, and how much of the wording stayed."""
    records = list(read_records(context.inputs["records"]))
    made = _made(settings, context, records)
    write_rows(
        context.outputs["rewritten"],
        ({"id": record.id, "text": text} for record, text in zip(records, made.texts, strict=True)),
    )
    usage = asdict(Usage.of(made.answers))
    changed = sum(text != record.content for record, text in zip(records, made.texts, strict=True))
    told = {
        "usage": usage,
        "bleu": bleu(records, made.texts),
        "changed": changed,
        "unreadable": made.unreadable,
        "misquoted": made.misquoted,
    }
    fs.write_json(context.outputs["application"], told)
    return {"calls": usage["calls"], "changed": changed, "bleu": told["bleu"]["value"]}


def _made(settings: Settings, context: Context, records: list[Record]) -> applying.Made:
    condition, goal = settings.condition, BENCHMARKS[settings.data.benchmark].goal
    if condition.kind == "unmodified":
        return applying.Made([record.content for record in records])
    intervals = fs.read_json(context.inputs["selection"])["intervals"] if condition.selector else []
    if condition.kind == "direct":
        return applying.masked(records, intervals)
    rewriter = settings.endpoints.rewriter
    endpoint = Endpoint("rewriter", rewriter)
    purpose = " ".join(str(value) for value in condition.plain().values() if value is not None)
    asker = Asker(endpoint, context.scratch, home_folder(), purpose, rewriter.calls.at_once)

    def ask(calls: Sequence[applying.Call]) -> list[applying.Answer]:
        return asker.ask(calls, context.progress)

    if condition.kind == "route":
        return applying.routed(records, intervals, goal, ask)
    return applying.rewritten(
        records, condition.style, goal, ask, lambda: registry.load("detector", settings.patterns).load({})
    )
