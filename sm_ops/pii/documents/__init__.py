"""Synthetic Korean and English documents with personal data that nobody can hold (docs/how-to/pii-documents.md)."""

from sm_ops.pii.documents.generate import generate

__all__ = ["generate"]
