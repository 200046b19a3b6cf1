"""The mask file: which characters and tokens each condition masks, by which rule, and why.

Format masks/2, Parquet: `id`, `condition`, `starts` and `ends` (masked character intervals, disjoint), `mask` (one
boolean per downstream token) and `why` (null where no windows decided): for each span of the reference's tokens its
`start` and `end`, the selected `windows` (start, end, score), the masked sequences it `copies` (record id, start, end),
and whether an `other` filter masks some of it. The metadata holds the rule as JSON and its SHA-256. masks/1 had no
`why` and is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sm_ops.core import fs, lines
from sm_ops.core.errors import InputError
from sm_ops.core.tokens import Tokens
from sm_ops.masking.spans import merged

if TYPE_CHECKING:
    from sm_ops.masking.explain import Reason

FORMAT = "masks/2"


@dataclass(frozen=True, slots=True)
class MaskRow:
    """One record under one condition: its disjoint masked intervals in characters, and a boolean per token."""

    id: str
    condition: str
    starts: list[int]
    ends: list[int]
    mask: list[bool]
    why: list[dict[str, Any]] | None


def rows(
    condition: str,
    ids: Sequence[str],
    tokens: Sequence[Tokens],
    masks: Sequence[np.ndarray],
    reasons: Iterable[list[Reason]] | None = None,
) -> list[MaskRow]:
    """Rows of one condition; `reasons` are those of `explain.reasons`, of the same records."""
    why = [None] * len(ids) if reasons is None else [[_told(each, ids) for each in own] for own in reasons]
    found = []
    for id_, own, mask, own_reasons in zip(ids, tokens, masks, why, strict=True):
        starts, ends = merged(own.starts[mask], own.ends[mask])
        found.append(MaskRow(id_, condition, starts.tolist(), ends.tolist(), mask.tolist(), own_reasons))
    return found


def write(path: Path, rows: Iterable[MaskRow], rule: dict[str, Any]) -> None:
    """Write a mask file; `rule` is everything that decided it, as JSON.

    A name that ends in `.jsonl` has the same rows as JSON lines, for machines without pyarrow.
    """
    columns = list(zip(*((r.id, r.condition, r.starts, r.ends, r.mask, r.why) for r in rows), strict=True))
    names = ("id", "condition", "starts", "ends", "mask", "why")
    if path.suffix == lines.SUFFIX:
        lines.write(path, FORMAT, dict(zip(names, columns, strict=True)))
        return
    import pyarrow as pa
    import pyarrow.parquet as pq

    window = pa.struct([("start", pa.int64()), ("end", pa.int64()), ("score", pa.float64())])
    copy = pa.struct([("record", pa.string()), ("start", pa.int64()), ("end", pa.int64())])
    reason = [
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("windows", pa.list_(window)),
        ("copies", pa.list_(copy)),
        ("other", pa.bool_()),
    ]
    schema = pa.schema(
        [
            ("id", pa.string()),
            ("condition", pa.string()),
            ("starts", pa.list_(pa.int64())),
            ("ends", pa.list_(pa.int64())),
            ("mask", pa.list_(pa.bool_())),
            ("why", pa.list_(pa.struct(reason))),
        ],
        metadata={
            "sm_ops_format": FORMAT,
            "rule": fs.canonical_json(rule),
            "rule_sha256": fs.sha256(fs.canonical_json(rule)),
        },
    )
    table = pa.table([pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)], schema)
    pq.write_table(table, path)


def read(path: Path) -> list[MaskRow]:
    """Read a mask file; another format version is refused in words."""
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    found = (table.schema.metadata or {}).get(b"sm_ops_format", b"none").decode()
    if found != FORMAT:
        raise InputError("mask-format", f"{path.name}: format {found!r} instead of {FORMAT!r}; make the masks again.")
    return [MaskRow(**row) for row in table.to_pylist()]


def _told(reason: Reason, ids: Sequence[str]) -> dict[str, Any]:
    windows = [{"start": start, "end": end, "score": score} for start, end, score in reason.windows]
    copies = [{"record": ids[record], "start": start, "end": end} for record, start, end in reason.copies]
    return {"start": reason.start, "end": reason.end, "windows": windows, "copies": copies, "other": reason.other}
