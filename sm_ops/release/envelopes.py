"""Signed statements: an in-toto Statement v1 as canonical JSON (RFC 8785) in a DSSE envelope, signed with Ed25519.

An envelope's file is canonical JSON and a line's end, its signatures in the order of their key ids. A reader refuses
every other way to write the same envelope, so that no byte of the file can change unnoticed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import rfc8785

from sm_ops.core.errors import IntegrityError
from sm_ops.release.keys import public_key

if TYPE_CHECKING:
    from sm_ops.release.sslib import CryptoSigner, Envelope

STATEMENT = "https://in-toto.io/Statement/v1"
PAYLOAD_TYPE = "application/vnd.in-toto+json"
_PREDICATE = "urn:sm-ops:release:{kind}:v1"

Json = dict[str, Any]


def statement(kind: str, subjects: Mapping[str, str], predicate: Json) -> bytes:
    """The payload that says `predicate` of files (`subjects`: relative path to SHA-256)."""
    said: Json = {
        "_type": STATEMENT,
        "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in sorted(subjects.items())],
        "predicateType": _PREDICATE.format(kind=kind),
        "predicate": predicate,
    }
    return rfc8785.dumps(said)


def signed(payload: bytes, signers: Iterable[CryptoSigner]) -> bytes:
    """The file of an envelope over a payload."""
    from sm_ops.release.sslib import Envelope

    envelope = Envelope(payload, PAYLOAD_TYPE, {})
    for signer in signers:
        envelope.sign(signer)
    return written(envelope)


def with_signature(file: bytes, signer: CryptoSigner) -> bytes:
    """The same envelope, signed by one more; signing twice changes nothing (Ed25519 is deterministic)."""
    envelope = read(file, "the envelope")
    envelope.sign(signer)
    return written(envelope)


def written(envelope: Envelope) -> bytes:
    """The one way to write an envelope."""
    envelope.signatures = dict(sorted(envelope.signatures.items()))
    return rfc8785.dumps(envelope.to_dict()) + b"\n"


def read(file: bytes, where: str) -> Envelope:
    """An envelope from its file. Raises `IntegrityError` that names `where` for anything not written by `written`."""
    from sm_ops.release.sslib import Envelope

    try:
        envelope = Envelope.from_dict(json.loads(file))
        bare = not any(signature.unrecognized_fields for signature in envelope.signatures.values())
        if bare and envelope.payload_type == PAYLOAD_TYPE and written(envelope) == file:
            return envelope
    except Exception:
        pass
    raise IntegrityError("bad-envelope", f"{where} is not a signed statement as it was written; it was changed.")


def content(envelope: Envelope, kind: str, where: str) -> tuple[dict[str, str], Json]:
    """Subjects and predicate of an envelope of that kind; signatures are not looked at.

    Raises `IntegrityError` for another kind, or a payload that is not canonical.
    """
    try:
        value = json.loads(envelope.payload)
        subjects = {each["name"]: each["digest"]["sha256"] for each in value["subject"]}
        if envelope.payload == statement(kind, subjects, value["predicate"]):
            return subjects, value["predicate"]
    except Exception:
        pass
    raise IntegrityError("bad-statement", f"{where} is no statement of the kind {kind!r}; it was changed.")


def valid_signers(envelope: Envelope, publics: Iterable[str], where: str) -> list[str]:
    """Ids of the keys (given as 64 hexadecimal digits) that signed, in order.

    Raises `IntegrityError` where a signature is of none of these keys, or does not fit the payload.
    """
    from sm_ops.release.sslib import VerificationError

    keys = {key.keyid: key for key in map(public_key, publics)}
    for key_id in envelope.signatures:
        if key_id not in keys:
            raise IntegrityError("unknown-key", f"{where} is signed by the unknown key {key_id[:16]}.")
    if not envelope.signatures:
        return []
    try:
        return sorted(envelope.verify(list(keys.values()), len(envelope.signatures)))
    except (VerificationError, ValueError):
        raise IntegrityError("bad-signature", f"A signature of {where} does not fit what it signs.") from None


def known_signers(envelope: Envelope, publics: Iterable[str], where: str) -> list[str]:
    """Like `valid_signers`; a signature of a key that is none of these is as if it were not there."""
    from sm_ops.release.sslib import Envelope

    known = {public_key(public).keyid: public for public in publics}
    ours = {key: signature for key, signature in envelope.signatures.items() if key in known}
    return valid_signers(Envelope(envelope.payload, envelope.payload_type, ours), known.values(), where)
