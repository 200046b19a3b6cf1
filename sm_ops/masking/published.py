"""The scoring and selection rules that the paper uses, by setting (paper, table 5): a rule's settings of each name."""

from __future__ import annotations

from typing import Any

_ALONE = {"k": 1, "propagate": "none"}

RULES: dict[str, dict[str, Any]] = {
    "code_pii": {"n": 4, "k": 4, "propagate": "group"},
    "code_quirks": {"n": 2, "k": 2, "select": "local", "radius": 32, "propagate": "group"},
    "creddata": {"n": 4, **_ALONE},
    "piibench_raw": {"n": 16, **_ALONE},
    "piibench_contrast": {"n": 4, "k": 2, "propagate": "none"},
    "dead_code": {"windows": "line", **_ALONE},
    "rat_bench": {"windows": "sentence", **_ALONE},
    "rat_bench_routing": {"windows": "sentence", "agg": "top", **_ALONE},
    "redac_bench": {"windows": "segment", **_ALONE},
    "redac_bench_routing": {"windows": "sentence", **_ALONE},
}
"""`piibench_contrast` is for the contrast of two prompts, the others for one score; see `Rule` in core/config."""

CONTRAST = {
    "prompt": "Remove every miscellaneous identifying or sensitive named entity. Preserve unrelated content.\n",
    "violating": "Retain every miscellaneous identifying or sensitive named entity. Preserve unrelated content.\n",
}
"""The compliant prompt and the violating one, as settings of a reference: one pair for all records, without gold
categories (paper D.4)."""
