"""Where text was removed: what the stage `redact` wrote (JSON lines), or a mask file of one condition."""

from __future__ import annotations

from pathlib import Path

from sm_ops.core.errors import InputError
from sm_ops.pii.files import rows

Interval = tuple[int, int]


def read_places(path: Path) -> tuple[dict[str, list[Interval]], str | None]:
    """By record, the removed intervals in canonical coordinates; and the condition's name, where the file tells it."""
    if path.suffix == ".parquet":
        return _of_masks(path)
    found: dict[str, list[Interval]] = {}
    for row in rows(path):
        intervals = row.value.get("intervals")
        if not isinstance(intervals, list):
            raise row.refused("it tells no `intervals`; name a mask file, or what the stage redact wrote")
        found[row.id] = [(start, end) for start, end in intervals]
    return found, None


def _of_masks(path: Path) -> tuple[dict[str, list[Interval]], str]:
    from sm_ops.masking import mask_files

    masked = mask_files.read(path)
    conditions = {row.condition for row in masked}
    if len(conditions) != 1:
        hint = f"{path} holds masks of {len(conditions)} conditions, so it is not clear which was applied; name the "
        raise InputError("many-conditions", hint + "mask file that sm-ops mask --redact wrote.")
    return {row.id: list(zip(row.starts, row.ends, strict=True)) for row in masked}, conditions.pop()
