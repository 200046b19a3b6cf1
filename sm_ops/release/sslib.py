"""securesystemslib without the cloud clients that it would load wherever they are installed.

Its signers for key services import boto3 when they can, a third of a second that whoever verifies need not have.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class _Absent:
    """Says that a package is not there, to the imports of one thread."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._thread = threading.get_ident()

    def find_spec(self, name: str, *_: Any) -> None:
        if name == self._name and threading.get_ident() == self._thread:
            raise ModuleNotFoundError(name=name)


@contextmanager
def _without(name: str) -> Iterator[None]:
    absent = _Absent(name)
    sys.meta_path.insert(0, absent)
    try:
        yield
    finally:
        sys.meta_path.remove(absent)


with _without("boto3"):
    from securesystemslib import dsse, exceptions, signer

Envelope = dsse.Envelope
CryptoSigner = signer.CryptoSigner  # pyright: ignore[reportPrivateImportUsage]
Signature = signer.Signature  # pyright: ignore[reportPrivateImportUsage]
SSlibKey = signer.SSlibKey  # pyright: ignore[reportPrivateImportUsage]
VerificationError = exceptions.VerificationError
