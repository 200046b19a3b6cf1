"""Replace values by tokens such as `[PERSON_1]`, and put them back (R15 to R23).

The mapping from tokens to spellings is the secret: whoever has it can undo the masking. Restoring gives the NFC
form of the source, not its bytes. Equal tokens in two documents mean nothing: numbers start anew in each.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from heapq import heappop, heappush
from typing import NamedTuple

from sm_ops.pii.errors import RuleError
from sm_ops.pii.matching import Source, searches
from sm_ops.pii.rows import Pair
from sm_ops.pii.text import normalise_source, normalise_type, normalise_value
from sm_ops.pii.types import PRIORITY, TYPES

Span = tuple[int, int, str]
Ranked = tuple[int, int, int]
"""A match as (start, -end, rank): sorted, the first at each place is the best (R16, R17)."""
VARIANT = len(TYPES)
"""Added to the rank of a variant, so that every literal comes before it; `rank % VARIANT` is the type's priority."""
TOKEN = re.compile(rf"\[(?:{'|'.join(TYPES)})_[1-9][0-9]*\]")
"""A token name (R21); two of them never overlap."""


class Masked(NamedTuple):
    """A masked text, its mapping token -> spelling, and spans (start, end, token) of the NFC source (R20)."""

    text: str
    mapping: dict[str, str]
    spans: list[Span]

    def __repr__(self) -> str:
        return f"Masked({len(self.spans)} spans, {len(self.mapping)} tokens)"


def mask(source: str, candidates: Iterable[Pair]) -> Masked:
    """Replace every candidate (type, value), whatever their order and repetition, at the places of R15.

    Raises `RuleError`: E_SOURCE_TYPE, E_SOURCE_SURROGATE, or E_CANDIDATE for an unknown type or a blank value.
    """
    text = normalise_source(source)
    return masked(Source(text), checked_candidates(candidates))


def masked(source: Source, pairs: Iterable[Pair]) -> Masked:
    """`mask` for a source and candidates that are normalised already."""
    return replace(source.text, _scan(source, pairs))


def checked_candidates(candidates: Iterable[Pair]) -> list[Pair]:
    """The distinct candidates, normalised; E_CANDIDATE names the first that is no pair of type and value (R23)."""
    return list(dict.fromkeys(_candidate(each, index) for index, each in enumerate(candidates)))


def _candidate(each: object, index: int) -> Pair:
    if isinstance(each, list | tuple) and len(each) == 2 and all(isinstance(part, str) for part in each):
        pair = normalise_type(each[0]), normalise_value(each[1])
        if pair[0] in PRIORITY and pair[1]:
            return pair
    raise RuleError("E_CANDIDATE", f"candidate {index}")


def rank(type_: str, literal: bool) -> int:
    """The place of a match among those of one length: literals first, then by type (R16, R17)."""
    return PRIORITY[type_] + (0 if literal else VARIANT)


def leftmost(matches: Iterable[Ranked]) -> Iterator[Span]:
    """The spans (start, end, type) that one scan from the left takes of all matches, given in ascending order (R15)."""
    at = 0
    for start, minus_end, number in matches:
        if start >= at:
            at = -minus_end
            yield start, at, TYPES[number % VARIANT]


def _scan(source: Source, pairs: Iterable[Pair]) -> Iterator[Span]:
    """What `leftmost` gives for all matches, without looking for those inside of taken spans.

    The heap holds the next match of each search; one that starts inside a taken span is looked for again behind it.
    """
    known = [(search, rank(pair[0], search.literal)) for pair in pairs for search in searches(source, *pair)]
    heap: list[tuple[int, int, int, int]] = []

    def look(number: int, at: int) -> None:
        search, own = known[number]
        if found := search.first(at):
            heappush(heap, (found[0], -found[1], own, number))

    for number in range(len(known)):
        look(number, 0)
    at = 0
    while heap:
        start, minus_end, own, number = heappop(heap)
        if start >= at:
            at = -minus_end
            yield start, at, TYPES[own % VARIANT]
        look(number, at)


def replace(source_nfc: str, spans_with_types: Iterable[Span]) -> Masked:
    """Put tokens in the place of spans (start, end, type), ascending and disjoint.

    Each type counts from 1 in the order of its spellings in the source (R18), past names that stand there (R19).
    """
    taken = set(TOKEN.findall(source_nfc))
    counters = dict.fromkeys(TYPES, 0)
    tokens: dict[Pair, str] = {}
    pieces: list[str] = []
    spans: list[Span] = []
    at = 0
    for start, end, type_ in spans_with_types:
        key = type_, source_nfc[start:end]
        if key not in tokens:
            tokens[key] = _next_token(type_, counters, taken)
        pieces += source_nfc[at:start], tokens[key]
        spans.append((start, end, tokens[key]))
        at = end
    mapping = {token: spelling for (_, spelling), token in tokens.items()}
    return Masked("".join(pieces) + source_nfc[at:], mapping, spans)


def _next_token(type_: str, counters: dict[str, int], taken: set[str]) -> str:
    while True:
        counters[type_] += 1
        token = f"[{type_}_{counters[type_]}]"
        if token not in taken:
            return token


def restore(text: str, mapping: Mapping[str, str]) -> str:
    """Put spellings back, in one pass; tokens that the mapping lacks stay (R22).

    Raises `RuleError`: E_SOURCE_TYPE for a text that is no string, E_MAPPING for an entry that is no token (R21).
    """
    if not isinstance(text, str):
        raise RuleError("E_SOURCE_TYPE", "text")
    if not isinstance(mapping, Mapping):
        raise RuleError("E_MAPPING", "mapping")
    for index, (token, spelling) in enumerate(mapping.items()):
        if not (isinstance(token, str) and TOKEN.fullmatch(token) and isinstance(spelling, str)):
            raise RuleError("E_MAPPING", f"mapping entry {index}")
    return TOKEN.sub(lambda match: mapping.get(match[0], match[0]), text)
