"""How an attack runs on the public model, the base before fine-tuning, beside the attacked one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def settings_on_public(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The attack's settings with the public model's own sampling budget, where it has one (background IV-E: 13M)."""
    own = settings.get("baseline_tokens")
    return {**settings} if own is None else {**settings, "tokens": own}
