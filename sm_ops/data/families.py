"""Families of categories: a file maps each label to its family, and a label that it does not know is refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from sm_ops.core.errors import InputError
from sm_ops.core.plain_yaml import parse
from sm_ops.core.records import Record
from sm_ops.data.taxonomy import PIIBENCH

FamilyOf = Callable[[str], str | None]
SHIPPED = {"piibench": PIIBENCH}


def load(source: str) -> FamilyOf:
    """What gives a label's family (None: unknown): a file of YAML or JSON, `LABEL: FAMILY`, or a shipped map by name.

    Labels are compared without case, blanks, hyphens and underscores, as sources of one label write it differently.
    Raises `InputError` for a file that is absent or no such map, and for labels that are the same so compared.
    """
    found = SHIPPED[source] if source in SHIPPED else _read(source)
    families = {_plain(str(label)): family for label, family in found.items()}
    if len(families) < len(found):
        hint = f"{source} gives a label twice (case, blanks, hyphens and underscores do not count); leave one out."
        raise InputError("bad-families", hint)
    return lambda label: families.get(_plain(label))


def _read(source: str) -> Mapping[str, str]:
    path = Path(source)
    if not path.is_file():
        hint = f"There is no map of families at {source}; name a file, or a shipped one: {', '.join(SHIPPED)}."
        raise InputError("no-families", hint)
    found = parse(path.read_bytes(), source)
    if not isinstance(found, dict) or not found or not all(type(each) is str and each for each in found.values()):
        hint = f"{source} is no map of labels to families; give each label a line LABEL: FAMILY."
        raise InputError("bad-families", hint)
    return found


def known(records: Iterable[Record], family_of: FamilyOf) -> Iterator[Record]:
    """The records as they are; `InputError` for the first with a label that has no family, by record and span."""
    for number, record in enumerate(records):
        for place, span in enumerate(record.spans):
            if family_of(span.label) is None:
                hint = f"Record {number} (from 0), spans[{place}]: its label is not in the map of families; add a line."
                raise InputError("unknown-label", hint)
        yield record


def _plain(label: str) -> str:
    return re.sub(r"[\s_-]+", "", label).casefold()
