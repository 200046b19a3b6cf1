"""Tasks from which a base model learns to copy: list what is marked in a text, without knowing what is private.

Stretches of the documents' texts, and random strings put among them, are marked with a type drawn at random and have
to be listed as rows. Which stretches are private is never said: that is left to tuning.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from sm_ops.pii.extractor.windows import Piece
from sm_ops.pii.types import TYPES

MARKS = 4
"""Fewer marks than this stand in a text."""

_WORD = re.compile(r"\S+")
_LONGEST = 40
_ALPHABETS = ("0123456789", "0123456789", "abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnop.@0123456789")


def string(random: np.random.Generator, syllables: str) -> Piece:
    """A marked random string alone: nothing can be guessed here, all has to be copied."""
    value = " ".join("".join(_string(random, syllables) + ("", "", " ")[random.integers(3)] for _ in range(4)).split())
    return Piece(value, ((0, len(value), _name(random)),))


def task(text: str, random: np.random.Generator, syllables: str) -> Piece:
    """The text with up to `MARKS` - 1 stretches marked, some of which are random strings put into it."""
    words = [match.span() for match in _WORD.finditer(text)]
    chosen = np.sort(random.permutation(len(words))[: random.integers(MARKS)]).tolist()
    result, places, position = "", [], 0
    for number in chosen:
        first = words[number][0]
        if first < position:
            continue
        result += text[position:first]
        position = first
        if random.random() < 0.5:
            value = _string(random, syllables)
        else:
            last = words[min(number + int(random.integers(3)), len(words) - 1)][1]
            position = min(last, first + _LONGEST)
            if random.random() < 0.5:  # not always whole words
                position -= int(random.integers(min(4, position - first)))
            value = text[first:position]
        value = " ".join(value.split())
        places.append((len(result), len(result) + len(value), _name(random)))
        result += value
    return Piece(result + text[position:], tuple(places))


def syllables(texts: Sequence[str]) -> str:
    """The Hangul syllables of the texts, or letters where there are none."""
    found = {character for text in texts for character in text if "가" <= character <= "힣"}
    return "".join(sorted(found)) or "abcdefghijklmnopqrstuvwxyz"


def _name(random: np.random.Generator) -> str:
    return TYPES[random.integers(len(TYPES))]


def _string(random: np.random.Generator, syllables: str) -> str:
    """Digits in groups, letters, or syllables in no order."""
    kind = int(random.integers(len(_ALPHABETS) + 2))
    if kind >= len(_ALPHABETS):
        return "".join(syllables[i] for i in random.integers(len(syllables), size=random.integers(2, 5)))
    length = int(random.integers(3, 17))
    drawn = [_ALPHABETS[kind][i] for i in random.integers(len(_ALPHABETS[kind]), size=length)]
    if kind < 2:
        separator = ("-", " ", ".", "")[random.integers(4)]
        for cut in sorted(random.integers(1, length, size=2).tolist(), reverse=True):
            drawn.insert(cut, separator)
    return "".join(drawn)
