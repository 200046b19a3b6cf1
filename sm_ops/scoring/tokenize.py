"""Records to tokens: any fast tokenizer, offsets in the record's canonical coordinates.

A text is tokenized as it stands, with untrimmed offsets and nothing inserted (OP-01, OP-02). A chat is rendered
by the tokenizer's template (see `chats`). Tokens that overlap no content belong to the template. Strings in the
data that look like control tokens are tokenized as plain text.
"""

from __future__ import annotations

import hashlib
import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar
from unicodedata import normalize

import numpy as np

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record
from sm_ops.core.tokens import Tokens
from sm_ops.scoring.chats import Interval, control_pattern, control_tokens, render, render_prompt
from sm_ops.scoring.hub import check_reachable, reading

_Encoding = tuple[list[int], list[Interval]]
_T = TypeVar("_T")


def load_tokenizer(path_or_name: str | Path, revision: str | None = None) -> Any:
    """A Hugging Face fast tokenizer from a folder or the hub, set to untrimmed offsets (OP-02).

    Raises `InputError` where it is not to be had, or gives no offsets.
    """
    from transformers import AutoTokenizer

    name = str(path_or_name)
    check_reachable(name, revision)
    with reading(name):
        tokenizer = AutoTokenizer.from_pretrained(name, revision=revision)
    if not getattr(tokenizer, "is_fast", False):
        raise InputError(
            "slow-tokenizer", "The tokenizer gives no offsets; use a model with a fast tokenizer (tokenizer.json)."
        )
    if backend(tokenizer).get_vocab_size(with_added_tokens=False) == 0:
        hint = f"{name!r} has no tokenizer of its own; put its tokenizer.json and tokenizer_config.json there."
        raise InputError("no-tokenizer", hint)
    untrim(tokenizer)
    return tokenizer


def untrim(tokenizer: Any) -> None:
    """Switch `trim_offsets` off, so that a token's interval holds its leading blanks (OP-02)."""
    processor = backend(tokenizer).post_processor
    if processor is None:
        return
    state = json.loads(processor.__getstate__())
    for part in [state, *state.get("processors", [])]:
        if "trim_offsets" in part:
            part["trim_offsets"] = False
    processor.__setstate__(json.dumps(state).encode())
    backend(tokenizer).post_processor = processor


def backend(tokenizer: Any) -> Any:
    """The `tokenizers.Tokenizer` inside a Hugging Face tokenizer; a bare one is returned as it is."""
    return getattr(tokenizer, "backend_tokenizer", tokenizer)


