"""Models by name: a folder, a cached copy, or the hub, and a sentence where there is none of them, or a damaged one."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sm_ops.core.errors import InputError
from sm_ops.core.fetched import advice

_OF_THE_DISK = {errno.EACCES, errno.EPERM, errno.ENOSPC, errno.EDQUOT, errno.EROFS}


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
    except Exception:  # whatever the HTTP library of the day raises
        raise not_found(model) from None


def not_found(model: str) -> InputError:
    """What to say of a model that cannot be had."""
    return InputError(
        "model-not-found",
        f"The model {model!r} is neither a complete local folder nor to be had from the hub here; name a folder that "
        f"holds config.json, the weights and tokenizer.json{advice(model)}.",
    )


@contextmanager
def reading(model: str) -> Iterator[None]:
    """Whatever a library raises while it reads a model, an adapter or a tokenizer is one `InputError`.

    What is no fault of the files passes: too little memory, a full disk, a missing permission.
    """
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
            raise
        if isinstance(error, OSError) and error.errno in _OF_THE_DISK:
            raise
        there = any((Path(model) / name).is_file() for name in ("config.json", "adapter_config.json"))
        not_there = isinstance(error, OSError | ValueError) and not there
        raise (not_found if not_there else damaged)(model) from None


def damaged(model: str) -> InputError:
    """What to say of files that are there and cannot be what they should be."""
    return InputError(
        "model-damaged",
        f"The files of the model {model!r} are damaged, incomplete, or of another kind of model than is needed here; "
        "copy or fetch it again, or name another.",
    )


def causal_model(model: str, revision: str | None = None, **options: Any) -> Any:
    """A causal model in evaluation mode; `options` are those of transformers' `from_pretrained`.

    Raises `InputError` where it is not to be had, where its files are damaged, and where they lack a weight, which the
    library would make up at random.
    """
    from transformers import AutoModelForCausalLM

    with reading(model):
        read: Any = AutoModelForCausalLM.from_pretrained
        loaded, found = read(model, revision=revision or "main", output_loading_info=True, **options)
    if found["missing_keys"]:
        raise InputError(
            "weights-missing",
            f"The files of the model {model!r} lack {len(found['missing_keys'])} of the weights of a causal language "
            "model; copy or fetch it again, or name a causal one.",
        )
    return loaded.eval()
