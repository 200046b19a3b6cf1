"""Greedy answers of a model to many documents: in batches, with a key-value cache, free or bound to the grammar."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from sm_ops.core import fs
from sm_ops.core.errors import InputError
from sm_ops.core.types import Progress, unheard
from sm_ops.pii.extractor.grammar import Rows, State, Vocabulary
from sm_ops.pii.extractor.marking import Marking, require_marks
from sm_ops.pii.extractor.supervision import Question, questions
from sm_ops.pii.extractor.windows import windows
from sm_ops.scoring import prefix_cache


def extract(
    model: Any,
    tokenizer: Any,
    sources: Sequence[str],
    reading: Any,
    settings: Any,
    progress: Progress = unheard,
) -> list[str]:
    """What the model answers to each text (in NFC), as raw text without the end of the turn.

    `reading`: window (characters read at a time; None: whole texts), think (`none` or `marked`, as it was tuned).
    `settings`: context (of question and answer, in tokens), max_new_tokens, token_budget (positions of a batch,
    padding and answers included; a batch has at least one row), decoding: `free`, or `constrained` to values that
    stand in the text, where a row that the limit cuts is left out and thinking is not told. Batches depend on the
    texts and the budget alone.
    """
    import torch

    _check_positions(model, settings.context)
    cuts = [windows(source, reading.window) for source in sources]
    pieces = [source[start:end] for source, own in zip(sources, cuts, strict=True) for start, end in own]
    asked = questions(pieces, tokenizer, settings.context, settings.max_new_tokens)
    writer = _writer(tokenizer, settings.decoding, reading.think)
    answers: list[str] = [""] * len(pieces)
    done = 0
    training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            for batch in _batches(asked, settings.token_budget, settings.max_new_tokens):
                writers = [writer(pieces[i], asked[i].end) for i in batch]
                _decode(model, [asked[i] for i in batch], writers, settings.max_new_tokens)
                for i, each in zip(batch, writers, strict=True):
                    answers[i] = each.text()
                done += len(batch)
                progress(done, len(pieces))
    finally:
        model.train(training)
    left = iter(answers)
    return [_joined([next(left) for _ in own]) for own in cuts]


def _joined(answers: list[str]) -> str:
    """A document's answer: its windows' rows in order, each once; a whole document's is left as it is."""
    if len(answers) == 1:
        return answers[0]
    return "\n".join(dict.fromkeys(row for answer in answers for row in answer.split("\n") if row))


def _writer(tokenizer: Any, decoding: str, think: str) -> Callable[[str, int], Any]:
    """What chooses the tokens of an answer, given the piece's text and the end of a turn."""
    if decoding == "free":
        return lambda source, end: _Free(tokenizer, end)
    if think == "marked":
        require_marks(tokenizer)
        return lambda source, end: _Marked(source, tokenizer)
    vocabulary = Vocabulary(tokenizer)
    return lambda source, end: _Constrained(Rows(source, vocabulary), end)


class _Free:
    """Takes the likeliest token until the end of the turn."""

    def __init__(self, tokenizer: Any, end: int) -> None:
        self._tokenizer, self._end = tokenizer, end
        self._ids: list[int] = []

    def choose(self, logits: Any) -> int | None:
        """The next token by its logits (V,), or None at the end."""
        chosen = int(logits.argmax())
        if chosen == self._end:
            return None
        self._ids.append(chosen)
        return chosen

    def text(self) -> str:
        """What has been written."""
        return self._tokenizer.decode(self._ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)


class _Constrained:
    """Takes the likeliest token of those that the grammar allows."""

    def __init__(self, rows: Rows, end: int) -> None:
        self._rows, self._end = rows, end
        self._state = State()

    def choose(self, logits: Any) -> int | None:
        """The next token by its logits (V,), or None at the end, which also is where nothing is allowed."""
        allowed = self._rows.allowed(self._state)
        if self._rows.may_end(self._state):
            allowed.append(self._end)
        chosen = allowed[int(logits[allowed].argmax())] if allowed else self._end
        if chosen == self._end:
            self._state = self._rows.ended(self._state)
            return None
        self._state = self._rows.after(self._state, chosen)
        return chosen

    def text(self) -> str:
        """The whole rows that have been written."""
        return "\n".join("\t".join(row) for row in self._state.rows)


class _Marked:
    """Marks the text; what is marked are the rows."""

    def __init__(self, source: str, tokenizer: Any) -> None:
        self._marking = Marking(source, tokenizer)
        self.choose = self._marking.choose

    def text(self) -> str:
        """The rows of the marks that are closed."""
        return "\n".join(dict.fromkeys("\t".join(row) for row in self._marking.rows))


def _batches(asked: Sequence[Question], token_budget: int, room: int) -> Iterator[list[int]]:
    """Indices of the questions that are answered together: the longest first, equally long ones by their digest."""
    order = sorted(range(len(asked)), key=lambda i: (-len(asked[i].ids), fs.sha256(asked[i].ids.tobytes())))
    batch: list[int] = []
    for i in order:
        if batch and (len(batch) + 1) * (len(asked[batch[0]].ids) + room) > token_budget:
            yield batch
            batch = []
        batch.append(i)
    if batch:
        yield batch


def _decode(model: Any, asked: Sequence[Question], writers: Sequence[Any], limit: int) -> None:
    """Let each writer choose up to `limit` tokens; questions are padded on the left, rows that ended are dropped."""
    import torch

    width = max(len(each.ids) for each in asked)
    ids = torch.zeros((len(asked), width), dtype=torch.long)
    present = torch.zeros_like(ids)
    for row, each in enumerate(asked):
        ids[row, width - len(each.ids) :] = torch.from_numpy(each.ids)
        present[row, width - len(each.ids) :] = 1
    ids, present = ids.to(model.device), present.to(model.device)
    name, cache = prefix_cache.argument(model), None
    positions = (present.cumsum(1) - 1).clamp(min=0)
    for _ in range(limit):
        past = {} if cache is None else {name: cache}
        output = model(ids, attention_mask=present, position_ids=positions, use_cache=True, logits_to_keep=1, **past)
        chosen = [writer.choose(logits) for writer, logits in zip(writers, output.logits[:, -1], strict=True)]
        going = [row for row, token in enumerate(chosen) if token is not None]
        if not going:
            return
        cache = output[name]
        writers = [writers[row] for row in going]
        kept = torch.tensor(going, device=model.device)
        if len(going) < len(chosen):
            cache.batch_select_indices(kept)
        ids = torch.tensor([[chosen[row]] for row in going], device=model.device)
        present = torch.cat([present[kept], torch.ones_like(ids)], dim=1)
        positions = positions[kept, -1:] + 1


def _check_positions(model: Any, context: int) -> None:
    positions = getattr(model.config.get_text_config(), "max_position_embeddings", context)
    if context > positions:
        hint = f"context is {context}, but the model has {positions} positions; lower it."
        raise InputError("context-too-long", hint)
