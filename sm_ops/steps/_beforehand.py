"""What a step can be refused for before the first one of its run: each function gets it, and raises `InputError`.

They stand apart from the stages' modules: what is imported here is no part of what a step is, and light.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from sm_ops.core.errors import InputError
from sm_ops.detectors.named import check_available

if TYPE_CHECKING:
    from sm_ops.core.stage import Step


def detection(step: Step) -> None:
    """A detector that is a condition of its own."""
    _named(step, "detection")


def selection(step: Step) -> None:
    """A detector that selects what is rewritten."""
    _named(step, "selector")


def levels(step: Step) -> None:
    """A detector as a filter, unless it is fitted in the run itself."""
    if "fitted" not in step.inputs:
        _named(step, "filter")


def finding(step: Step) -> None:
    """A detector with its default settings."""
    check_available(step.settings["detector"], {}, "detectors")


def general_text(step: Step) -> None:
    """Own general text that cannot be read as far as it is needed, or has fewer bytes than tokens are asked for."""
    from sm_ops.data.general import pieces

    mixture = step.settings["mixture"]
    if mixture["general"] is None:
        return
    most = 0
    for text, _ in pieces(mixture["general"]):
        most += len(text.encode("utf-8", "surrogatepass")) + 1
        if most >= mixture["general_tokens"]:
            return
    raise InputError(
        "too-little-text",
        f"mixture.general_tokens is {mixture['general_tokens']:,}, but {mixture['general']} (mixture.general) has text "
        f"for {most:,} at the most, were each byte a token; lower it, or name more text.",
    )


def answers(step: Step) -> None:
    """Answers that have no room beside any prompt in a named model; those of one made on the spot are in its config."""
    base, most = step.settings["base"], step.settings["completions"]["max_tokens"]
    room = _positions(base["name"], base["revision"]) if base["name"] is not None else None
    if room is not None and most >= room:
        raise InputError(
            "no-room-for-answers",
            f"completions.max_tokens is {most:,}, but {base['name']} has {room:,} positions, which a prompt shares; "
            "lower it.",
        )


def trials(step: Step) -> None:
    """Programs of the data on a machine that can keep none in."""
    from sm_ops.evaluation import sandbox

    sandbox.required()


def judgement(step: Step) -> None:
    """Answers that are run, on such a machine."""
    if step.settings["completions"]["execute"]:
        trials(step)


def _named(step: Step, section: str) -> None:
    own = step.settings[section]
    if own["detector"] is not None:
        check_available(own["detector"], own["settings"], step.place(f"{section}.settings"))


@cache
def _positions(name: str, revision: str | None) -> int | None:
    from sm_ops.training.shapes import named_shape

    shape: Any = named_shape(name, revision)
    return None if shape is None else getattr(shape.get_text_config(), "max_position_embeddings", None)
