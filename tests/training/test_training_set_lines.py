"""A masked training set as JSON lines is the one of Parquet."""

from __future__ import annotations

import numpy as np
import pytest

from sm_ops.core import lines
from sm_ops.core.errors import InputError
from sm_ops.masking import mask_files
from sm_ops.training import masked

pytestmark = pytest.mark.unit
EXAMPLES = [
    masked.Example("a", np.array([5, 6, 7]), np.array([5, -100, 7]), np.array([False, True, False])),
    masked.Example("é", np.array([8]), np.array([-100]), np.array([False])),
]


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_what_is_written_is_read_again(tmp_path, ending):
    masked.write(tmp_path / f"set.{ending}", EXAMPLES)
    found = masked.read(tmp_path / f"set.{ending}")
    assert [each.id for each in found] == ["a", "é"]
    for one, other in zip(found, EXAMPLES, strict=True):
        for name in ("ids", "labels", "masked"):
            assert getattr(one, name).tolist() == getattr(other, name).tolist()


@pytest.mark.parametrize("text", ["", '{"id": "a"}\n', '{"sm_ops_format": "masked/1"}\n'])
def test_lines_of_another_format_are_refused(tmp_path, text):
    (tmp_path / "set.jsonl").write_text(text)
    with pytest.raises(InputError, match="make the training set again"):
        masked.read(tmp_path / "set.jsonl")


def test_masks_are_the_same_rows_as_lines(tmp_path):
    why = {"start": 0, "end": 2, "windows": [], "copies": [], "other": False}
    row = mask_files.MaskRow("a", "SM95", [0], [2], [True], [why])
    mask_files.write(tmp_path / "masks.parquet", [row], {"n": 4})
    mask_files.write(tmp_path / "masks.jsonl", [row], {"n": 4})
    form, columns = lines.read(tmp_path / "masks.jsonl", ("id", "condition", "starts", "ends", "mask", "why"))
    assert form == mask_files.FORMAT
    found = [mask_files.MaskRow(*cells) for cells in zip(*columns, strict=True)]
    assert found == mask_files.read(tmp_path / "masks.parquet")
