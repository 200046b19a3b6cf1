"""A chat as its template writes it: where each content stands, and where each of the assistant's turns ends.

A template's own mask of the assistant's tokens is never asked for: several stock templates answer with zeros. The
contents' places are found by rendering the same chat with sentinels. A turn of the assistant is what the rendering of
the messages up to it has beyond the rendering of those before it with the prompt to answer; it ends with the control
tokens that follow the content there and in the whole chat alike.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sm_ops.core.errors import InputError
from sm_ops.core.records import Message, Record

# A template that prints the date gives the same tokens every day.
_FIXED_DAY = (
    "{%- macro strftime_now(form) -%}{{ form | replace('%Y', '2025') | replace('%m', '01') | replace('%d', '01') "
    "| replace('%b', 'Jan') | replace('%B', 'January') }}{%- endmacro %}"
)
_OPEN, _CLOSE = "\ue0f0", "\ue0f1"
_TRIMMED = (lambda text: text, str.strip, str.lstrip, str.rstrip, *(
    lambda text, way=way: way(text, "\n") for way in (str.strip, str.lstrip, str.rstrip)
))  # fmt: skip
"""What templates do to a content, the most usual first."""

Interval = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Rendered:
    """A rendered chat: its `text`, and in it the half-open interval `places` of each message's content.

    `trimmed` counts the blanks that the template took off the front of each content. `ends` has the interval from the
    end of each assistant's content to the end of its turn.
    """

    text: str
    places: list[Interval]
    trimmed: list[int]
    ends: list[Interval]


def control_tokens(tokenizer: Any) -> dict[int, str]:
    """The tokenizer's special tokens by id."""
    return {i: token.content for i, token in tokenizer.added_tokens_decoder.items() if token.special}


def control_pattern(control: dict[int, str]) -> re.Pattern[str]:
    """Matches any control token, the longest first."""
    return re.compile("|".join(map(re.escape, sorted(control.values(), key=len, reverse=True))) or "(?!)")


def render(record: Record, tokenizer: Any) -> Rendered:
    """Render a chat and find its parts.

    Raises `InputError` where the template refuses the chat, changes its contents by more than blanks at their ends,
    or does not show where the assistant's turns begin and end.
    """
    messages = record.messages or ()
    _check_template(tokenizer)
    state = (tokenizer.get_chat_template(), tokenizer.bos_token, tokenizer.eos_token)
    roles = tuple(message.role for message in messages)
    pieces = _pieces(tokenizer, state, roles)
    text = _apply(tokenizer, [(message.role, message.content) for message in messages])
    places, trimmed = _places(messages, pieces, text)
    lengths = _lengths_of_ends(tokenizer, state, roles)
    ends = [(places[i][1], places[i][1] + length) for i, length in lengths.items()]
    return Rendered(text, places, trimmed, ends)


def render_prompt(record: Record, tokenizer: Any, reasoning_effort: str | None = None) -> Rendered:
    """Render a chat that is still to be answered, with the template's own beginning of the answer; no `ends`.

    `reasoning_effort` is what a template that knows this word is told. Raises `InputError` as `render`.
    """
    _check_template(tokenizer)
    messages = record.messages or ()
    told = {} if reasoning_effort is None else {"reasoning_effort": reasoning_effort}
    roles = tuple(message.role for message in messages)
    pieces = _cut(_apply(tokenizer, _marked(roles), prompt=True, **told), len(roles))
    text = _apply(tokenizer, [(message.role, message.content) for message in messages], prompt=True, **told)
    places, trimmed = _places(messages, pieces, text)
    return Rendered(text, places, trimmed, [])


def _check_template(tokenizer: Any) -> None:
    if not tokenizer.chat_template:
        raise InputError(
            "no-chat-template",
            "The record is a chat, but the tokenizer has no chat template; give texts, or set one in its folder.",
        )


def _places(messages: Sequence[Message], pieces: list[str], text: str) -> tuple[list[Interval], list[int]]:
    """Where each content stands between the template's pieces, and how many blanks it lost at its front."""
    places: list[Interval] = []
    trimmed: list[int] = []
    position = len(pieces[0])
    unchanged = text.startswith(pieces[0])
    for message, after in zip(messages, pieces[1:], strict=True):
        forms = (form(message.content) for form in _TRIMMED)
        form = next((form for form in forms if text.startswith(form + after, position)), None)
        if form is None:
            unchanged = False
            break
        trimmed.append(message.content.index(form))
        places.append((position, position + len(form)))
        position += len(form) + len(after)
    if not unchanged or position != len(text):
        raise InputError(
            "chat-template-rewrites",
            "The chat template rewrites the contents of this chat by more than trimming blanks, so offsets would not "
            "be exact; take out what it reacts to (such as reasoning tags), or use another template.",
        )
    return places, trimmed


