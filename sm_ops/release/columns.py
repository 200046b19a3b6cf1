"""Which columns a shard has, and of what type: read from its schema (Parquet) or from every row (JSONL), never values.

A type is the name of a scalar, `("list", type)` or `("record", {name: type})`; None where only null was seen.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

Type = str | tuple[str, Any] | None

TEXT, WHOLE, NUMBER, TRUTH = "text", "whole", "number", "truth"
_SCALARS = {str: TEXT, bool: TRUTH, int: WHOLE, float: NUMBER}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,59}")
"""Names of columns that are told; a key of another form may itself be data."""


def columns(path: Path) -> dict[str, Type]:
    """The columns of a shard (`.jsonl` or `.parquet`) in their order. Raises `InputError` for a line that is no row."""
    found = _of_schema(path) if path.suffix == ".parquet" else _of_rows(path)
    return {name: type_ for name, type_ in found.items() if _NAME.fullmatch(name)}


def _of_rows(path: Path) -> dict[str, Type]:
    from sm_ops.data.records import jsonl_rows

    found: dict[str, Type] = {}
    for _, row in jsonl_rows(path):
        for name, value in row.items():
            found[name] = _joined(found.get(name), _of_value(value))
    return found


def _of_value(value: Any) -> Type:
    if isinstance(value, dict):
        return "record", {name: _of_value(each) for name, each in value.items() if _NAME.fullmatch(name)}
    if isinstance(value, list):
        inner: Type = None
        for each in value:
            inner = _joined(inner, _of_value(each))
        return "list", inner
    return _SCALARS.get(type(value))


def _joined(one: Type, other: Type) -> Type:
    """The type of a column that holds both; text where they do not fit, as a reader without a schema has it."""
    if one is None or other is None or one == other:
        return other if one is None else one
    if (one, other) in ((WHOLE, NUMBER), (NUMBER, WHOLE)):
        return NUMBER
    if isinstance(one, tuple) and isinstance(other, tuple) and one[0] == other[0]:
        if one[0] == "list":
            return "list", _joined(one[1], other[1])
        names = dict.fromkeys((*one[1], *other[1]))
        return "record", {name: _joined(one[1].get(name), other[1].get(name)) for name in names}
    return TEXT


def _of_schema(path: Path) -> dict[str, Type]:
    import pyarrow.parquet as pq

    return {field.name: _of_arrow(field.type) for field in pq.read_schema(path)}


def _of_arrow(kind: Any) -> Type:
    from pyarrow import types

    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return "list", _of_arrow(kind.value_type)
    if types.is_struct(kind):
        return "record", {field.name: _of_arrow(field.type) for field in kind}
    if types.is_null(kind):
        return None
    if types.is_boolean(kind):
        return TRUTH
    if types.is_integer(kind):
        return WHOLE
    return NUMBER if types.is_floating(kind) else TEXT
