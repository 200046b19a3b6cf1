"""One attack by name, with settings as plain JSON; what it refuses says which attack it was."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sm_ops.attacks.material import Material, Row
from sm_ops.core import registry
from sm_ops.core.errors import InputError
from sm_ops.core.settings import Settings
from sm_ops.core.types import Progress, unheard
from sm_ops.scoring.language_model import LanguageModel


def run_attack(
    name: str,
    model: LanguageModel,
    material: Material,
    settings: Mapping[str, Any],
    seed: int,
    progress: Progress = unheard,
) -> list[Row]:
    """The rows of the attack; see `sm_ops/attacks/members/`."""
    try:
        return registry.load("attack", name).run(model, material, Settings(settings), seed, progress)
    except InputError as error:
        raise InputError(error.code, f"{name}: {error.hint}") from None


def check_lengths(attacks: Mapping[str, Mapping[str, Any]], positions: int, before: int) -> None:
    """Refuse at once what an attack would refuse when its turn comes: texts that do not fit the model's positions.

    `before` counts the tokens that stand before every text.
    """
    for name, settings in attacks.items():
        length = settings.get("length", 0)
        if before + length > positions:
            raise InputError(
                "length-too-long",
                f"{name}.length is {length} tokens, but the model has {positions} positions, of which {before} before "
                "the text; lower it.",
            )
