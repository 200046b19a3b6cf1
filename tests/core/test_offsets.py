from __future__ import annotations

import numpy as np
import pytest

from sm_ops.core.errors import InputError
from sm_ops.core.offsets import from_bytes, from_utf16

pytestmark = pytest.mark.unit

TEXT = "aé김🙂\r\ne\u0301\u202e"


@pytest.mark.parametrize(("convert", "encoding", "unit"), [(from_bytes, "utf-8", 1), (from_utf16, "utf-16-le", 2)])
def test_every_interval_holds_the_characters_it_touches(convert, encoding, unit):
    owner = [index for index, c in enumerate(TEXT) for _ in range(len(c.encode(encoding)) // unit)]
    spans = [(start, end) for start in range(len(owner)) for end in range(start + 1, len(owner) + 1)]
    starts, ends = convert(TEXT, *np.array(spans).T)
    assert starts.tolist() == [owner[start] for start, _ in spans]
    assert ends.tolist() == [owner[end - 1] + 1 for _, end in spans]


def test_empty_intervals_stay_empty():
    starts, ends = from_bytes("a김b", np.array([0, 2, 4, 5]), np.array([0, 2, 4, 5]))
    assert starts.tolist() == ends.tolist() == [0, 1, 2, 3]
    assert from_bytes("", np.array([0]), np.array([0]))[0].tolist() == [0]
    assert len(from_utf16("abc", np.zeros(0), np.zeros(0))[0]) == 0


@pytest.mark.parametrize("span", [(-1, 1), (2, 1), (0, 6)])
def test_intervals_outside_the_text_are_refused_without_its_words(span):
    with pytest.raises(InputError, match="5 bytes") as refused:
        from_bytes("a김b", np.array([0, span[0]]), np.array([1, span[1]]))
    assert "Interval 1" in refused.value.hint
    assert "김" not in refused.value.hint
