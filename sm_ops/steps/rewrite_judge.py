"""rewrite_judge: what the attacker or the judge makes of a condition's texts, which are sent to them."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from sm_ops.core import fs
from sm_ops.core.home import home_folder
from sm_ops.data.records import read_records
from sm_ops.rewriting import measures
from sm_ops.rewriting.asking import Asker, Call, Usage
from sm_ops.rewriting.benchmarks import BENCHMARKS
from sm_ops.rewriting.benchmarks.population import Population
from sm_ops.rewriting.endpoint import Endpoint
from sm_ops.steps._documents import read_rows, write_rows

if TYPE_CHECKING:
    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context, Numbers

MEASURES = {"rat": measures.rat, "redac": measures.redac}


def run(settings: Settings, context: Context) -> Numbers:
    """Write the answers (restricted), and security and utility."""
    data, benchmark = settings.data, BENCHMARKS[settings.data.benchmark]
    chosen = getattr(settings.endpoints, benchmark.EVALUATOR)
    records = list(read_records(context.inputs["records"]))
    texts = [row["text"] for row in read_rows(context.inputs["rewritten"])]
    people = Population(data.population, data.people) if data.population else None
    endpoint = Endpoint(benchmark.EVALUATOR, chosen)
    asker = Asker(endpoint, context.scratch, home_folder(), "evaluation", chosen.calls.at_once)
    calls = [
        Call(benchmark.question(record, text), benchmark.sent(record, text))
        for record, text in zip(records, texts, strict=True)
    ]
    answers = asker.ask(calls, context.progress)
    write_rows(
        context.outputs["answers"],
        ({"id": record.id, "answer": answer.text} for record, answer in zip(records, answers, strict=True)),
    )
    outcomes = [
        benchmark.outcome(record, answer.text, people) for record, answer in zip(records, answers, strict=True)
    ]
    told = MEASURES[data.benchmark](records, outcomes)
    fs.write_json(context.outputs["outcomes"], {**told, "usage": asdict(Usage.of(answers))})
    return {"security": told["security"]["value"], "unjudged": told["unjudged"]}
