"""Models by name: a folder, a cached copy, or the hub, and a sentence where there is none of them."""

from __future__ import annotations

from pathlib import Path

from sm_ops.core.errors import InputError
from sm_ops.core.fetched import advice


def check_reachable(model: str, revision: str | None) -> None:
    """Ask one quick question before the library retries for minutes: is there a folder, a cached copy, a hub?

    Raises `InputError` where there is none.
    """
    from huggingface_hub import HfApi, try_to_load_from_cache

    if Path(model).is_dir():
        return
    try:
        if not try_to_load_from_cache(model, "config.json", revision=revision):
            HfApi().model_info(model, revision=revision, timeout=5)
    except Exception as error:  # whatever the HTTP library of the day raises
        raise not_found(model, error) from None


def not_found(model: str, error: Exception) -> InputError:
    """What to say of a model that cannot be had."""
    return InputError(
        "model-not-found",
        f"The model {model!r} is neither a complete local folder nor to be had from the hub here "
        f"({type(error).__name__}); name a folder that holds config.json, the weights and tokenizer.json"
        f"{advice(model)}.",
    )
