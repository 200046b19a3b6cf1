"""Which tokens may follow: rows TYPE<TAB>VALUE whose values stand in the document, each pair once.

A value is followed through the document's UTF-8 bytes from every place where it may begin, so a token that holds
part of a character, or several, is right as long as its bytes are. What a value may be is said in `values`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from sm_ops.core.errors import InputError
from sm_ops.pii.extractor.values import is_part, is_whole, may_begin, may_end
from sm_ops.pii.types import TYPES
from sm_ops.scoring.tokenize import backend

_TAB, _LF = b"\t\n"
_NAMES = tuple(name.encode() for name in TYPES)


@dataclass(slots=True)
class _Node:
    """A place in the tree of all tokens' bytes: the tokens that end here, and where a further byte leads."""

    tokens: list[int] = field(default_factory=list)
    children: dict[int, _Node] = field(default_factory=dict)


class Vocabulary:
    """A byte-level tokenizer's ordinary tokens by their bytes."""

    def __init__(self, tokenizer: Any) -> None:
        """Raises `InputError` for a tokenizer of another kind."""
        from tokenizers import decoders
        from transformers.convert_slow_tokenizer import bytes_to_unicode

        if not isinstance(backend(tokenizer).decoder, decoders.ByteLevel):
            hint = "Constrained decoding needs a byte-level tokenizer, as GPT-2's or Qwen's; decode freely."
            raise InputError("tokenizer-not-byte-level", hint)
        byte_of = {character: byte for byte, character in bytes_to_unicode().items()}
        added = backend(tokenizer).get_added_tokens_decoder()
        self.bytes: dict[int, bytes] = {}
        self.root = _Node()
        for text, number in sorted(backend(tokenizer).get_vocab().items(), key=lambda item: item[1]):
            if number in added:
                content = b"" if added[number].special else text.encode()
            else:
                content = bytes(byte_of[character] for character in text)
            if content:
                self.bytes[number] = content
                self._place(content).tokens.append(number)

    def _place(self, content: bytes) -> _Node:
        node = self.root
        for byte in content:
            node = node.children.setdefault(byte, _Node())
        return node


@dataclass(frozen=True, slots=True)
class State:
    """How far an answer is: its whole `rows`, and of the next one the type's `name` and the value so far.

    The value has `length` bytes and may end at each of the byte offsets `ends`; None before its TAB.
    """

    rows: tuple[tuple[str, str], ...] = ()
    name: bytes = b""
    length: int = 0
    ends: tuple[int, ...] | None = None


class Rows:
    """The answers that a document allows, as a machine over bytes."""

    def __init__(self, source: str, vocabulary: Vocabulary) -> None:
        """`source` is the document's text in NFC."""
        self._vocabulary = vocabulary
        self._source, self._bytes = source, source.encode()
        offsets = [0]
        for character in source:
            offsets.append(offsets[-1] + len(character.encode()))
        self._character_at = {offset: index for index, offset in enumerate(offsets)}
        self._offsets = offsets

    @cached_property
    def _starts(self) -> dict[str, tuple[int, ...]]:
        """By type, the byte offsets where a value may begin."""
        places = range(len(self._source))
        return {
            name: tuple(self._offsets[index] for index in places if may_begin(name, self._source, index))
            for name in TYPES
        }

    def allowed(self, state: State) -> list[int]:
        """The tokens that may follow, in rising order; the end of the answer is not among them."""
        found: list[int] = []
        todo = [(self._vocabulary.root, state)]
        while todo:
            node, reached = todo.pop()
            found += node.tokens
            todo += [(node.children[byte], after) for byte, after in self._next(reached) if byte in node.children]
        return sorted(found)

    def after(self, state: State, token: int) -> State:
        """The state behind an allowed token."""
        for byte in self._vocabulary.bytes[token]:
            state = next(after for follower, after in self._next(state) if follower == byte)
        return state

    def may_end(self, state: State) -> bool:
        """Whether the answer may end here: with nothing written, or after a whole value."""
        return state == State() or self._value(state) is not None

    def ended(self, state: State) -> State:
        """The state with the row that the answer ends with among its rows."""
        value = self._value(state)
        return state if value is None else State((*state.rows, (state.name.decode(), value)))

    def _next(self, state: State) -> Iterator[tuple[int, State]]:
        """The bytes that may follow, and where each leads."""
        if state.ends is None:
            size = len(state.name)
            names = [name.encode() for name in TYPES if self._starts[name]]
            for byte in {name[size] for name in names if name.startswith(state.name) and len(name) > size}:
                yield byte, replace(state, name=state.name + bytes([byte]))
            if state.name in _NAMES:
                yield _TAB, replace(state, ends=self._starts[state.name.decode()])
            return
        following: dict[int, list[int]] = {}
        for end in state.ends:
            if end < len(self._bytes):
                following.setdefault(self._bytes[end], []).append(end + 1)
        for byte, ends in following.items():
            after = replace(state, length=state.length + 1, ends=tuple(ends))
            if self._may_go_on(after):
                yield byte, after
        if self._value(state) is not None:
            yield _LF, self.ended(state)

    def _value(self, state: State) -> str | None:
        """The value written so far, where it can be a row's that is not there yet."""
        name, value = state.name.decode(), self._text(state)
        ends = (self._character_at[end] for end in state.ends or () if end in self._character_at)
        if not value or not is_whole(name, value) or not any(may_end(name, self._source, end) for end in ends):
            return None
        return value if (name, value) not in state.rows else None

    def _text(self, state: State) -> str | None:
        """The value so far, or None within a character."""
        end = (state.ends or (0,))[0]
        if end not in self._character_at:
            return None
        return self._source[self._character_at[end - state.length] : self._character_at[end]]

    def _may_go_on(self, state: State) -> bool:
        text = self._text(state)
        return text is None or is_part(state.name.decode(), text)
