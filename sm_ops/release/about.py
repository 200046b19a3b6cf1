"""Read what people say of a release: from a YAML file, or from settings that were read already."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sm_ops.core.config.about import About, Source

__all__ = ["About", "Source", "read_about"]


def read_about(source: str | Path | Mapping[str, Any]) -> About:
    """What people say of a release, from the path of a YAML file or from plain values.

    Raises `InputError` that names the file and the field, what was given and what is allowed.
    """
    from sm_ops.core.config.loading import load_section, validated

    if isinstance(source, Mapping):
        return validated(About, dict(source), "about")
    return load_section(About, source)
