"""Refusals of the PII functions: a code and a place that is an index, never an id, a value or text (R30)."""

from __future__ import annotations

from sm_ops.core.errors import InputError
from sm_ops.pii.types import TYPES

_MEANINGS = {
    "E_RECORD_SHAPE": "it is no object with a text `id` and a list `entities`; write each record as "
    '{"id": ..., "source_text": ..., "entities": [{"type": ..., "value": ...}]}',
    "E_RECORD_ID_DUPLICATE": "its id was given to an earlier record; give each record an id of its own",
    "E_SOURCE_TYPE": "the text is missing or no string; give the document as one string",
    "E_SOURCE_SURROGATE": "the text holds a lone surrogate, so it was decoded wrongly; decode the file as UTF-8",
    "E_GOLD_TYPE": f"the type is none of {', '.join(TYPES)}; give one of these",
    "E_GOLD_VALUE": "the value is missing, no string, or empty after trimming; remove the entity or give its value",
    "E_GOLD_NO_MATCH": "the value does not occur in the record's source text; write it as it stands there",
    "E_PREDICTION_SHAPE": "it is no object with a text `id`; "
    'write {"id": ..., "prediction": ..., "parse_success": ...}',
    "E_PREDICTION_ID_DUPLICATE": "its id was given to an earlier prediction; keep one prediction per record",
    "E_PREDICTION_UNKNOWN": "no record has its id; ids are compared exactly",
    "E_PARSE_FLAG": "`parse_success` is missing or neither true nor false",
    "E_PREDICTION_TYPE": "the prediction is missing or no string; give the raw output, or an empty string",
    "E_CANDIDATE": f"it is no pair of a type ({', '.join(TYPES)}) and a value that is not blank",
    "E_MAPPING": "it does not map a token such as [PERSON_1] to a string; give the mapping as the masking wrote it",
}


class RuleError(InputError):
    """What the rules refuse: `place` says where (indexes start at 0), `hint` in a sentence what is wrong there.

    `str()` is exactly `CODE at PLACE`, such as `E_GOLD_TYPE at record 1 entity 0`.
    """

    def __init__(self, code: str, place: str) -> None:
        super().__init__(code, f"{place[:1].upper()}{place[1:]}: {_MEANINGS[code]}.")
        self.args = (code, place)
        self.place = place

    def __str__(self) -> str:
        return f"{self.code} at {self.place}"
