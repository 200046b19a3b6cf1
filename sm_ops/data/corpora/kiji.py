"""Kiji: English sentences from templates filled with made-up values (dataiku/kiji-proxy, end-to-end tests).

A line is a sentence: `id`, `text` and `spans` of `start`, `end` and `type`. Its template is the text with types instead
of values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sm_ops.core.records import Record
from sm_ops.data.corpora._reading import (
    Reading,
    are_typed,
    documents,
    form,
    kept,
    place,
    template,
    typed,
    with_defaults,
)

RULE = "piibench_raw"
# fmt: off
TYPES = frozenset((
    "AGE", "BUILDINGNUM", "CITY", "COMPANYNAME", "COUNTRY", "CREDITCARDNUMBER", "DATEOFBIRTH", "DRIVERLICENSENUM",
    "EMAIL", "FIRSTNAME", "IBAN", "IDCARDNUM", "LICENSEPLATENUM", "NATIONALID", "PASSPORTID", "PASSWORD", "PHONENUMBER",
    "SECURITYTOKEN", "SSN", "STATE", "STREET", "SURNAME", "TAXNUM", "URL", "USERNAME", "ZIP",
))
# fmt: on


def recognises(row: dict[str, Any]) -> bool:
    """Whether a row has spans, and their types are all of Kiji's."""
    return bool(row.get("spans")) and are_typed(row, TYPES)


def read(path: str | Path | None, settings: Mapping[str, Any] = {}) -> Reading:
    """One record a sentence, its group the template, its spans labelled by type; it has no settings.

    Raises `InputError` that names file, line and field.
    """
    with_defaults("kiji", settings, {})
    file, skipped = place("kiji", path), Counter()
    return Reading(_records(file, skipped), skipped)


def _records(file: Path, skipped: Counter[str]) -> Iterator[Record]:
    for document in documents("kiji", file, skipped):
        spans = typed(document)
        group = template(form(document.text, spans))
        yield Record(document.id, text=document.text, group=group, spans=spans, meta=kept(document.row, ("split",)))
