"""How windows become suspicious: one file per selection, named as users name it (`global_.py` is `global`).

A file offers three functions over the window scores (float64, larger = more suspicious, NaN = invalid window):

* `select(scores, *, ...) -> bool array`: the windows that the rule selects;
* `levels(scores, *, ...) -> float64 array`: what is compared with a threshold, larger = more suspicious, NaN =
  invalid. Calibration works on levels, so any rule has critical values;
* `at(level) -> dict`: the settings at which exactly the windows of at least that level are selected.

Their keyword-only parameters say what they need: `bounds` cuts the windows by record, any other is an attribute of
the rule's configuration. A number that each record has its own of is an array with one entry per record.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from sm_ops.core.errors import InputError
from sm_ops.core.registry import load
from sm_ops.masking.windows import AGGREGATES


class Rule(Protocol):
    """What every rule's configuration says; a selection's own settings (`tau`) are further attributes."""

    @property
    def windows(self) -> str:
        """Kind of window: `fixed`, or a file of `masking/intervals/`."""
        ...

    @property
    def n(self) -> int:
        """Width of a fixed window, in tokens."""
        ...

    @property
    def agg(self) -> str:
        """How token scores make a window's: `mean`, or `top` (the mean of the three largest)."""
        ...

    @property
    def k(self) -> int:
        """Votes that mask a position."""
        ...

    @property
    def select(self) -> str:
        """Name of the selection: a file of this folder."""
        ...

    @property
    def propagate(self) -> str:
        """Scope of duplicate propagation: `none`, `record`, `group` or `corpus`."""
        ...

    @property
    def prop_n(self) -> int | None:
        """Length of a repeated sequence, in tokens; `None` = n, for fixed windows only."""
        ...


def check(rule: Rule) -> None:
    """Refuse a rule that cannot be applied, with `InputError`."""
    if rule.agg not in AGGREGATES:
        raise InputError("bad-rule", f"A rule's agg is one of {', '.join(AGGREGATES)}; it is {rule.agg!r}.")
    if rule.k < 1 or (rule.windows == "fixed" and rule.k > rule.n):
        raise InputError(
            "bad-rule", f"A rule needs 1 <= k <= n votes of n windows; k is {rule.k} and n is {rule.n}."
        )
    if rule.windows != "fixed" and rule.propagate != "none" and rule.prop_n is None:
        raise InputError(
            "bad-rule", f"Windows {rule.windows!r} have no width; say with prop_n how many tokens make a repetition."
        )


def sequence_length(rule: Rule) -> int:
    """How many tokens make a sequence that propagates: n, or what `prop_n` says (section 5)."""
    return rule.n if rule.prop_n is None else rule.prop_n


def selected(scores: np.ndarray, bounds: np.ndarray, rule: Rule) -> np.ndarray:
    """The windows that the rule selects (bool)."""
    return _call(load("rule", rule.select).select, scores, bounds, rule)


def levels(scores: np.ndarray, bounds: np.ndarray, rule: Rule) -> np.ndarray:
    """What the rule compares with its threshold, per window; the threshold itself is not read."""
    return _call(load("rule", rule.select).levels, scores, bounds, rule)


def settings_at(select: str, level: Any) -> dict[str, Any]:
    """A selection's own settings at a level, or at one level per record (an array)."""
    return load("rule", select).at(level)


def _call(function: Callable[..., np.ndarray], scores: np.ndarray, bounds: np.ndarray, rule: Rule) -> np.ndarray:
    needed = list(inspect.signature(function).parameters)[1:]
    return function(scores, **{name: bounds if name == "bounds" else _own(rule, name, bounds) for name in needed})


def _own(rule: Rule, name: str, bounds: np.ndarray) -> Any:
    value = getattr(rule, name)
    return np.repeat(value, np.diff(bounds)) if isinstance(value, np.ndarray) else value
