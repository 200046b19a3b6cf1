"""A language model behind a service: JSON over HTTP, next-token log probabilities and the tokenizer, nothing more.

The protocol is described in docs/how-to/black-box.md. Everything that an attack asks beyond it is made of next-token
log probabilities.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import numpy as np

from sm_ops.core.errors import InputError
from sm_ops.scoring.language_model import LanguageModel

NUMBERS = 1_000_000
"""Log probabilities of one answer at most (one context has a whole vocabulary of them): about 20 MB of JSON."""
NORMALISED = 1e-3
"""How far the probabilities of a context may be from 1 in sum."""
DEFAULTS = {"timeout": 60.0}
"""What `load` reads beside the address: seconds for one answer."""


def load(settings: Any) -> ServiceModel:
    """The model whose service answers at `settings.model`, an address that begins with http:// or https://.

    Reads `settings.timeout` (seconds for one answer) where it is given.
    """
    return ServiceModel(str(settings.model), getattr(settings, "timeout", DEFAULTS["timeout"]))


class ServiceModel(LanguageModel):
    """A model that is asked over HTTP. Every failure is an `InputError`, none of which repeats a text or an answer."""

    def __init__(self, url: str, timeout: float = DEFAULTS["timeout"]) -> None:
        """Ask what the model is; `timeout` is in seconds, for each answer."""
        if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout < float("inf"):
            raise InputError("bad-timeout", "The service's timeout must be a positive number of seconds.")
        if urlsplit(url).scheme not in ("http", "https"):
            raise InputError("bad-service", "The service's address must begin with http:// or https://.")
        self._url, self._timeout = url.rstrip("/"), timeout
        about = self._ask("")
        self.context, self.vocabulary = (_count(about.get(name), name) for name in ("context", "vocabulary"))
        self.prefix = tuple(self._ids(about.get("prefix"), "prefix"))
        self.end = None if about.get("end") is None else self._ids([about["end"]], "end")[0]

    def encode(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """See `LanguageModel`."""
        answer = self._ask("encode", {"texts": [text]})
        ids = self._ids(_only(answer.get("ids"), "ids"), "ids")
        offsets = _only(answer.get("offsets"), "offsets")
        if not (_are(offsets, list, len(ids)) and all(_are(pair, int, 2) for pair in offsets)):
            raise _wrong("offsets", "one [start, end] for each id")
        if not all(0 <= start <= end <= len(text) for start, end in offsets):
            raise _wrong("offsets", "intervals of the text, in code points")
        return ids, [(start, end) for start, end in offsets]

    def decode(self, ids: Sequence[int]) -> str:
        """See `LanguageModel`."""
        text = _only(self._ask("decode", {"ids": [[int(i) for i in ids]]}).get("texts"), "texts")
        if not isinstance(text, str):
            raise _wrong("texts", "a list of one text")
        return text

    def next_logprobs(self, contexts: Sequence[Sequence[int]]) -> np.ndarray:
        """See `LanguageModel`; asked in parts of so many contexts that an answer stays within `NUMBERS`."""
        step = max(1, NUMBERS // self.vocabulary)
        parts = [self._next(contexts[top : top + step]) for top in range(0, len(contexts), step)]
        return np.concatenate(parts) if parts else np.empty((0, self.vocabulary))

    def _next(self, contexts: Sequence[Sequence[int]]) -> np.ndarray:
        rows: Any = self._ask("next", {"contexts": [[int(i) for i in own] for own in contexts]}).get("logprobs")
        try:
            values = np.array([[-np.inf if value is None else value for value in row] for row in rows], np.float64)
        except (TypeError, ValueError, OverflowError):
            values = np.empty(0)
        if values.shape != (len(contexts), self.vocabulary):
            raise _wrong("logprobs", f"{self.vocabulary} numbers for each context")
        with np.errstate(over="ignore"):
            off = abs(np.exp(values).sum(axis=1) - 1)
        if not (off <= NORMALISED).all():  # NaN is not
            raise _wrong("logprobs", "the natural logarithms of probabilities that sum to 1")
        return values

    def _ids(self, found: Any, name: str) -> list[int]:
        if not _are(found, int) or not all(0 <= each < self.vocabulary for each in found):
            raise _wrong(name, f"ids from 0 to {self.vocabulary - 1}")
        return found

    def _ask(self, path: str, question: dict[str, Any] | None = None) -> dict[str, Any]:
        """The JSON object that the service answers: GET without a question, else POST."""
        body = None if question is None else json.dumps(question).encode()
        request = Request(f"{self._url}/{path}", body, {"Content-Type": "application/json"})
        try:
            with urlopen(request, timeout=self._timeout) as response:
                answer = json.load(response)
        except HTTPError as error:
            hint = f"The service answered /{path} with status {error.code}; see its own log."
            raise InputError("service-refused", hint) from None
        except TimeoutError:
            raise self._silent(path) from None
        except (OSError, HTTPException) as error:
            if isinstance(getattr(error, "reason", None), TimeoutError):
                raise self._silent(path) from None
            hint = "The service is not to be reached at its address; check that it runs, and the address."
            raise InputError("service-unreachable", hint) from None
        except (ValueError, RecursionError):
            raise InputError("bad-service", f"The service's answer to /{path} is no JSON; see the protocol.") from None
        if not isinstance(answer, dict):
            raise InputError("bad-service", f"The service's answer to /{path} is no JSON object; see the protocol.")
        return answer

    def _silent(self, path: str) -> InputError:
        hint = f"The service did not answer /{path} within {self._timeout:g} s; see whether it is overloaded."
        return InputError("service-timeout", hint)


def _are(found: Any, kind: type, length: int | None = None) -> bool:
    """Whether it is a list of values of a type (no truth values), of a length."""
    right = isinstance(found, list) and all(isinstance(each, kind) and not isinstance(each, bool) for each in found)
    return right and length in (None, len(found))


def _only(found: Any, name: str) -> Any:
    if not isinstance(found, list) or len(found) != 1:
        raise _wrong(name, "a list of one entry, as one was asked for")
    return found[0]


def _count(found: Any, name: str) -> int:
    if not _are([found], int) or found < 1:
        raise _wrong(name, "a positive integer")
    return found


def _wrong(name: str, expected: str) -> InputError:
    return InputError("bad-service", f"The service's {name} must be {expected}; see docs/how-to/black-box.md.")
