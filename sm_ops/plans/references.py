"""What several plans ask of a reference."""

from __future__ import annotations

from typing import Any


def is_fitted(reference: dict[str, Any]) -> bool:
    """Whether it is an n-gram model that is made in the run."""
    return reference["backend"] == "ngram" and reference["model"] is None


def places(reference: dict[str, Any]) -> tuple[str, ...]:
    """Its settings, the step's section `reference`, that may name a file or folder.

    A second score file is one; elsewhere `violating` is a prompt.
    """
    return ("reference.model", *(("reference.violating",) if reference["backend"] == "file" else ()))