@lru_cache(maxsize=64)
def _pieces(tokenizer: Any, state: tuple[Any, ...], roles: tuple[str, ...]) -> list[str]:
    """What the template writes before, between and after contents of these roles; `state` is what else it reads."""
    return _cut(_apply(tokenizer, _marked(roles)), len(roles))


def _cut(marked: str, count: int) -> list[str]:
    """A rendering of `count` sentinels without them."""
    pieces = re.split(f"{_OPEN}([0-9]+){_CLOSE}", marked)
    if pieces[1::2] != [str(index) for index in range(count)]:
        raise InputError(
            "chat-template-drops",
            "The chat template drops, repeats or reorders messages of this chat, or takes no plain strings as "
            "contents; change the chat or the template.",
        )
    return pieces[::2]


@lru_cache(maxsize=64)
def _lengths_of_ends(tokenizer: Any, state: tuple[Any, ...], roles: tuple[str, ...]) -> dict[int, int]:
    """By index of an assistant's message, the length of the end of turn after its content."""
    pieces, turns = _pieces(tokenizer, state, roles), _marked(roles)
    pattern = control_pattern(control_tokens(tokenizer))
    return {
        index: len(_end_of_turn(tokenizer, pattern, turns[: index + 1], pieces[index + 1]))
        for index, role in enumerate(roles)
        if role == "assistant"
    }


def _marked(roles: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(role, f"{_OPEN}{index}{_CLOSE}") for index, role in enumerate(roles)]


def _end_of_turn(tokenizer: Any, pattern: re.Pattern[str], turns: list[tuple[str, str]], after: str) -> str:
    """What ends the last of `turns`, an assistant's, where `after` follows its content in the whole chat."""
    mark = turns[-1][1]
    before = _apply(tokenizer, turns[:-1], prompt=True) if len(turns) > 1 else ""
    through = _apply(tokenizer, turns)
    turn = through[_shared(before, through) :]
    if mark not in turn or any(other in turn for role, other in turns if role != "assistant"):
        raise InputError(
            "chat-turn-unclear",
            "The chat template writes the messages before an answer differently once the answer follows, so the "
            "assistant's turn cannot be told from the others; use another template.",
        )
    tail = through.rpartition(mark)[2]
    prompted = _apply(tokenizer, turns, prompt=True).rpartition(mark)[2]
    versions = [_atoms(pattern, each) for each in (after, tail, prompted)]
    end = versions[0][: _shared(*versions)]
    while end and not pattern.fullmatch(end[-1]):
        end.pop()
    if not end:  # the last turn of a chat may end with a token of its own (gpt-oss)
        first = pattern.match(after)
        if first is None or not pattern.fullmatch(tail.strip()):
            raise InputError(
                "chat-no-end-of-turn",
                "The chat template writes no special token at the end of the assistant's turn, so a model could not "
                "learn to stop; use a template that does, and a tokenizer that lists the token as special.",
            )
        return first.group()
    return "".join(end)


def _atoms(pattern: re.Pattern[str], text: str) -> list[str]:
    """Control tokens as wholes, everything else by character."""
    atoms: list[str] = []
    position = 0
    for match in pattern.finditer(text):
        atoms += [*text[position : match.start()], match.group()]
        position = match.end()
    return [*atoms, *text[position:]]


def _shared(*sequences: Sequence[str]) -> int:
    """How many items at the front all sequences have in common."""
    differing = (i for i, items in enumerate(zip(*sequences, strict=False)) if len(set(items)) > 1)
    return next(differing, min(map(len, sequences)))


def _apply(tokenizer: Any, turns: Sequence[tuple[str, str]], prompt: bool = False, **told: str) -> str:
    from jinja2 import TemplateError

    template = tokenizer.get_chat_template()
    try:
        return tokenizer.apply_chat_template(
            [{"role": role, "content": content} for role, content in turns],
            chat_template=_FIXED_DAY + template if "strftime_now" in template else template,
            tokenize=False,
            add_generation_prompt=prompt,
            **told,
        )
    except (TemplateError, TypeError, ValueError, KeyError, IndexError):
        roles = ", ".join(sorted({role for role, _ in turns}))
        raise InputError(
            "chat-template-refuses",
            f"The chat template refuses this chat of {len(turns)} messages (roles: {roles}); "
            "check the order of the roles that it expects, and that it takes contents as plain strings.",
        ) from None
