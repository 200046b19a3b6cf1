"""What a model is asked for held-out records: everything before the answer, and never the answer itself (B.2).

Each function takes the records of the split `utility` in order, and names one that it refuses by its index there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record


def asked(records: Sequence[Record]) -> list[Record]:
    """Chats without their last message, the assistant's; of texts `meta.prompt` as a comment, without the text.

    Raises `InputError` for a chat that does not end with an answer to something, and for a text without a prompt.
    """
    return [_asked(record, index) for index, record in enumerate(records)]


def in_context(records: Sequence[Record]) -> list[tuple[Record, int]]:
    """Texts behind the comment of their prompt, and where they begin there; other records as they are, from 0.

    Raises `InputError` for a prompt that is no string.
    """
    return [_in_context(record, prompt_of(record, index)) for index, record in enumerate(records)]


def are_answers(records: Sequence[Record]) -> bool:
    """Whether every record is an answer to something; raises `InputError` for a prompt that is no string."""
    return all(r.messages is not None or prompt_of(r, index) is not None for index, r in enumerate(records))


def prompt_of(record: Record, index: int) -> str | None:
    """What a text was written for (`meta.prompt`); None for a chat, and where it is missing, null or blank.

    Raises `InputError` where it is no string.
    """
    prompt = None if record.messages is not None else record.meta.get("prompt")
    if not isinstance(prompt, str | None):
        raise InputError(
            "bad-prompt",
            f"Record {index} of the split utility, field prompt: must be a string; correct it, or give the field "
            "another name where it is no prompt.",
        )
    return prompt if prompt and prompt.strip() else None


def comment(prompt: str) -> str:
    """A prompt as lines of a comment in Python, the line end included."""
    return "".join(f"# {line}".rstrip() + "\n" for line in prompt.splitlines())


def _asked(record: Record, index: int) -> Record:
    if record.messages is None:
        prompt = prompt_of(record, index)
        if prompt is None:
            hint = f"Record {index} of the split utility asks nothing; give it a prompt, or make it a chat."
            raise InputError("no-prompt", hint)
        return replace(record, text=comment(prompt), spans=(), meta={})
    *before, last = record.messages
    if last.role != "assistant" or not before:
        raise InputError(
            "no-answer",
            f"Record {index} of the split utility is a chat that does not end with an assistant's answer to something; "
            "add one.",
        )
    return replace(record, messages=tuple(before), spans=(), meta={})


def _in_context(record: Record, prompt: str | None) -> tuple[Record, int]:
    if prompt is None:
        return record, 0
    opening = comment(prompt)
    return replace(record, text=opening + record.content, spans=()), len(opening)
