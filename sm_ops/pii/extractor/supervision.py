"""What of each chat is learned, verified on the real tokenizer and template before anything is trained.

The rows and the end of the turn are learned, nothing else; an empty answer still teaches to end. What a model is
asked when it extracts is the same chat up to its answer, token for token.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sm_ops.core.errors import InputError
from sm_ops.masking.labels import IGNORED
from sm_ops.pii.extractor.prompt import chat
from sm_ops.pii.text import normalise_source
from sm_ops.scoring.chats import control_tokens
from sm_ops.scoring.tokenize import tokenize
from sm_ops.training.masked import Example


@dataclass(frozen=True, slots=True)
class Question:
    """A chat up to its answer: its token `ids` (int64), and the token that ends an answer."""

    ids: np.ndarray
    end: int


def questions(sources: Sequence[str], tokenizer: Any, context: int, room: int = 1) -> list[Question]:
    """What the model is asked about each text (in NFC).

    Raises `InputError` where a question and an answer of `room` tokens exceed `context` tokens.
    """
    found = [_question(index, source, tokenizer) for index, source in enumerate(sources)]
    _check_lengths([len(each.ids) + room for each in found], context)
    return found


def examples(documents: Sequence[Mapping[str, Any]], tokenizer: Any, context: int) -> list[Example]:
    """The documents' chats, of which the answer is learned; every one of them is verified.

    Of a document `id`, `source_text` and `target_tsv` are read (G2). Raises `InputError` with the index of the first
    document whose chat is longer than `context` tokens, teaches something else than its rows and the end of the turn,
    or asks otherwise than in extraction.
    """
    found = [_example(index, document, tokenizer) for index, document in enumerate(documents)]
    _check_lengths([len(each.ids) for each in found], context)
    return found


def _question(index: int, source: str, tokenizer: Any) -> Question:
    ids, learned = _tokens(index, source, "", tokenizer)
    if not len(learned):
        raise _wrong(index, "the end of an empty answer is not learned; the model could never learn to say nothing")
    return Question(ids[: learned[0]], int(ids[learned[0]]))


def _example(index: int, document: Mapping[str, Any], tokenizer: Any) -> Example:
    source, target = normalise_source(document["source_text"], f"document {index}"), document["target_tsv"]
    ids, learned = _tokens(index, source, target, tokenizer)
    question = _question(index, source, tokenizer)
    if not len(learned) or np.any(np.diff(learned) != 1):
        raise _wrong(index, "the learned tokens are not one piece at the end of the chat")
    answer = ids[learned].tolist()
    control = control_tokens(tokenizer)
    size = next((place for place, each in enumerate(answer) if each in control), len(answer))
    rows, end = answer[:size], answer[size:]
    if not end or end[0] != question.end or not control.keys() >= set(end):
        raise _wrong(index, "the token that ends the turn is not learned right after the rows")
    if _decode(tokenizer, rows) != target:
        raise _wrong(index, "the learned tokens decode to something else than the rows of the document")
    if not np.array_equal(ids[: learned[0]], question.ids):
        raise _wrong(index, "the question reads differently once an answer follows, or shares a token with it")
    if not _decode(tokenizer, question.ids.tolist()).startswith(_prompt(source, tokenizer)):
        raise _wrong(index, "the template's own prompt for an answer is not what stands before the answer in training")
    labels = np.full(len(ids), IGNORED)
    labels[learned] = ids[learned]
    return Example(document["id"], ids, labels, np.zeros(len(ids), bool))


def _tokens(index: int, source: str, target: str, tokenizer: Any) -> tuple[np.ndarray, np.ndarray]:
    """Ids of the chat, and the places of those that are learned."""
    try:
        tokens = tokenize(chat(str(index), source, target), tokenizer)
    except InputError as error:
        raise InputError(error.code, f"Document {index}: {error.hint}") from None
    return tokens.ids, np.flatnonzero(tokens.supervised)


def _prompt(source: str, tokenizer: Any) -> str:
    """What the template writes for a model that is about to answer, without thinking where it knows the switch."""
    turns = [{"role": each.role, "content": each.content} for each in (chat("", source).messages or ())[:-1]]
    return tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True, enable_thinking=False)


def _decode(tokenizer: Any, ids: list[int]) -> str:
    return tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)


def _check_lengths(lengths: Sequence[int], context: int) -> None:
    long = [index for index, length in enumerate(lengths) if length > context]
    if long:
        raise InputError(
            "document-too-long",
            f"Document {long[0]} has {lengths[long[0]]} tokens with its question and answer, more than the context of "
            f"{context}, as have {len(long)} of {len(lengths)}; raise context, or cut the documents.",
        )


def _wrong(index: int, what: str) -> InputError:
    return InputError(
        "answer-not-verified",
        f"Document {index}: {what}; use another chat template or tokenizer.",
    )
