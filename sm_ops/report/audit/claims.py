"""What an audit shows of its defences, claimed only where intervals lie apart."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from sm_ops.masking.conditions import BASE
from sm_ops.report.audit.words import shown
from sm_ops.report.words import claim

Json = dict[str, Any]

MEMBERSHIP = "membership"
_PLAIN = {"dedup": False, "scrub": False, "mask": "none", "private": False}


def claims(rows: Sequence[Json], defences: Json) -> list[Json]:
    """Claims about defences that the run has, found by what they do and not by their names.

    A headline measure differs where the 95 % intervals of two rows do not overlap. A claim over attacks holds where
    it is so for at least one and the opposite for none, and is undefined where no attack tells the two apart. Beside
    the model before fine-tuning nothing is subtracted: what it finds itself is what the other is compared with.
    """
    by_name = {row["defence"]: row for row in rows}
    plain = _named(by_name, defences)
    scrubbed = _named(by_name, defences, scrub=True)
    private = _named(by_name, defences, private=True)
    both = _named(by_name, defences, scrub=True, private=True)
    base = by_name.get(BASE)
    compared = (
        ("Undefended training leaks more than the model before it, nothing subtracted.", plain, base, "unsubtracted"),
        ("Scrubbing reduces what leaks.", plain, scrubbed, "leakage"),
        ("Differential privacy reduces what leaks.", plain, private, "leakage"),
    )
    found = [_over_attacks(sentence, more, less, of) for sentence, more, less, of in compared if more and less]
    if plain and scrubbed and both and MEMBERSHIP in plain["leakage"]:
        found.append(_falling((plain, scrubbed, both)))
    return found


def _named(by_name: dict[str, Json], defences: Json, **does: Any) -> Json | None:
    wanted = {**_PLAIN, **does}
    return next((by_name[name] for name, each in defences.items() if {**_PLAIN, **each} == wanted), None)


def _over_attacks(sentence: str, more: Json, less: Json, of: str) -> Json:
    verdicts, details = [], []
    for attack in more[of]:
        one, other = more[of][attack], less[of][attack]
        verdicts.append(_apart(one, other))
        told = {True: "", False: ", the opposite", None: ", not told apart"}[verdicts[-1]]
        details.append(f"{attack} {shown(one)} against {shown(other)}{told}")
    return _claim(f"{more['defence']}-{less['defence']}", sentence, _together(verdicts, any), details)


def _falling(rows: Sequence[Json]) -> Json:
    found = [row["leakage"][MEMBERSHIP] for row in rows]
    verdicts = [_apart(one, other) for one, other in pairwise(found)]
    details = [f"{row['defence']} {shown(each)}" for row, each in zip(rows, found, strict=True)]
    names = [row["defence"] for row in rows]
    sentence = f"Membership inference falls from {names[0]} over {names[1]} to {names[2]}."
    return _claim("membership-falls", sentence, _together(verdicts, all), details)


def _apart(one: Json | None, other: Json | None) -> bool | None:
    """Whether the first is larger; `None` where the intervals overlap or one of the two is undefined."""
    if one is None or other is None or one["low"] is None or other["low"] is None:
        return None
    if one["low"] > other["high"]:
        return True
    return False if one["high"] < other["low"] else None


def _together(verdicts: Sequence[bool | None], enough: Any) -> bool | None:
    if False in verdicts:
        return False
    return True if verdicts and enough(verdicts) else None


def _claim(name: str, sentence: str, passed: bool | None, details: Sequence[str]) -> Json:
    return {"name": name, **claim(sentence, passed, "; ".join(details))}