def tokenizer_hash(tokenizer: Any) -> str:
    """SHA-256 of what decides a record's tokens: the tokenizer's own file and its chat template."""
    state = json.loads(backend(tokenizer).to_str())
    state["truncation"] = state["padding"] = None
    state["chat_template"] = getattr(tokenizer, "chat_template", None)
    text = json.dumps(state, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def separator_id(tokenizer: Any) -> int:
    """The id between packed documents: what also stands before a text that is scored or attacked (OP-05, OP-50)."""
    found = prefix_id(tokenizer)
    if found is None:
        raise InputError("no-separator", "The tokenizer has neither BOS nor EOS to separate documents; set one in it.")
    return found


def prefix_id(tokenizer: Any, prefix_token: str | None = None) -> int | None:
    """The id that stands before every record: the named token, else BOS, else EOS, else None (OP-05)."""
    if prefix_token is None:
        bos = tokenizer.bos_token_id
        return bos if bos is not None else tokenizer.eos_token_id
    found = backend(tokenizer).token_to_id(prefix_token)
    if found is None:
        raise InputError(
            "unknown-prefix-token",
            f"prefix_token is {prefix_token!r}, which the tokenizer does not have as one token; name one it has.",
        )
    return found


def encode(tokenizer: Any, text: str) -> _Encoding:
    """Ids and code-point intervals of a plain text: nothing inserted, nothing taken for a control token.

    A model of whole words or unigrams may know a control token's text as a word; such a word is read in two parts.
    """
    _check_characters(text)
    ids, offsets = _encode(tokenizer, text, control=False)
    added = backend(tokenizer).get_added_tokens_decoder()
    if added.keys().isdisjoint(ids):
        return ids, offsets
    cuts = [
        start + 1
        for i, (start, end) in zip(ids, offsets, strict=True)
        if i in added and added[i].special and end - start > 1 and text[start:end] == added[i].content
    ]
    if not cuts:
        return ids, offsets
    ids, offsets = [], []
    for start, end in pairwise([0, *cuts, len(text)]):
        piece_ids, piece_offsets = encode(tokenizer, text[start:end])
        ids += piece_ids
        offsets += [(start + a, start + b) for a, b in piece_offsets]
    return ids, offsets


def tokenize_all(records: Iterable[Record], tokenizer: Any) -> list[Tokens]:
    """`tokenize` for many records; an error names the index of the record that caused it."""
    return _of_each(records, lambda record: tokenize(record, tokenizer))


def tokenize(record: Record, tokenizer: Any) -> Tokens:
    """Tokens of one record in canonical coordinates, as a Hugging Face or a bare `tokenizers` tokenizer sees it.

    In a chat, `supervised` are the tokens that share a character with an assistant's content, and the
    end-of-turn control token directly after it. A bare tokenizer has no template and reads a chat's contents
    joined by newlines. Raises `InputError` if the template refuses or rewrites the chat, if a non-blank character
    has no token (OP-02), or if there is a lone surrogate, which is no character.
    """
    _check_characters(record.content)
    if record.messages is None or not hasattr(tokenizer, "apply_chat_template"):
        tokens = _tokenize_content(record, tokenizer)
    else:
        tokens = _tokenize_chat(record, tokenizer)
    return covering(record.content, tokens)


def prompt_ids(record: Record, tokenizer: Any, reasoning_effort: str | None = None) -> list[int]:
    """Ids that a model goes on from: a chat with the beginning of its answer, or a text behind the separator (OP-05).

    Raises `InputError` as `tokenize` does.
    """
    _check_characters(record.content)
    if record.messages is None:
        return [separator_id(tokenizer), *encode(tokenizer, record.content)[0]]
    rendered = render_prompt(record, tokenizer, reasoning_effort)
    return _encode_rendered(tokenizer, rendered.text, rendered.places, control_tokens(tokenizer))[0]


def prompt_ids_all(records: Iterable[Record], tokenizer: Any, reasoning_effort: str | None = None) -> list[list[int]]:
    """`prompt_ids` for many records; an error names the index of the record that caused it."""
    return _of_each(records, lambda record: prompt_ids(record, tokenizer, reasoning_effort))


def end_ids(record: Record, tokenizer: Any) -> set[int]:
    """Ids with which a model ends an answer like this record's: EOS; a text's separator, or the end of a chat.

    The end of a chat is that of the assistant's last turn: an earlier one may end with a token that a part of an
    answer ends with, too (gpt-oss).
    """
    ends = {tokenizer.eos_token_id} - {None}
    if record.messages is None:
        return ends | {separator_id(tokenizer)}
    rendered, control = render(record, tokenizer), control_tokens(tokenizer)
    turn = control_pattern(control).findall(rendered.text, *rendered.ends[-1])
    return ends | {i for i, token in control.items() if token in turn}


def _of_each(records: Iterable[Record], function: Callable[[Record], _T]) -> list[_T]:
    found = []
    for index, record in enumerate(records):
        try:
            found.append(function(record))
        except InputError as error:
            raise InputError(error.code, f"Record {index}: {error.hint}") from None
    return found


def _tokenize_content(record: Record, tokenizer: Any) -> Tokens:
    ids, offsets = encode(tokenizer, record.content)
    starts, ends = _columns(offsets)
    return Tokens(
        ids=np.array(ids, dtype=np.int64),
        starts=starts,
        ends=ends,
        special=np.zeros(len(ids), dtype=bool),
        supervised=_overlaps_any(starts, ends, record.supervised_intervals),
    )


def _tokenize_chat(record: Record, tokenizer: Any) -> Tokens:
    messages = record.messages or ()
    rendered = render(record, tokenizer)
    places, control = rendered.places, control_tokens(tokenizer)
    ids, offsets = _encode_rendered(tokenizer, rendered.text, places, control)
    _check_no_marker_is_content(tokenizer, rendered.text, places, ids, offsets)

    shifts = [
        start + trimmed - place
        for start, trimmed, (place, _) in zip(record.message_starts, rendered.trimmed, places, strict=True)
    ]
    place_starts = [start for start, _ in places]
    n = len(ids)
    starts, ends = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    special, supervised = np.ones(n, dtype=bool), np.zeros(n, dtype=bool)
    last = 0
    for j, (start, end) in enumerate(offsets):
        overlapped = [
            m
            for m in range(max(0, bisect_right(place_starts, start) - 1), bisect_right(place_starts, end))
            if max(start, places[m][0]) < min(end, places[m][1]) and ids[j] not in control
        ]
        if overlapped:
            first, final = overlapped[0], overlapped[-1]
            starts[j] = max(start, places[first][0]) + shifts[first]
            ends[j] = min(end, places[final][1]) + shifts[final]
            special[j] = False
            supervised[j] = any(messages[m].role == "assistant" for m in overlapped)
            if supervised[j] and any(messages[m].role != "assistant" for m in overlapped):
                raise InputError(
                    "chat-token-across-turns",
                    "A token of this chat holds characters of the assistant and of another role; use a chat template "
                    "that separates the turns.",
                )
            last = max(last, int(ends[j]))
        else:
            starts[j] = ends[j] = last
            supervised[j] = any(start < b and a < end for a, b in rendered.ends)
    return Tokens(np.array(ids, dtype=np.int64), starts, ends, special, supervised)


def _encode_rendered(tokenizer: Any, rendered: str, places: list[Interval], control: dict[int, str]) -> _Encoding:
    """Ids of a rendered chat, in which only the template's own control tokens are control tokens."""
    ids, offsets = _encode(tokenizer, rendered, control=True)
    pattern = control_pattern(control)
    own = [match for a, b in _complement(places, len(rendered)) for match in pattern.finditer(rendered, a, b)]
    found = [interval for i, interval in zip(ids, offsets, strict=True) if i in control]
    genuine = len(found) == len(own) and all(
        start <= match.start() and match.end() <= end  # a token may swallow the blanks beside it
        for (start, end), match in zip(found, own, strict=True)
    )
    return (ids, offsets) if genuine else _encode_pieces(tokenizer, rendered, own, control)


def _encode_pieces(tokenizer: Any, rendered: str, own: list[re.Match[str]], control: dict[int, str]) -> _Encoding:
    """Cut at the template's own control tokens and read all between them as plain text."""
    by_text = {text: i for i, text in control.items()}
    ids: list[int] = []
    offsets: list[Interval] = []
    position = 0
    for match in [*own, None]:
        stop = match.start() if match else len(rendered)
        piece_ids, piece_offsets = encode(tokenizer, rendered[position:stop])
        ids += piece_ids
        offsets += [(position + start, position + end) for start, end in piece_offsets]
        if match:
            ids.append(by_text[match.group()])
            offsets.append(match.span())
            position = match.end()
    return ids, offsets


def _check_no_marker_is_content(
    tokenizer: Any, rendered: str, places: list[Interval], ids: list[int], offsets: list[Interval]
) -> None:
    """A marker that the tokenizer does not list as special is one token wherever it stands, in contents too."""
    frame = "".join(rendered[a:b] for a, b in _complement(places, len(rendered)))
    markers = {i for i, token in tokenizer.added_tokens_decoder.items() if not token.special and token.content in frame}
    found = [start for i, (start, _) in zip(ids, offsets, strict=True) if i in markers]
    if any(a <= start < b for start in found for a, b in places):
        raise InputError(
            "chat-marker-in-content",
            "A content of this chat holds a marker of the chat template that the tokenizer does not list as special, "
            "so it would be taken for the template's; list it as special, or take it out of the content.",
        )


def _encode(tokenizer: Any, text: str, control: bool) -> _Encoding:
    fast = backend(tokenizer)
    fast.no_truncation()
    fast.no_padding()
    before = fast.encode_special_tokens
    fast.encode_special_tokens = not control
    try:
        encoding = fast.encode(text, add_special_tokens=False)
    finally:
        fast.encode_special_tokens = before
    return encoding.ids, encoding.offsets


def _complement(places: list[Interval], length: int) -> list[Interval]:
    edges = [0, *(edge for place in places for edge in place), length]
    return list(zip(edges[::2], edges[1::2], strict=True))


def _columns(offsets: list[Interval]) -> tuple[np.ndarray, np.ndarray]:
    table = np.array(offsets, dtype=np.int64).reshape(-1, 2)
    return table[:, 0].copy(), table[:, 1].copy()


def _overlaps_any(starts: np.ndarray, ends: np.ndarray, intervals: list[Interval]) -> np.ndarray:
    found = np.zeros(len(starts), dtype=bool)
    for a, b in intervals:
        found |= np.maximum(starts, a) < np.minimum(ends, b)
    return found


def _check_characters(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            "lone-surrogate",
            f"There is half a surrogate pair at position {error.start} of the text, which is no character; "
            "decode the text again, or remove it.",
        ) from None


def covering(content: str, tokens: Tokens) -> Tokens:
    """The tokens if they cover every non-blank character, or else an error.

    Where a tokenizer composes characters (NFC), it owns up to the first alone: the others are its token's too (OP-01).
    """
    depth = np.zeros(len(content) + 1, dtype=np.int64)
    np.add.at(depth, tokens.starts[~tokens.special], 1)
    np.add.at(depth, tokens.ends[~tokens.special], -1)
    bare = [p for p in np.flatnonzero(np.cumsum(depth[:-1]) == 0).tolist() if not content[p].isspace()]
    ends = tokens.ends.copy()
    first = 0  # of the characters that may be composed
    for before, position in pairwise([-1, *bare]):
        first = first if before == position - 1 else position - 1
        owners = ~tokens.special & (ends == position) & (tokens.starts < position)
        if not owners.any() or not _composed(content[first:position], content[position]):
            raise InputError(
                "uncovered-text",
                f"The tokenizer gives no token to the character at position {position}; "
                "remove such characters or use another tokenizer.",
            )
        ends[owners] = position + 1
    return replace(tokens, ends=ends) if bare else tokens


def _composed(before: str, character: str) -> bool:
    return len(normalize("NFC", before + character)) == len(normalize("NFC", before))
