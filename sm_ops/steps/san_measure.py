"""san_measure: what every filter and combination is worth on both sides of a fold, and which one to take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sm_ops.core import fs
from sm_ops.core.errors import InputError
from sm_ops.data.records import read_records
from sm_ops.sanitizing.levels import Filter
from sm_ops.sanitizing.measuring import measure
from sm_ops.sanitizing.plan import Plan
from sm_ops.sanitizing.sides import Side, side
from sm_ops.scoring.tokenize import tokenize_all
from sm_ops.steps._references import APPLICATION, VALIDATION, as_text, reference_of

if TYPE_CHECKING:
    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context, Numbers


def run(settings: Settings, context: Context) -> Numbers:
    """Write the measures; the application side has some where its records are labelled.

    Tokens are those of the reference of the first scorer (fitted: to the whole validation side), where there is one.
    """
    corpus = fs.read_json(context.inputs["corpus"])
    if settings.regimes and not corpus["regimes"]:
        hint = f"regimes are parts of a corpus that has some, and {corpus['corpus']} has none; leave them out."
        raise InputError("no-regimes", hint)
    plain = settings.plain()
    reference = plain.pop("reference")
    tokenizer = None if reference is None else reference_of(settings.reference, context, APPLICATION).tokenizer
    validation, filters = _side(context, VALIDATION, tokenizer)
    application = _side(context, APPLICATION, tokenizer)[0] if corpus["labelled"] else None
    measured = measure(validation, application, filters, Plan(**plain, families=corpus["families"]))
    fs.write_json(context.outputs["measures"], measured)
    return {"filters": len(filters), "choice": measured["choice"]["filter"]}


def _side(context: Context, name: str, tokenizer: Any) -> tuple[Side, list[Filter]]:
    records = list(read_records(context.inputs[name]))
    files = [path for key, path in context.inputs.items() if key.startswith("levels/") and Path(key).name == name]
    tokenized = None if tokenizer is None else tokenize_all([as_text(record) for record in records], tokenizer)
    return side(records, files, tokenized)
