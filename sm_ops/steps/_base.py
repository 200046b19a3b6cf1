"""Where the base model of a step is: the folder trained on the spot, or a name."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context


def base_location(settings: Settings, context: Context) -> str:
    """Folder or hub name of the base model."""
    return str(context.inputs["base"]) if "base" in context.inputs else settings.base.name
