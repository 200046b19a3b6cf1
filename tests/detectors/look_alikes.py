"""Credentials that open nothing, made when a test asks for them, so that none lies in the repository."""

from __future__ import annotations

import random
import string


def token(seed: int, length: int = 32) -> str:
    """Random letters and digits with both cases."""
    return "".join(random.Random(f"token {seed}").choices(string.ascii_letters + string.digits, k=length))


def assignment(seed: int) -> tuple[str, str]:
    """A line of Python that assigns a password, and the password."""
    value = token(seed)
    return f'db_password = "{value}"', value


def private_key() -> str:
    """A PEM block over several lines."""
    from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = generate_private_key(SECP256R1())
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode().strip()
