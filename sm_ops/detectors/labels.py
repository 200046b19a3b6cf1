"""From the labels of each detector to the nine types of the PII rules (R3); None is what none of them covers.

A detector's label is often wider than the type: Presidio's DATE_TIME and the Privacy Filter's private_date are any
date, their places any place, and an account number may be a card's. Whoever takes such a label takes its errors.
"""

from __future__ import annotations

from sm_ops.core.errors import InputError

_OURS = ("RRN", "CARD", "EMAIL", "PHONE", "DOB", "ACCOUNT", "ADDRESS", "PERSON", "REL")

_PRESIDIO = {
    "KR_RRN": "RRN",
    "KR_FRN": "RRN",
    "CREDIT_CARD": "CARD",
    "EMAIL_ADDRESS": "EMAIL",
    "PHONE_NUMBER": "PHONE",
    "DATE_TIME": "DOB",
    "US_BANK_NUMBER": "ACCOUNT",
    "IBAN_CODE": "ACCOUNT",
    "LOCATION": "ADDRESS",
    "PERSON": "PERSON",
    "AGE": None,
    "CRYPTO": None,
    "ID": None,
    "IP_ADDRESS": None,
    "KR_BRN": None,
    "KR_DRIVER_LICENSE": None,
    "KR_PASSPORT": None,
    "MAC_ADDRESS": None,
    "MEDICAL_LICENSE": None,
    "NRP": None,
    "ORGANIZATION": None,
    "UK_NHS": None,
    "URL": None,
    "US_DRIVER_LICENSE": None,
    "US_ITIN": None,
    "US_PASSPORT": None,
    "US_SSN": None,
    "UUID": None,
}

_PRIVACY_FILTER = {
    "account_number": "ACCOUNT",
    "private_address": "ADDRESS",
    "private_date": "DOB",
    "private_email": "EMAIL",
    "private_person": "PERSON",
    "private_phone": "PHONE",
    "private_url": None,
    "secret": None,
}

_ONTONOTES = {
    "DATE": "DOB",
    "FAC": "ADDRESS",
    "GPE": "ADDRESS",
    "LOC": "ADDRESS",
    "PERSON": "PERSON",
    "CARDINAL": None,
    "EVENT": None,
    "LANGUAGE": None,
    "LAW": None,
    "MONEY": None,
    "NORP": None,
    "ORDINAL": None,
    "ORG": None,
    "PERCENT": None,
    "PRODUCT": None,
    "QUANTITY": None,
    "TIME": None,
    "WORK_OF_ART": None,
}
"""The eighteen types of spaCy's English models and of Flair's."""

LABELS: dict[str, str | None] = {**{name: name for name in _OURS}, **_PRESIDIO, **_PRIVACY_FILTER, **_ONTONOTES}
"""Every known label; a detector of another package may use the nine types as its labels."""


def type_of(label: str) -> str | None:
    """The type that a label stands for, or None; `InputError` for a label that is in no list, lest it be lost."""
    if label not in LABELS:
        raise InputError(
            "unknown-label",
            f"The label {label!r} has no line in sm_ops/detectors/labels.py; add one, with None if it is no PII type.",
        )
    return LABELS[label]
