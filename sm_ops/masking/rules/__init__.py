"""How windows become suspicious: one file per rule, named as users name it (`global_.py` is `global`).

A rule's file offers two functions over the window scores (NaN = invalid window):

* `select(scores, *, ...) -> bool array`: the windows that the rule selects;
* `levels(scores, *, ...) -> float64 array`: what the threshold is compared with, larger = more suspicious,
  NaN = invalid. Calibration works on levels, so any rule has critical values.

Their keyword-only parameters say what they need: `bounds` is the corpus's, any other is an attribute of the
rule's configuration.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Protocol

import numpy as np

from sm_ops.core.errors import InputError
from sm_ops.core.registry import load
from sm_ops.masking.corpus import Corpus


class Rule(Protocol):
    """What every rule's configuration says; a selection's own settings (`tau`) are further attributes."""

    @property
    def windows(self) -> str:
        """Kind of window; `fixed` so far."""
        ...

    @property
    def n(self) -> int:
        """Width of a window and of a repeated sequence, in tokens."""
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


def check(rule: Rule) -> None:
    """Refuse a rule that cannot be applied, with `InputError`."""
    if rule.windows != "fixed":
        raise InputError("unknown-windows", f"Windows {rule.windows!r} are not known; use 'fixed'.")
    if not 1 <= rule.k <= rule.n:
        raise InputError(
            "bad-rule", f"A rule needs 1 <= k <= n votes of n windows; k is {rule.k} and n is {rule.n}."
        )


def selected(scores: np.ndarray, corpus: Corpus, rule: Rule) -> np.ndarray:
    """The starts of the windows that the rule selects (bool)."""
    return _call(load("rule", rule.select).select, scores, corpus, rule)


def levels(scores: np.ndarray, corpus: Corpus, rule: Rule) -> np.ndarray:
    """What the rule compares with its threshold, per window start; the threshold itself is not read."""
    return _call(load("rule", rule.select).levels, scores, corpus, rule)


def _call(function: Callable[..., np.ndarray], scores: np.ndarray, corpus: Corpus, rule: Rule) -> np.ndarray:
    needed = list(inspect.signature(function).parameters)[1:]
    return function(
        scores, **{name: corpus.bounds if name == "bounds" else getattr(rule, name) for name in needed}
    )
