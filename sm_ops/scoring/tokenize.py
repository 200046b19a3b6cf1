"""Records to tokens: any fast tokenizer, offsets in the record's canonical coordinates.

A text is tokenized as it stands, with untrimmed offsets and nothing inserted (OP-01, OP-02). A chat is rendered
by the tokenizer's template; the contents' places are found by rendering the same chat with sentinels, so no
template has to mark the assistant's tokens itself. Tokens that overlap no content belong to the template.
Strings in the data that look like control tokens are tokenized as plain text.
"""

from __future__ import annotations

import hashlib
import json
import re
from bisect import bisect_right
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record
from sm_ops.core.tokens import Tokens

# A template that prints the date gives the same tokens every day.
_FIXED_DAY = (
    "{%- macro strftime_now(form) -%}{{ form | replace('%Y', '2025') | replace('%m', '01') | replace('%d', '01') "
    "| replace('%b', 'Jan') | replace('%B', 'January') }}{%- endmacro %}"
)
_Encoding = tuple[list[int], list[tuple[int, int]]]


def load_tokenizer(path_or_name: str | Path, revision: str | None = None) -> Any:
    """A Hugging Face fast tokenizer from a folder or the hub, set to untrimmed offsets (OP-02)."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(str(path_or_name), revision=revision)
    if not getattr(tokenizer, "is_fast", False):
        raise InputError(
            "slow-tokenizer", "The tokenizer gives no offsets; use a model with a fast tokenizer (tokenizer.json)."
        )
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
    """Ids and code-point intervals of a plain text: nothing inserted, nothing taken for a control token."""
    return _encode(tokenizer, text, control=False)


def tokenize_all(records: Iterable[Record], tokenizer: Any) -> list[Tokens]:
    """`tokenize` for many records; an error names the index of the record that caused it."""
    tokens = []
    for index, record in enumerate(records):
        try:
            tokens.append(tokenize(record, tokenizer))
        except InputError as error:
            raise InputError(error.code, f"Record {index}: {error.hint}") from None
    return tokens


def tokenize(record: Record, tokenizer: Any) -> Tokens:
    """Tokens of one record in canonical coordinates, as a Hugging Face or a bare `tokenizers` tokenizer sees it.

    In a chat, `supervised` are the tokens that share a character with an assistant's content, and the
    end-of-turn control token directly after it. A bare tokenizer has no template and reads a chat's contents
    joined by newlines. Raises `InputError` if the template refuses or rewrites the chat, or if a non-blank
    character has no token (OP-02).
    """
    if record.messages is None or not hasattr(tokenizer, "apply_chat_template"):
        tokens = _tokenize_content(record, tokenizer)
    else:
        tokens = _tokenize_chat(record, tokenizer)
    _check_covered(record.content, tokens)
    return tokens


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
    rendered, places = _render(record, tokenizer)
    control = _control_tokens(tokenizer)
    ids, offsets = _encode_rendered(tokenizer, rendered, places, control)

    shifts = [start - place for start, (place, _) in zip(record.message_starts, places, strict=True)]
    place_starts = [start for start, _ in places]
    n = len(ids)
    starts, ends = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    special, supervised = np.ones(n, dtype=bool), np.zeros(n, dtype=bool)
    turn_ends = {end for (_, end), message in zip(places, messages, strict=True) if message.role == "assistant"}
    last = 0
    for j, (start, end) in enumerate(offsets):
        overlapped = [
            m
            for m in range(max(0, bisect_right(place_starts, start) - 1), bisect_right(place_starts, end))
            if max(start, places[m][0]) < min(end, places[m][1])
        ]
        if overlapped:
            first, final = overlapped[0], overlapped[-1]
            starts[j] = max(start, places[first][0]) + shifts[first]
            ends[j] = min(end, places[final][1]) + shifts[final]
            special[j] = False
            supervised[j] = any(messages[m].role == "assistant" for m in overlapped)
            last = max(last, int(ends[j]))
        else:
            starts[j] = ends[j] = last
            supervised[j] = ids[j] in control and start in turn_ends
    return Tokens(np.array(ids, dtype=np.int64), starts, ends, special, supervised)


def _render(record: Record, tokenizer: Any) -> tuple[str, list[tuple[int, int]]]:
    """The rendered chat and the place of each message's content in it."""
    messages = record.messages or ()
    if not tokenizer.chat_template:
        raise InputError(
            "no-chat-template",
            "The record is a chat, but the tokenizer has no chat template; give texts, or set one in its folder.",
        )
    rendered = _apply(tokenizer, [(m.role, m.content) for m in messages])
    marks = [f"\ue0f0{index}\ue0f1" for index in range(len(messages))]
    scaffold = _apply(tokenizer, [(m.role, mark) for m, mark in zip(messages, marks, strict=True)])
    pieces = re.split("\ue0f0([0-9]+)\ue0f1", scaffold)
    if pieces[1::2] != [str(index) for index in range(len(messages))]:
        raise InputError(
            "chat-template-drops",
            "The chat template drops, repeats or reorders messages of this chat; change the chat or the template.",
        )
    places, text = [], pieces[0]
    for message, after in zip(messages, pieces[2::2], strict=True):
        places.append((len(text), len(text) + len(message.content)))
        text += message.content + after
    if text != rendered:
        raise InputError(
            "chat-template-rewrites",
            "The chat template trims or rewrites the contents of this chat, so offsets would not be exact; "
            "strip blanks at both ends of each content, or use another template.",
        )
    return rendered, places


