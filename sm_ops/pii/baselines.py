"""Ready-made detectors as extractors: what they find, written as the rows that the evaluator reads.

So the same evaluator judges a regular expression, Presidio, the Privacy Filter and a tuned model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sm_ops.detectors.detector import Detection, Detector
from sm_ops.detectors.labels import type_of
from sm_ops.pii.text import normalise_source, trim
from sm_ops.pii.types import NUMERIC

_LINE_END = re.compile("[\r\n]+")


class Written(NamedTuple):
    """Rows TYPE<TAB>VALUE, and how many detections reach over a line end, which no row can hold."""

    prediction: str
    broken: int


def predictions(detector: Detector, texts: Sequence[str]) -> list[str]:
    """For each text the rows of what a detector finds in its NFC form, in source order, none of them twice.

    Raises `InputError` for what is no text, naming its index.
    """
    sources = [normalise_source(text, f"text {index}") for index, text in enumerate(texts)]
    found = detector.detect(sources)
    return [write(source, each).prediction for source, each in zip(sources, found, strict=True)]


def write(source: str, detections: Iterable[Detection]) -> Written:
    """The detections of one NFC text as rows; labels that are none of the nine types are left out.

    A value over a line end is written as a row for each line, and a number, which is found again with any separator
    (R13), in one row with a blank in the line end's place.
    """
    rows, broken = [], 0
    for start, end, label, _ in detections:
        type_ = type_of(label)
        if type_ is None:
            continue
        values = [trim(line) for line in _LINE_END.split(trim(source[start:end]))]
        broken += len(values) > 1
        rows += [f"{type_}\t{value}" for value in ([" ".join(values)] if type_ in NUMERIC else values) if value]
    return Written("\n".join(dict.fromkeys(rows)), broken)
