"""What an extractor wrote: rows TYPE<TAB>VALUE, and which of them stand in the source (R4 to R9, R25).

Thinking between `<think>` and `</think>` is cut out. Whatever is no row of an allowed type with a value is prose
and is passed over; nothing is repaired: list marks, quotes and code fences make a row prose or part of a value.
"""

from __future__ import annotations

import re

from sm_ops.pii.errors import RuleError
from sm_ops.pii.matching import Source, stands_in
from sm_ops.pii.text import normalise_source, normalise_type, normalise_value, trim
from sm_ops.pii.types import PRIORITY

Pair = tuple[str, str]
_OPENING, _CLOSING = "<think>", "</think>"
_ROW_END = re.compile("\r\n|\n|\r")


def without_thinking(text: str) -> str:
    """The output without each stretch from `<think>` to the next `</think>`, in one pass over the raw text (R4)."""
    kept, at = [], 0
    while (opening := text.find(_OPENING, at)) >= 0:
        closing = text.find(_CLOSING, opening + len(_OPENING))
        if closing < 0:
            break
        kept.append(text[at:opening])
        at = closing + len(_CLOSING)
    return "".join(kept) + text[at:]


def parse_rows(prediction: str) -> list[Pair]:
    """The rows that count, normalised, in their order and with duplicates (R5 to R7); refuses what is no string."""
    if not isinstance(prediction, str):
        raise RuleError("E_PREDICTION_TYPE", "prediction")
    rows = []
    for row in _ROW_END.split(without_thinking(prediction)):
        name, tab, value = row.partition("\t")
        pair = normalise_type(name), normalise_value(value)
        if tab and pair[0] in PRIORITY and pair[1]:
            rows.append(pair)
    return rows


def accepted(source: Source, rows: list[Pair]) -> list[Pair]:
    """The distinct rows that have an occurrence, each looked at alone (R8, R9)."""
    return [row for row in dict.fromkeys(rows) if stands_in(source, *row)]


def accept(source: str, prediction: str) -> list[Pair]:
    """The candidates of a prediction: distinct rows with an occurrence in the source, first places kept (R8, R9)."""
    text = normalise_source(source)
    return accepted(Source(text), parse_rows(prediction))


def parse_flag(source: str, prediction: str) -> bool:
    """Whether an output can be used: nothing beside its thinking, or a row that is accepted (R25)."""
    return bool(accept(source, prediction)) or not trim(without_thinking(prediction))
