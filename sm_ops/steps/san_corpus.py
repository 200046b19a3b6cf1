"""san_corpus: a labelled corpus as canonical records, two sides a fold, and public code for what is fitted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sm_ops.core import fs
from sm_ops.data.labelled import Tally, open_corpus
from sm_ops.data.overlap import overlap
from sm_ops.data.records import read_records, write_records

if TYPE_CHECKING:
    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context, Numbers


def run(settings: Settings, context: Context) -> Numbers:
    """Write both sides of every fold, public code, and what there is to know of the corpus in counts."""
    given = settings.corpus
    own = (given.settings.plain(), given.families, given.folds, given.seed, given.public_chars)
    corpus = open_corpus(given.name, given.validation, given.records, *own)
    tallies: dict[str, Tally] = {}
    overlaps = {}
    for number, fold in enumerate(corpus.folds):
        for name, records in ((f"validation-{number}", fold.validation), (f"records-{number}", fold.application)):
            tallies[name] = Tally()
            write_records(context.outputs[name], tallies[name].through(records))
        overlaps[str(number)] = overlap(fold.validation, read_records(context.outputs[f"records-{number}"]))
    cleaned = [tally for name, tally in tallies.items() if name.startswith("records-")]
    public = list(corpus.public)
    if public:
        write_records(context.outputs["public"], public)
    else:
        fs.write_atomic(context.outputs["public"], b"")
    told = {
        "corpus": corpus.name,
        "setting": corpus.setting,
        "rule": corpus.rule,
        "divided": given.folds is not None,
        "labelled": all(tally.categories for tally in cleaned),
        "sides": {name: tally.told for name, tally in tallies.items()},
        "overlap": overlaps,
        "families": corpus.families(name for tally in tallies.values() for name in tally.categories),
        "regimes": list(corpus.regimes),
        "public_characters": sum(len(record.content) for record in public),
    }
    fs.write_json(context.outputs["corpus"], told)
    return {
        "records": sum(tally.told["records"] for tally in cleaned),
        "characters": sum(tally.told["characters"] for tally in cleaned),
        "corpus": corpus.name,
    }
