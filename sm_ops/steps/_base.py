"""The base model of a step: the folder trained on the spot, or a name, and its tokenizer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sm_ops.scoring.tokenize import load_tokenizer

if TYPE_CHECKING:
    from sm_ops.core.settings import Settings
    from sm_ops.core.stage import Context


def base_location(settings: Settings, context: Context) -> str:
    """Folder or hub name of the base model."""
    return str(context.inputs["base"]) if "base" in context.inputs else settings.base.name


def base_tokenizer(settings: Settings, context: Context) -> Any:
    """The base model's tokenizer, of the revision that the settings pin."""
    return load_tokenizer(base_location(settings, context), settings.base.revision)
