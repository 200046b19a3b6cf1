"""rewrite_data: the texts of both sides, from files of a benchmark's format or generated, and clean ones beside."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Any

from sm_ops.core import fs
from sm_ops.core.errors import StageError
from sm_ops.data.records import write_records
from sm_ops.rewriting.benchmarks import BENCHMARKS
from sm_ops.rewriting.benchmarks.population import Population
from sm_ops.rewriting.costs import source_tokens

if TYPE_CHECKING:
    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context, Numbers


def run(settings: Settings, context: Context) -> Numbers:
    """Write the sides and what they hold; nothing is sent.

    Raises `StageError` where both sides share a group: thresholds would be chosen on whom they are measured on.
    """
    data = settings.data
    benchmark = BENCHMARKS[data.benchmark]
    validation, application, clean = benchmark.generate(data.seed, data)
    if data.validation is not None:
        validation = list(benchmark.read(data.validation, data))
    if data.path is not None:
        application = list(islice(benchmark.read(data.path, data), data.documents))
    if data.population is not None:
        Population(data.population, data.people)
    sides = {"validation": validation, "records": application}
    common = {each.group for each in validation} & {each.group for each in application}
    if common and data.validation is not None and data.path is not None:
        raise StageError(
            "sides-overlap",
            f"{len(common)} groups are on both sides (data.validation and data.path); split the files by person or "
            "document.",
        )
    for name, records in sides.items():
        write_records(context.outputs[name], records)
    write_records(context.outputs["clean"], clean)
    excluded = Counter[str]()
    for record in application:
        excluded += benchmark.excluded(record)
    told: dict[str, Any] = {
        "benchmark": data.benchmark,
        "setting": benchmark.SETTING,
        "generated": {"validation": data.validation is None, "records": data.path is None},
        "documents": {name: len(records) for name, records in sides.items()},
        "groups": {name: len({record.group for record in records}) for name, records in sides.items()},
        "tokens": {name: sum(source_tokens(record.content) for record in records) for name, records in sides.items()},
        "characters": {name: sum(len(record.content) for record in records) for name, records in sides.items()},
        "excluded": dict(sorted(excluded.items())),
        "population": data.population is not None,
        "prices": {
            "rewriter": settings.endpoints.rewriter.prices.plain(),
            "machine_usd_per_hour": settings.prices.machine_hour,
        },
    }
    fs.write_json(context.outputs["data"], told)
    return {"documents": len(application), "validation_documents": len(validation), "tokens": told["tokens"]["records"]}

