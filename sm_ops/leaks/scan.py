"""Find many values in a stream of bytes, all forms in one go, in memory that does not grow with the stream.

Four views of the stream are searched: as it is, without white space (a value broken over lines), with its escapes
undone (`sm_ops.leaks.escapes`), and the last made bare.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from ahocorasick_rs import BytesAhoCorasick

from sm_ops.leaks.escapes import Unescaper
from sm_ops.leaks.forms import ESCAPED, SEPARATOR_FREE, UTF16, bare, bare_bytes, everywhere, reach, spelt

_SPACE = b" \t\n\r\f\v"
_BEFORE, _AFTER = 2, 2
_WORD = frozenset(b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_DIGITS = frozenset(b"0123456789")
_HEX = frozenset(b"0123456789abcdefABCDEF_")
_DOT = frozenset(b".")

Hits = dict[tuple[int, str], int]
_Mark = tuple[int, str, bool]
"""What an occurrence of a needle means: which value, in which form, and whether it counts only as a whole word.

Plain tuples, of which there may be millions: Python's collector soon passes over them."""


class Scanner:
    """Looks for values, which hits name by their number."""

    def __init__(self, values: Sequence[str]) -> None:
        needles: dict[bytes, tuple[_Mark, ...]] = {}
        joined: dict[bytes, tuple[_Mark, ...]] = {}
        for number, value in enumerate(values):
            found = reach(value)
            if found == "none":
                continue
            seen: set[bytes] = set()  # a plain value looks the same in several forms: the first is told
            for form, texts in (spelt(value) if found == "words" else everywhere(value)).items():
                mark = (number, form, found == "words")
                for text in texts - seen:
                    needles[text] = (*needles.get(text, ()), mark)
                seen |= texts
            if found == "anywhere":
                kept = bare(value).encode()
                joined[kept] = (*joined.get(kept, ()), (number, SEPARATOR_FREE, False))
        self._needles, self._joined = _Needles(needles), _Needles(joined)

    def scan(self, chunks: Iterable[bytes]) -> Hits:
        """Occurrences in one stream by value and form; each view tells only of values that no view before it has."""
        plain, unbroken, undone = (_View(self._needles) for _ in range(3))
        joined, escapes = _View(self._joined), Unescaper()
        broken, partial = False, b""
        for chunk in chunks:
            plain.feed(chunk)
            tight = chunk.translate(None, _SPACE)
            broken = broken or len(tight) < len(chunk)
            unbroken.feed(tight)
            text = escapes.feed(chunk)
            undone.feed(text, same=not escapes.changed)
            whole, partial = _whole_characters(partial + text)
            joined.feed(bare_bytes(whole))
        text = escapes.feed(b"", last=True)
        undone.feed(text, same=not escapes.changed)
        joined.feed(bare_bytes(partial + text))
        for view in (plain, unbroken, undone, joined):
            view.feed(b"", last=True)
        hits: Hits = dict(plain.words + plain.hits)
        unescaped: Counter[tuple[int, str]] = Counter()
        for (value, _), count in (undone.words + undone.hits).items():
            unescaped[value, ESCAPED] += count
        seen = {value for value, _ in hits}
        for found in (unbroken.hits if broken else {}, unescaped, joined.hits):
            hits |= {key: count for key, count in found.items() if key[0] not in seen}
            seen |= {value for value, _ in found}
        return hits


class _Needles:
    """An automaton over the needles, and what each of them means."""

    def __init__(self, marks: dict[bytes, tuple[_Mark, ...]]) -> None:
        self.marks = list(marks.values())
        self.longest = max(map(len, marks), default=0)
        self.automaton = BytesAhoCorasick(list(marks)) if marks else None


class _View:
    """One view of one stream: counts every occurrence once, also across the edges of chunks."""

    def __init__(self, needles: _Needles) -> None:
        self.hits: Counter[tuple[int, str]] = Counter()
        self.words: Counter[tuple[int, str]] = Counter()
        self._needles = needles
        self._kept = needles.longest + _BEFORE + _AFTER
        self._tail = b""
        self._counted = 0  # occurrences that end up to here in the tail were counted

    def feed(self, data: bytes, last: bool = False, same: bool = False) -> None:
        """Go on with the next bytes; they are not searched if another view has the same up to here."""
        if self._needles.automaton is None:
            return
        buffer = self._tail + data
        end_of_view = len(buffer) if last else max(self._counted, len(buffer) - _AFTER)
        found = [] if same else self._needles.automaton.find_matches_as_indexes(buffer, overlapping=True)
        for number, start, end in found:
            if self._counted < end <= end_of_view:
                for value, form, word in self._needles.marks[number]:
                    if not word:
                        self.hits[value, form] += 1
                    elif _is_word(buffer, start, end, form):
                        self.words[value, form] += 1
        cut = max(0, len(buffer) - self._kept)
        self._tail = buffer[cut:]
        self._counted = end_of_view - cut


def _is_word(data: bytes, start: int, end: int, form: str) -> bool:
    """Whether no letter or digit touches an occurrence; a Korean particle may stand after it."""
    if form == UTF16:
        before, after = data[max(0, start - 2) : start], data[end : end + 2]
        return not any(len(side) == 2 and side[1] == 0 and side[0] in _WORD for side in (before, after))
    return _open_before(data, start) and _open_after(data, end)


def _open_before(data: bytes, start: int) -> bool:
    if start == 0:
        return True
    first, before = data[start], data[start - 1]
    if first >= 128:
        return before < 128
    return before not in (_WORD | _DOT if first in _DIGITS else _WORD)


def _open_after(data: bytes, end: int) -> bool:
    if end == len(data) or data[end - 1] >= 128:
        return True
    return data[end] not in (_HEX if data[end - 1] in _DIGITS else _WORD)


def _whole_characters(data: bytes) -> tuple[bytes, bytes]:
    """Cut before a UTF-8 character that the end of the bytes may have broken."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return (data[:-back], data[-back:]) if length > back else (data, b"")
        if byte < 0x80:
            break
    return data, b""
