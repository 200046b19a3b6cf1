"""What an audit puts before an attack: the training records as they were before any defence, and what else it has.

Rows that attacks give back hold names, counts and numbers. A string appears as its class, its length and a keyed
fingerprint, never as itself.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from sm_ops.core.records import Record
from sm_ops.core.sensitive import Sensitive
from sm_ops.detectors.detector import Detector
from sm_ops.scoring.language_model import LanguageModel

Row = dict[str, Any]
"""One outcome of an attack as JSON: names and numbers."""


class Canary(Protocol):
    """A private value whose extraction is measured."""

    @property
    def id(self) -> str:
        """Its name in records and reports."""
        ...

    @property
    def kind(self) -> str:
        """The kind of value it is."""
        ...

    @property
    def value(self) -> Sensitive[str]:
        """The value itself."""
        ...


@dataclass(frozen=True, slots=True)
class Mention:
    """A labelled place of a record: half-open code points of its `content`; `value` is what is compared (OP-52)."""

    record: int
    start: int
    end: int
    label: str
    value: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Shadow:
    """A model that an attacker trained on records of the same kind, and the ids of those that it saw."""

    model: LanguageModel
    seen: frozenset[str]


@dataclass(frozen=True)
class Material:
    """Everything beside the attacked model.

    `records` are the members: what the model was trained on, before any defence, with the spans of the audit's
    tagger. `others` are records of the same kind that it never saw. `tagger` finds mentions in generated texts, with
    the labels of `records`. `classes` are those attacked (none: all); around a slot the spans of every class are
    masked. `fill` puts a likely text in place of each residual mask of a text.
    """

    records: Sequence[Record]
    others: Sequence[Record] = ()
    tagger: Detector | None = None
    canaries: Sequence[Canary] = ()
    fill: Callable[[Sequence[str]], list[str]] | None = None
    shadows: Sequence[Shadow] = ()
    classes: Sequence[str] = ()

    def attacked(self, label: str) -> bool:
        """Whether values of this class are attacked."""
        return not self.classes or label in self.classes

    @cached_property
    def mentions(self) -> list[Mention]:
        """The members' mentions of the attacked classes, in order; those without a visible character are left out."""
        return [
            Mention(number, start, end, label, value)
            for number, record in enumerate(self.records)
            for start, end, label in record.content_spans
            if self.attacked(label) and (value := compared(record.content[start:end]))
        ]

    @cached_property
    def key(self) -> bytes:
        """The key of the fingerprints: made of the members' texts, so that only who has them can look one up."""
        texts = sorted(hashlib.sha256(record.content.encode()).digest() for record in self.records)
        return hashlib.blake2b(b"".join(texts), digest_size=32, person=b"fingerprints").digest()

    def fingerprint(self, label: str, value: str) -> str:
        """Twelve hexadecimal digits that stand for a value of a class."""
        text = f"{label}\x1f{value}".encode()
        return hashlib.blake2b(text, digest_size=6, key=self.key).hexdigest()


def compared(text: str) -> str:
    """A mention as strings are compared: NFC, without outer whitespace, case kept (OP-52)."""
    return unicodedata.normalize("NFC", text).strip()
