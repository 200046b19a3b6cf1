"""What surprise masking is compared with: one file per baseline, named as users name it.

Each offers `mask(records, tokens, *, ...)`: `tokens` are each record's downstream tokens, the answer is one boolean
array per record. Its keyword-only parameters without default say what it needs: `seed` is the masking's, `budget` the
number of tokens that an operating point masks; one other takes the value that the configuration lists.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence

import numpy as np

from sm_ops.core.errors import InputError
from sm_ops.core.records import Record
from sm_ops.core.registry import load
from sm_ops.core.tokens import Tokens
from sm_ops.masking.conditions import surprise_at


def masks(
    name: str,
    value: float | None,
    records: Sequence[Record],
    tokens: Sequence[Tokens],
    *,
    seed: int,
    surprise: Mapping[str, Sequence[np.ndarray]],
) -> list[np.ndarray]:
    """The masks of one condition: the baseline `name` at `value` (`None` for one that takes none).

    `surprise` holds the masks of the operating points by name; where the baseline asks for a `budget`, `value` is the
    target recall of the point whose number of masked tokens it gets. Raises `InputError` where it is not among them.
    """
    function = load("baseline", name).mask
    parameters = inspect.signature(function).parameters.values()
    needed = [each.name for each in parameters if each.kind is each.KEYWORD_ONLY and each.default is each.empty]
    given: dict[str, float] = {}
    for parameter in needed:
        if parameter == "seed":
            given[parameter] = seed
        elif value is None:
            raise InputError("no-value", f"The baseline {name} needs {parameter}; list values: {name}: [...].")
        else:
            given[parameter] = _budget(name, value, surprise) if parameter == "budget" else value
    return function(records, tokens, **given)


def _budget(name: str, target: float, surprise: Mapping[str, Sequence[np.ndarray]]) -> int:
    point = surprise_at(target)
    if point not in surprise:
        raise InputError(
            "unknown-point", f"The baseline {name} has the budget of {point}, which is not among the targets; add it."
        )
    return sum(int(np.count_nonzero(mask)) for mask in surprise[point])
