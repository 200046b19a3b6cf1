"""Which rule a surprise filter takes: the corpus's published one, with what the filter says otherwise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sm_ops.core.errors import InputError
from sm_ops.core.registry import did_you_mean
from sm_ops.masking.published import RULES

_ANY = {"windows": "fixed", "n": 4, "agg": "mean", "select": "global", "radius": 32, "prop_n": None}
_PUBLISHED = "published"
_CONTRASTS = {"piibench_raw": "piibench_contrast"}


def rule_of(given: Mapping[str, Any], corpus: str | None, contrast: bool = False) -> dict[str, Any]:
    """All settings of a rule: what `given` says, over the published rule that it names, or else over the corpus's.

    `corpus` is the published rule of the corpus (None: that of CredData). Where the score is a prompted contrast, a
    corpus that has a rule of its own for it takes that (paper, table 5).
    """
    own = {name: value for name, value in given.items() if name != _PUBLISHED}
    known = corpus or "creddata"
    published = given.get(_PUBLISHED) or (_CONTRASTS.get(known, known) if contrast else known)
    return {**_ANY, **RULES[published], **own}


def check_published(name: str, given: Mapping[str, Any]) -> None:
    """Refuse a filter whose rule names a published one that there is not."""
    published = given.get(_PUBLISHED)
    if published is not None and published not in RULES:
        near = did_you_mean(str(published), RULES)
        hint = f"filters.{name}.rule.published: there is no published rule {published!r}; {near}."
        raise InputError("unknown-rule", hint)
