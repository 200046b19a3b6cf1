"""Lazy registry: a folder's file names are the public names of its kind; members are imported on use.

Outside packages add members through entry points in the group `sm_ops.KIND`; they cannot replace one of ours.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType

from sm_ops.core.errors import InputError

_ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Kind:
    """A kind of member: where its files are, and the functions each has to offer."""

    name: str
    package: str
    requires: tuple[str, ...]


KINDS = {
    kind.name: kind
    for kind in (
        Kind("dataset", "sm_ops.data.datasets", ("generate",)),
        Kind("corpus", "sm_ops.data.corpora", ("read",)),
        Kind("quirk", "sm_ops.data.quirks.transformations", ("shows",)),
        Kind("reference", "sm_ops.scoring.backends", ("load",)),
        Kind("window", "sm_ops.masking.intervals", ("intervals",)),
        Kind("rule", "sm_ops.masking.rules", ("select", "levels", "at")),
        Kind("baseline", "sm_ops.masking.baselines", ("mask",)),
        Kind("attack", "sm_ops.attacks.members", ("run", "summary")),
        Kind("detector", "sm_ops.detectors.members", ("load",)),
        Kind("scorer", "sm_ops.sanitizing.scorers", ("rows",)),
        Kind("ranking", "sm_ops.ranking.rules", ("features",)),
        Kind("model", "sm_ops.scoring.models", ("load",)),
        Kind("check", "sm_ops.release.checks", ("run",)),
    )
}


@cache
def members(kind: str) -> dict[str, str]:
    """Public name -> module path of every member of a kind, without importing any."""
    spec = KINDS[kind]
    folder = _ROOT.joinpath(*spec.package.split(".")[1:])
    found = {
        path.stem.removesuffix("_"): f"{spec.package}.{path.stem}"
        for path in sorted(folder.glob("*.py"))
        if not path.stem.startswith("_")
    }
    return {point.name: point.module for point in entry_points(group=f"sm_ops.{kind}")} | found


def load(kind: str, name: str) -> ModuleType:
    """Import the member `name` of `kind` and check that it offers what its kind requires.

    Raises `InputError` for an unknown name, with the nearest ones, and for a member that lacks a function or needs
    a package that is not installed.
    """
    known = members(kind)
    if name not in known:
        raise InputError(f"unknown-{kind}", f"There is no {kind} {name!r}; {did_you_mean(name, known)}.")
    try:
        module = importlib.import_module(known[name])
    except ModuleNotFoundError as error:
        hint = f"The {kind} {name!r} needs the package {error.name}, which is not installed."
        raise InputError("missing-package", hint) from None
    missing = [function for function in KINDS[kind].requires if not callable(getattr(module, function, None))]
    if missing:
        raise InputError(
            f"incomplete-{kind}",
            f"The {kind} {name!r} in {known[name]} lacks {', '.join(missing)}; see docs/architecture.md.",
        )
    return module


_LISTED = 25
"""Names that a sentence can hold."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A clause that names the nearest known names, or when none is near all of them, or the first of many."""
    names = sorted(known)
    if near := difflib.get_close_matches(name, names, n=3, cutoff=0.5):
        return f"the nearest is {' or '.join(near)}"
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"known are {', '.join(names[:_LISTED]) or 'none'}{more}"
