"""Mask with very many known values at once: the result of `mask` with the same candidates, in one pass per text.

Literals and spaced names (R10) go into one Aho-Corasick automaton that reports all matches, overlapping ones too:
the longest at a place may fail at its edges (R11) where a shorter one holds, so the library must not choose. Numbers
(R13) are looked up by their digits at each place where a run of digits begins. The text is read in windows, so that
memory follows the window and what is replaced, not the number of matches; time is linear in the text, but values
nested in each other (`a`, `aa`, `aaa`, ...) each count where they stand.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from heapq import merge

from ahocorasick_rs import AhoCorasick, Implementation

from sm_ops.pii.matching import NAME_GAPS, Source, name_characters, number_digits
from sm_ops.pii.replacement import Masked, Ranked, checked_candidates, leftmost, rank, replace
from sm_ops.pii.rows import Pair
from sm_ops.pii.text import SURROGATE, normalise_source

_WINDOW = 8192


class KnownValues:
    """Candidates made ready for many texts; building takes seconds for 1e5, and about 2 kB of memory for each.

    Raises `RuleError` E_CANDIDATE for an unknown type or a blank value, with its index.
    """

    def __init__(self, pairs: Iterable[Pair]) -> None:
        patterns: dict[str, int] = {}
        numbers: dict[int, dict[str, int]] = defaultdict(dict)
        for type_, value in checked_candidates(pairs):
            if SURROGATE.search(value):
                continue  # no source has one
            _keep(patterns, value, rank(type_, True))
            if characters := name_characters(type_, value):
                for gap in NAME_GAPS:
                    _keep(patterns, gap.join(characters), rank(type_, False))
            if digits := number_digits(type_, value):
                _keep(numbers[len(digits)], digits, rank(type_, False))
        self._ranks = bytes(patterns.values())
        self._longest = max(map(len, patterns), default=0)
        self._automaton = AhoCorasick(patterns, implementation=Implementation.ContiguousNFA, store_patterns=False)
        self._numbers = [(length, numbers[length]) for length in sorted(numbers, reverse=True)]

    def mask(self, source: str) -> Masked:
        """What `mask(source, pairs)` gives (R15 to R20)."""
        text = Source(normalise_source(source))
        return replace(text.text, leftmost(self.matches(text)))

    def matches(self, source: Source) -> Iterator[Ranked]:
        """All matches (R14), ascending; two ranks at one place where a number is also a literal."""
        return merge(self._in_text(source), self._in_digits(source))

    def _in_text(self, source: Source) -> Iterator[Ranked]:
        """Literals and spaced names; a window holds all matches that start in its own part, the first."""
        own = max(_WINDOW, self._longest)
        for first in range(0, len(source.text), own):
            window = source.text[first : first + own + self._longest]
            yield from sorted(
                (first + start, -first - end, self._ranks[pattern])
                for pattern, start, end in self._automaton.find_matches_as_indexes(window, overlapping=True)
                if start < own and source.stands_free(first + start, first + end)
            )

    def _in_digits(self, source: Source) -> Iterator[Ranked]:
        text, places = source.digits if self._numbers else ("", [])
        for index, start in enumerate(places):
            if start == 0 or not source.text[start - 1].isdecimal():
                for length, ranks in self._numbers:
                    found = ranks.get(text[index : index + length])
                    if found is not None and source.stands_free(start, end := places[index + length - 1] + 1):
                        yield start, -end, found


def _keep(ranks: dict[str, int], spelling: str, new: int) -> None:
    ranks[spelling] = min(new, ranks.get(spelling, new))