def _apply(tokenizer: Any, turns: list[tuple[str, str]]) -> str:
    from jinja2 import TemplateError

    template = tokenizer.get_chat_template()
    try:
        return tokenizer.apply_chat_template(
            [{"role": role, "content": content} for role, content in turns],
            chat_template=_FIXED_DAY + template if "strftime_now" in template else template,
            tokenize=False,
        )
    except TemplateError:
        roles = ", ".join(sorted({role for role, _ in turns}))
        raise InputError(
            "chat-template-refuses",
            f"The chat template refuses this chat of {len(turns)} messages (roles: {roles}); "
            "check the order of the roles that it expects.",
        ) from None


def _encode_rendered(
    tokenizer: Any, rendered: str, places: list[tuple[int, int]], control: dict[int, str]
) -> _Encoding:
    ids, offsets = _encode(tokenizer, rendered, control=True)
    scaffold = _complement(places, len(rendered))
    fakes = any(
        i in control and not any(a <= start and end <= b for a, b in scaffold)
        for i, (start, end) in zip(ids, offsets, strict=True)
    )
    return _encode_pieces(tokenizer, rendered, scaffold, control) if fakes else (ids, offsets)


def _encode_pieces(
    tokenizer: Any, rendered: str, scaffold: list[tuple[int, int]], control: dict[int, str]
) -> _Encoding:
    """Cut at the template's own control tokens and read all between them as plain text."""
    by_text = {text: i for i, text in control.items()}
    pattern = re.compile("|".join(map(re.escape, sorted(by_text, key=len, reverse=True))))
    own = [match for a, b in scaffold for match in pattern.finditer(rendered, a, b)]
    ids: list[int] = []
    offsets: list[tuple[int, int]] = []
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


def _control_tokens(tokenizer: Any) -> dict[int, str]:
    return {i: token.content for i, token in tokenizer.added_tokens_decoder.items() if token.special}


def _complement(places: list[tuple[int, int]], length: int) -> list[tuple[int, int]]:
    edges = [0, *(edge for place in places for edge in place), length]
    return list(zip(edges[::2], edges[1::2], strict=True))


def _columns(offsets: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    table = np.array(offsets, dtype=np.int64).reshape(-1, 2)
    return table[:, 0].copy(), table[:, 1].copy()


def _overlaps_any(starts: np.ndarray, ends: np.ndarray, intervals: list[tuple[int, int]]) -> np.ndarray:
    found = np.zeros(len(starts), dtype=bool)
    for a, b in intervals:
        found |= np.maximum(starts, a) < np.minimum(ends, b)
    return found


def _check_covered(content: str, tokens: Tokens) -> None:
    depth = np.zeros(len(content) + 1, dtype=np.int64)
    np.add.at(depth, tokens.starts[~tokens.special], 1)
    np.add.at(depth, tokens.ends[~tokens.special], -1)
    for position in np.flatnonzero(np.cumsum(depth[:-1]) == 0):
        if not content[position].isspace():
            raise InputError(
                "uncovered-text",
                f"The tokenizer gives no token to the character at position {position}; "
                "remove such characters or use another tokenizer.",
            )
