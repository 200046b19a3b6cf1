"""What commands that sign with a person's key share: the key's file, and where its passphrase comes from."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from sm_ops.release.sslib import CryptoSigner

VARIABLE = "SM_OPS_KEY_PASSPHRASE"

KeyFile = Annotated[Path, typer.Option("--key", help="Your private key file, by release key new.", metavar="FILE")]
PassphraseFile = Annotated[
    Path | None,
    typer.Option(help=f"Holds the passphrase; default: {VARIABLE}, or a question.", metavar="FILE"),
]


def signer(key: Path, passphrase_file: Path | None = None) -> CryptoSigner:
    """Who signs with a key file; asks for the passphrase where neither file nor variable holds it."""
    from sm_ops.release import people

    people.check_private(key)
    return people.load_signer(key, passphrase(passphrase_file, f"Passphrase of {key}: "))


def passphrase(file: Path | None, question: str, again: str | None = None) -> bytes:
    """The passphrase from a file, the environment, or typed (twice where `again` is a question)."""
    import getpass

    from sm_ops.core.errors import InputError
    from sm_ops.core.fs import existing

    if file is not None:
        return existing(file).read_bytes().rstrip(b"\r\n")
    if (given := os.environ.get(VARIABLE)) is not None:
        return given.encode()
    if not _can_ask():
        hint = f"Nobody can be asked for the passphrase here; set {VARIABLE}, or give --passphrase-file FILE."
        raise InputError("no-passphrase", hint)
    typed = getpass.getpass(question)
    if again is not None and getpass.getpass(again) != typed:
        raise InputError("passphrases-differ", "The two passphrases differ; nothing was written.")
    return typed.encode()


def confirm(question: str, answer: str, yes: bool, digest: str | None, shown: str) -> None:
    """Have a person type `answer`; --yes with the digest of what is shown takes its place.

    Raises `InputError` for another answer, another digest, and where nobody can be asked.
    """
    from sm_ops.core.errors import InputError

    if yes != (digest is not None):
        raise InputError("not-confirmed", "Give --yes and --digest SHA256 together, or neither.")
    if digest == shown:
        return
    if digest is not None:
        raise InputError("other-digest", "The digest is not of what is shown; nothing was signed. Read it again.")
    if not _can_ask():
        raise InputError("not-confirmed", "Nobody can be asked here; having read the above, add: --yes --digest SHA256")
    print(f"{question}: ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip() != answer:
        raise InputError("not-confirmed", "Something else was typed; nothing was signed.")


def _can_ask() -> bool:
    """Whether a person sits there; the shell may have closed the stream."""
    return sys.stdin is not None and sys.stdin.isatty()
