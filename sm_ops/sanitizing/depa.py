"""DePA, Dead Code Perplexity Analysis (Tsai et al. 2025, arXiv 2502.20246), from its description (choice P-5).

The perplexity of line i is the mean perplexity of the snippet's variants that lack one other line each, and so hold
line i; a line is suspicious where that lies more than 1.5 standard deviations above the mean over the snippet's lines.
With S the sum of all n variants' perplexities p, line i has (S - p_i) / (n - 1): a falling line in p_i. Deviations
in units of their standard deviation are therefore the same whether one reads the mean over the variants that hold a
line, or how much lower the perplexity is without it; the description's two readings agree.
"""

from __future__ import annotations

import numpy as np

from sm_ops.core.records import Record
from sm_ops.masking.intervals import line
from sm_ops.sanitizing.context import code_from

T = 1.5
"""Standard deviations above the snippet's mean beyond which a line is flagged."""


def compared(record: Record) -> list[tuple[int, int]]:
    """The non-blank lines of a record's code; none where it is one alone."""
    lines = [(start, end) for start, end in line.intervals(record) if start >= code_from(record)]
    return lines if len(lines) > 1 else []


def variants(record: Record) -> list[Record]:
    """Texts of the record's id without one of its compared lines each (the line's end included), in order."""
    text, lines = record.content, compared(record)
    ends = [text.find("\n", end) + 1 or len(text) for _, end in lines]
    return [Record(record.id, text=text[:start] + text[end:]) for (start, _), end in zip(lines, ends, strict=True)]


def deviations(perplexities: np.ndarray) -> np.ndarray:
    """Of each line, how many standard deviations its perplexity lies above the mean of its snippet's.

    `perplexities` float64 of shape (n): of the variants without line 0, 1, ...; n lines cannot deviate by more than
    the square root of n - 1, so a snippet of three lines or fewer is never flagged at 1.5. All alike: zeros. A
    variant without a perplexity (NaN) leaves the whole snippet without a comparison: minus infinity.
    """
    own = (perplexities.sum() - perplexities) / max(1, len(perplexities) - 1)
    if np.isnan(own).any() or not len(own):
        return np.full(len(own), -np.inf)
    spread = own.std()
    return (own - own.mean()) / spread if spread > 0 else np.zeros(len(own))
