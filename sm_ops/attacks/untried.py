"""What an audit has not tried, read off its settings: the sentences that `sm-ops attack` and the flow share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, get_args, get_origin

from sm_ops.core.registry import members

Attacks = Mapping[str, Mapping[str, Any]]


def not_tried(
    attacks: Attacks,
    chosen: Iterable[str],
    found: Iterable[str],
    tagger: str,
    shadows: int,
    filled: bool,
    option: Callable[[str], str] = lambda name: "",
) -> list[str]:
    """Attacks, their settings, knowledge, classes and taggers that were left out.

    `attacks` that were made, with their settings; `chosen` classes (none: all) of those that the tagger `found`;
    `filled`: whether residual masks were. `option` names what brings an absent thing in, in brackets.
    """
    return [
        *_attacks(attacks),
        *_knowledge(attacks, shadows, filled, option),
        *_classes(list(chosen), found),
        *_taggers(tagger),
    ]


def _attacks(tried: Attacks) -> Iterator[str]:
    if absent := sorted(members("attack").keys() - tried.keys()):
        yield f"Attacks left out: {', '.join(absent)}."
    for name, settings in tried.items():
        others = [f"{field} {' and '.join(left)}" for field, left in _left_out(name, settings)]
        if others:
            yield f"Settings of {name} left out: {', '.join(others)}."


def _left_out(name: str, settings: Mapping[str, Any]) -> Iterator[tuple[str, list[str]]]:
    """The alternatives of each setting with a choice that was not taken."""
    from sm_ops.core.config.attacks import ATTACKS

    for field, info in ATTACKS[name].model_fields.items() if name in ATTACKS else ():
        taken = settings.get(field)
        taken = taken if isinstance(taken, list) else [taken]
        if left := [str(choice) for choice in _choices(info.annotation) if choice not in taken]:
            yield field, left


def _choices(annotation: Any) -> list[Any]:
    if get_origin(annotation) is Literal:
        return list(get_args(annotation))
    return [choice for part in get_args(annotation) for choice in _choices(part)]


def _knowledge(attacks: Attacks, shadows: int, filled: bool, option: Callable[[str], str]) -> Iterator[str]:
    yield "White-box attacks: all attacks see next-token probabilities alone, no weights, gradients or activations."
    yield "Instructions: no prompt asked a model to give data away."
    if not shadows and "membership" in attacks:
        yield f"Shadow models{option('shadow')}: none, so membership inference has no scores ref, offline and lira."
    if not filled and any("surroundings" in settings for settings in attacks.values()):
        yield (
            f"Filling of residual masks{option('fill')}: no masked language model read what scrubbing left around a "
            "slot."
        )


def _classes(chosen: list[str], found: Iterable[str]) -> Iterator[str]:
    if chosen:
        absent = sorted(set(found) - {*chosen})
        yield f"Classes left out: {', '.join(absent) or 'all but ' + ', '.join(chosen)}."


def _taggers(tagger: str) -> Iterator[str]:
    if absent := sorted(members("detector").keys() - {*tagger.split("+"), "union"}):
        yield (
            f"Other taggers: {', '.join(absent)}. What they find and the tagger {tagger} does not is neither attacked "
            "nor recognised in what a model says."
        )
