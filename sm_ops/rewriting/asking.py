"""Many calls of one endpoint: some at a time, each answer kept, each text listed, nothing lost when one fails."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from threading import Event

from sm_ops.core import fs
from sm_ops.core.errors import InputError
from sm_ops.core.types import Progress, unheard
from sm_ops.rewriting.endpoint import Answer, Endpoint, Messages
from sm_ops.rewriting.journal import Journal, SentLog

JOURNAL = "journal.jsonl"


@dataclass(frozen=True)
class Call:
    """A chat to be sent, and the texts of the data in it, by which it is listed."""

    messages: Messages
    texts: Sequence[str]


@dataclass(frozen=True)
class Usage:
    """Calls and their tokens; None where an endpoint did not report them."""

    calls: int = 0
    input_tokens: int | None = 0
    cached_tokens: int | None = 0
    output_tokens: int | None = 0

    @classmethod
    def of(cls, answers: Iterable[Answer]) -> Usage:
        """What answers took together."""
        answers = list(answers)
        names = ("input_tokens", "cached_tokens", "output_tokens")
        return cls(len(answers), *(_sum([getattr(answer, name) for answer in answers]) for name in names))


class Asker:
    """An endpoint with its journal in a step's scratch folder and its list in the home."""

    def __init__(self, endpoint: Endpoint, scratch: Path, home: Path, purpose: str, at_once: int) -> None:
        self._endpoint, self._at_once = endpoint, at_once
        self._journal = Journal(scratch / JOURNAL)
        self._sent = SentLog(home, endpoint, purpose)

    def ask(self, calls: Sequence[Call], progress: Progress = unheard) -> list[Answer]:
        """The answers in the order of the calls.

        Raises the first `InputError`; what was under way by then is waited for and kept, the rest is not sent.
        """
        answers: dict[int, Answer] = {}
        failed: InputError | None = None
        stop = Event()
        with ThreadPoolExecutor(self._at_once) as pool:
            futures: dict[Future[Answer | None], int] = {
                pool.submit(self._one, call, stop): number for number, call in enumerate(calls)
            }
            for future in as_completed(futures):
                try:
                    answer = future.result()
                except InputError as error:
                    failed = failed or error
                    continue
                if answer is not None:
                    answers[futures[future]] = answer
                    progress(len(answers), len(calls))
        if failed is not None:
            kept = f" ({len(answers)} of {len(calls)} calls of this part are answered and kept)"
            raise InputError(failed.code, failed.hint.rstrip(".") + kept + ".")
        return [answers[number] for number in range(len(calls))]

    def _one(self, call: Call, stop: Event) -> Answer | None:
        if stop.is_set():
            return None
        body = self._endpoint.body(call.messages)
        digest = fs.sha256(fs.canonical_json({"to": self._endpoint.address, "body": body}))
        if known := self._journal.get(digest):
            return known
        try:
            answer = self._endpoint.ask(body, lambda attempt: self._sent.line(digest, call.texts, attempt))
        except InputError:
            stop.set()
            raise
        self._journal.put(digest, answer)
        return answer


def _sum(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None
