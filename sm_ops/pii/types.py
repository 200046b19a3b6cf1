"""The nine types of personal data, strongest first: the order decides where one spelling has several types (R17)."""

from __future__ import annotations

TYPES: tuple[str, ...] = ("RRN", "CARD", "EMAIL", "PHONE", "DOB", "ACCOUNT", "ADDRESS", "PERSON", "REL")
PRIORITY: dict[str, int] = {name: rank for rank, name in enumerate(TYPES)}
NUMERIC = frozenset({"RRN", "DOB", "PHONE", "ACCOUNT", "CARD"})
"""The types whose numbers are also found with other separators (R12)."""
