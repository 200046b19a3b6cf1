"""The rules word by word, by trying every stretch of a text: slow, and sharing no code with the package."""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Iterator

ORDER = ["RRN", "CARD", "EMAIL", "PHONE", "DOB", "ACCOUNT", "ADDRESS", "PERSON", "REL"]
BLANKS = "".join(chr(p) for p in range(0x3001) if chr(p).isspace())
OUTER = BLANKS + "\u200b\u2060\ufeff"
NAME_GAPS = ["", " ", "  ", "\t", "\n", "\r\n", "\xa0", "\u3000"]
GAP = (
    "[\\s\\-./()+\xb7\u2010-\u2015\u2212\ufe63\u3161\uff0d\uff0e\uff0f\uff08\uff09\uff0b\xad\u200b-\u200f\u2060"
    "\u202a-\u202e\u2066-\u2069\ufeff]"
)
ZERO = 0xFF10


def nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def spellings(type_: str, value: str) -> Iterator[re.Pattern[str]]:
    """What stands for a value: the literal first, then its variants (R10, R12, R13)."""
    yield re.compile(re.escape(value))
    characters = [c for c in value if c not in BLANKS]
    if type_ == "PERSON" and 2 <= len(characters) <= 6:
        yield from (re.compile(re.escape(gap.join(characters))) for gap in NAME_GAPS if gap.join(characters) != value)
    if type_ in ("RRN", "DOB", "PHONE", "ACCOUNT", "CARD") and re.fullmatch(f"(?:{GAP}|[0-9\uff10-\uff19])*", value):
        digits = [ord(c) - (ZERO if ord(c) >= ZERO else ord("0")) for c in re.findall("[0-9\uff10-\uff19]", value)]
        if len(digits) >= 6:
            yield re.compile(f"{GAP}{{0,3}}".join(f"[{digit}{chr(ZERO + digit)}]" for digit in digits))


def cuts_a_number(text: str, place: int) -> bool:
    around = text[max(place - 1, 0) : place + 1]
    return 0 < place < len(text) and all(unicodedata.category(c) == "Nd" for c in around)


def places(text: str, type_: str, value: str) -> list[tuple[int, int, bool]]:
    """All (start, end, literal) of a candidate (R14)."""
    literal, *variants = spellings(type_, value)
    found = []
    for start in range(len(text)):
        for end in range(start + 1, len(text) + 1):
            if cuts_a_number(text, start) or cuts_a_number(text, end):
                continue
            if literal.fullmatch(text, start, end):
                found.append((start, end, True))
            elif any(each.fullmatch(text, start, end) for each in variants):
                found.append((start, end, False))
    return found


def mask(source: str, candidates: list[tuple[str, str]]) -> tuple[str, dict[str, str], list[tuple[int, int, str]]]:
    """R15 to R20, one position after the other."""
    text = nfc(source)
    known = [(t, start, end, literal) for t, v in candidates for start, end, literal in places(text, t, norm(v))]
    masked, mapping, spans, numbers, at = "", {}, [], {}, 0
    while at < len(text):
        here = [(-end, not literal, ORDER.index(t)) for t, start, end, literal in known if start == at]
        if not here:
            masked += text[at]
            at += 1
            continue
        minus_end, _, rank = min(here)
        spelling = text[at:-minus_end]
        token = next((k for k, v in mapping.items() if v == spelling and k.startswith(f"[{ORDER[rank]}_")), None)
        while token is None or (token not in mapping and token in text):
            numbers[rank] = numbers.get(rank, 0) + 1
            token = f"[{ORDER[rank]}_{numbers[rank]}]"
        mapping[token] = spelling
        masked += token
        spans.append((at, -minus_end, token))
        at = -minus_end
    return masked, mapping, spans


def norm(value: str) -> str:
    return nfc(value).strip(OUTER)


def leaks(source: str, gold: tuple[str, str], spans: list[tuple[int, int, str]]) -> bool:
    """R27: a place with a character that no span covers (spans that touch are one stretch)."""
    covered = {place for start, end, _ in spans for place in range(start, end)}
    return any(not covered.issuperset(range(start, end)) for start, end, _ in places(nfc(source), *gold))


def rows(prediction: str) -> list[tuple[str, str]]:
    """R4 to R7, with the tags found from the left by one pattern."""
    found = []
    for row in re.sub("\r\n|\r", "\n", re.sub("<think>.*?</think>", "", prediction, flags=re.DOTALL)).split("\n"):
        if "\t" in row:
            type_, value = row.split("\t", 1)
            type_ = type_.strip(OUTER)
            type_ = type_.upper() if all(ord(c) < 128 for c in type_) else type_
            if type_ in ORDER and norm(value):
                found.append((type_, norm(value)))
    return found


PIECES = {
    "names": ["솔", "가", "람", " ", "  ", "\t", "\n", "\r\n", "\xa0", "\u3000", "\u200b", "솔가람", "솔 가 람", "7"],
    "decomposed": ["\u1109\u1169\u11af", "\u1100", "\u1161", "\u11af", "솔", "e\u0301", "e", "\u0301", " ", "가",
    "\ufb1d"],
    "numbers": ["0", "1", "1", "01", "１", "０", "-", " ", "--", "\u3161", "\u200b", "\u0661", "010", "1-1", ",", "a"],
    "spaced": ["1 ", "1", " ", "1  ", "1-", "\uff11", "\r\n", "11"],
    "tokens": ["[PERSON_1]", "[REL_1]", "[REL_2]", "PERSON", "[", "]", "_", "1", "REL", "[PERSON_", " ", "a"],
    "repeated": ["a", "a", "a", "aa", "b", "\U0001f600"],
    "mixed": ["Ann", "A", "n", " ", "솔", "\u05d0\u05d1", "\u202e", "\U0001f468\u200d\U0001f469", "ſ", "ß", "0", "1",
    "\x00"],
}  # fmt: skip
"""Pieces of hostile texts, by what they try."""


def hostile(seed: int, length: int = 12) -> tuple[str, list[tuple[str, str]]]:
    """A text and candidates for it, mostly stretches of it or of its kin, of all types."""
    rng = random.Random(seed)
    pieces = PIECES[list(PIECES)[seed % len(PIECES)]]
    text = "".join(rng.choices(pieces, k=rng.randint(0, length)))
    candidates = []
    for _ in range(rng.randint(1, 5)):
        if text and rng.random() < 0.5:
            start = rng.randrange(len(text))
            value = text[start : start + rng.randint(1, 9)]
        else:
            value = "".join(rng.choices(pieces, k=rng.randint(1, 7)))
        if rng.random() < 0.3:
            value = value.translate(dict.fromkeys(map(ord, " \t\r\n-\xa0\u3000")))
        if norm(value):
            candidates.append((rng.choice(ORDER), value))
    return text, candidates
