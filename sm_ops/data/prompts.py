"""What a model is asked for a held-out record: everything before the answer, and never the answer itself (B.2)."""

from __future__ import annotations

from dataclasses import replace

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record


def asked(record: Record) -> Record:
    """A chat without its last message, the assistant's; a text's `meta.prompt` as a comment, without the text.

    Raises `InputError` for a chat that does not end with an answer to something, and for a text without a prompt.
    """
    if record.messages is None:
        return replace(record, text=comment(_prompt(record)), spans=(), meta={})
    *before, last = record.messages
    if last.role != "assistant" or not before:
        raise InputError(
            "no-answer", "A chat of the utility split does not end with an assistant's answer to something; add one."
        )
    return replace(record, messages=tuple(before), spans=(), meta={})


def has_prompt(record: Record) -> bool:
    """Whether a record is an answer to something."""
    return record.messages is not None or "prompt" in record.meta


def in_context(record: Record) -> tuple[Record, int]:
    """A text behind the comment of its prompt, and where it begins there; other records as they are, from 0."""
    if record.messages is not None or "prompt" not in record.meta:
        return record, 0
    opening = comment(_prompt(record))
    return replace(record, text=opening + record.content, spans=()), len(opening)


def comment(prompt: str) -> str:
    """A prompt as lines of a comment in Python, the line end included."""
    return "".join(f"# {line}".rstrip() + "\n" for line in prompt.splitlines())


def _prompt(record: Record) -> str:
    if not record.meta.get("prompt"):
        raise InputError(
            "no-prompt", "A text of the utility split has no meta.prompt, so nothing can be asked for; give it one."
        )
    return record.meta["prompt"]
