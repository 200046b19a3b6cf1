"""Sentences: end marks and the closers behind them, in Latin and East Asian punctuation (OP-12)."""

from __future__ import annotations

import re
from itertools import pairwise

from sm_ops.core.records import Record
from sm_ops.masking.intervals._pieces import trimmed

_END = re.compile(r"""(?P<marks>[.!?。！？…]+)["'”’)\]}»」』]*|\n""")
_ENDS_ANYWHERE = frozenset("。！？")


def intervals(record: Record) -> list[tuple[int, int]]:
    """The sentences of a record."""
    return sentences(record.content)


def sentences(text: str) -> list[tuple[int, int]]:
    """Half-open intervals of the sentences of a text, trimmed of whitespace.

    A run of end marks with its closers ends a sentence where the text ends or whitespace follows, or anywhere if it
    holds one of `。！？`; a newline always does. There is no list of abbreviations.
    """
    cuts = [match.end() for match in _END.finditer(text) if _ends_sentence(text, match)]
    return [piece for start, end in pairwise([0, *cuts, len(text)]) for piece in trimmed(text, start, end)]


def _ends_sentence(text: str, match: re.Match[str]) -> bool:
    marks, end = match["marks"], match.end()
    return marks is None or end == len(text) or text[end].isspace() or not _ENDS_ANYWHERE.isdisjoint(marks)
