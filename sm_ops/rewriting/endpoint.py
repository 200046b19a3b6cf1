"""One chat endpoint of the kind that OpenAI's API defines: `POST URL/chat/completions`, and what each call used.

The key comes from an environment variable at the moment of the call and is kept nowhere. No failure repeats a text, an
answer or the key. Redirects are refused, because they would carry key and text to an address that nobody named.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.message import Message
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from sm_ops.core.errors import InputError
from sm_ops.core.settings import Settings

PASSING = frozenset({408, 409, 429, 500, 502, 503, 504, 529})
"""Statuses of a service that is busy or restarting: the same call may go well later."""
REDIRECTS = frozenset({301, 302, 303, 307, 308})
LONGEST_PAUSE = 60.0
LARGEST = 8 << 20
"""Bytes of an answer that are read; the longest text that a chat gives is a small part of it."""
LOOPBACK = ("localhost", "127.0.0.1", "::1")

Messages = list[dict[str, str]]


@dataclass(frozen=True)
class Answer:
    """What a call brought: the text, and tokens in all, of these from a cache, and written (None: not reported)."""

    text: str
    input_tokens: int | None
    cached_tokens: int | None
    output_tokens: int | None


class Endpoint:
    """A role's endpoint: `rewriter`, `attacker` or `judge`."""

    def __init__(self, role: str, settings: Settings) -> None:
        """`settings` are those of `endpoints.ROLE`; `InputError` where none is named, or its key is not there."""
        self.role, self._settings, self._calls = role, settings, settings.calls
        if settings.url is None:
            raise InputError(
                "no-endpoint",
                f"No endpoint is named for the {role}, so nothing was sent; name one with endpoints.{role}.url and "
                f"endpoints.{role}.model.",
            )
        self.address = address(settings.url)
        self.model = settings.model
        self._key()
        self._opener = build_opener(_NoRedirects)

    def body(self, messages: Messages) -> dict[str, Any]:
        """The request of a chat; with the address it decides the answer."""
        return {
            "model": self.model,
            "messages": messages,
            "temperature": self._settings.temperature,
            self._settings.limit: self._settings.max_tokens,
        }

    def ask(self, body: Mapping[str, Any], sending: Callable[[int], None]) -> Answer:
        """Send a request until it is answered, `calls.attempts` times at most; `sending(attempt)` comes before each."""
        for attempt in range(1, self._calls.attempts + 1):
            sending(attempt)
            try:
                return self._read(self._send(body))
            except _Passing as passing:
                if attempt == self._calls.attempts:
                    raise InputError("endpoint-failed", self._failed(passing.reason, attempt)) from None
                time.sleep(min(LONGEST_PAUSE, passing.wait or self._calls.pause * 2 ** (attempt - 1)))
        raise AssertionError("there is at least one attempt")

    def _send(self, body: Mapping[str, Any]) -> Any:
        headers = {"Content-Type": "application/json"}
        if key := self._key():
            headers["Authorization"] = f"Bearer {key}"
        request = Request(f"{self.address}/chat/completions", json.dumps(body).encode(), headers)
        try:
            with self._opener.open(request, timeout=self._calls.timeout) as response:
                return json.loads(self._whole(response))
        except HTTPError as error:
            if error.code in PASSING:
                raise _Passing(f"answered with status {error.code}", _asked_to_wait(error.headers)) from None
            raise InputError("endpoint-refused", self._refused(error.code)) from None
        except TimeoutError:
            raise _Passing(f"did not answer within {self._calls.timeout:g} s") from None
        except (OSError, HTTPException) as error:
            late = isinstance(getattr(error, "reason", None), TimeoutError)
            reason = f"did not answer within {self._calls.timeout:g} s" if late else "is not to be reached"
            raise _Passing(reason) from None
        except (ValueError, RecursionError):
            raise self._wrong("is no JSON") from None

    def _whole(self, response: Any) -> bytes:
        """The body, read within the time of one call and within bounds, however slowly it trickles."""
        end, body = time.monotonic() + self._calls.timeout, b""
        while piece := response.read1(1 << 16):
            body += piece
            if len(body) > LARGEST:
                raise self._wrong(f"has more than {LARGEST >> 20} MiB")
            if time.monotonic() > end:
                raise TimeoutError
        return body

    def _read(self, answer: Any) -> Answer:
        try:
            choice = answer["choices"][0]
            text, reason = choice["message"]["content"], choice.get("finish_reason")
        except (KeyError, IndexError, TypeError, AttributeError):
            raise self._wrong("has no choices[0].message.content") from None
        if reason == "length":
            hint = f"The {self.role}'s answer was cut at {self._settings.max_tokens} tokens; raise endpoints."
            raise InputError("answer-cut", f"{hint}{self.role}.max_tokens and run the same command again.")
        if not isinstance(text, str):
            raise self._wrong("has no text in choices[0].message.content")
        usage = answer.get("usage") or {}
        details = usage.get("prompt_tokens_details") or {}
        total = _count(usage.get("prompt_tokens"))
        cached = _count(details.get("cached_tokens", 0))
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # JSON can hold half a pair
        return Answer(text, total, cached if total is not None else None, _count(usage.get("completion_tokens")))

    def _key(self) -> str | None:
        name = self._calls.key
        if name is None:
            return None
        key = os.environ.get(name, "").strip()
        if not key:
            raise InputError(
                "no-key", f"The environment variable {name} holds no key for the {self.role}; set it, and nothing else."
            )
        if not (key.isascii() and key.isprintable()):
            raise InputError(
                "bad-key", f"The key in {name} holds a line end or a character that no header can; set the key alone."
            )
        parts = urlsplit(self.address)
        if parts.scheme == "http" and parts.hostname not in LOOPBACK:
            raise InputError(
                "key-in-clear", f"endpoints.{self.role}.url begins with http://, which would send the key in clear; "
                "take https://.",
            )
        return key

    def _failed(self, reason: str, attempts: int) -> str:
        return (
            f"The {self.role}'s endpoint {reason} at {attempts} attempts; what was answered is kept, so run the same "
            "command again."
        )

    def _refused(self, status: int) -> str:
        if status in REDIRECTS:
            return (
                f"The {self.role}'s endpoint leads to another address (status {status}), which is not followed: texts "
                f"go to no address that the config does not name; name that one as endpoints.{self.role}.url."
            )
        advice = {
            401: "check the key",
            403: "check the key and what it may do",
            404: "check the address and the model's name",
        }.get(status, "see the service's own log; check the model's name and the settings")
        return f"The {self.role}'s endpoint refused the call with status {status}; {advice}."

    def _wrong(self, what: str) -> InputError:
        hint = f"The answer of the {self.role}'s endpoint {what}; it must speak OpenAI's chat completions."
        return InputError("bad-endpoint", hint)


class _Passing(Exception):
    """A failure that may pass: what happened, and how many seconds the service asks to wait."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        self.reason, self.wait = reason, wait


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


def address(url: str) -> str:
    """An endpoint's address without its last slash; `InputError` unless it is plain http or https."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InputError("bad-endpoint", "An endpoint's url begins with https:// or http:// and names a host.")
    if parts.username or parts.password or parts.query or parts.fragment:
        hint = "An endpoint's url holds no user, password, query or fragment; a key comes from an environment variable."
        raise InputError("bad-endpoint", hint)
    return url.rstrip("/")


def _asked_to_wait(headers: Message | None) -> float | None:
    try:
        return max(0.0, float((headers or {}).get("Retry-After") or ""))
    except ValueError:  # absent, or a date
        return None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
