from __future__ import annotations

import numpy as np
import pytest

from sm_ops.core.records import Message, Record, Span
from sm_ops.masking.redact import redact

pytestmark = pytest.mark.unit


def test_redaction_changes_spans_and_nothing_else():
    text = "a\r\nname: 김가상 and 😀 Ada\n"
    start = text.index("김")
    spans = (Span(start, start + 3, "name"), Span(text.index("Ada"), text.index("Ada") + 3, "name"))
    record = Record("x", text=text, group="g", spans=spans, meta={"k": 1, "fields": [[0, 1]]})
    got = redact(record, [(start, start + 3)], "<>")
    assert got.text == "a\r\nname: <> and 😀 Ada\n"
    assert [got.text[span.start : span.end] for span in got.spans] == ["Ada"]
    assert (got.id, got.group, got.meta) == ("x", "g", {"k": 1})
    assert redact(record, []).text == text


def test_redaction_of_chats_keeps_to_the_messages():
    messages = (Message("user", "who"), Message("assistant", "ada here"), Message("assistant", "bob"))
    record = Record("x", messages=messages, spans=(Span(4, 8, "w", 1), Span(0, 3, "n", 1), Span(0, 3, "n", 2)))
    got = redact(record, [(4, 7), (9, 14)])  # "ada", then "here\nb"... across the end of a message
    assert [m.content for m in got.messages] == ["who", "[MASKED] h[MASKED]", "[MASKED]ob"]
    assert [(s.start, s.end, s.message) for s in got.spans] == [(9, 10, 1), (8, 10, 2)]


def test_what_stays_is_where_the_spans_say():
    """Random texts: the placeholders come in order, the rest is the text without the intervals."""
    rng = np.random.default_rng(8)
    for _ in range(300):
        text = "".join(rng.choice(list("abc \n"), rng.integers(1, 20)))
        edges = np.sort(rng.choice(len(text) + 1, min(len(text) + 1, 2 * int(rng.integers(0, 4))), replace=False))
        intervals = list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=False))
        spans = tuple(
            Span(int(s), int(e), "x") for s, e in np.sort(rng.integers(0, len(text) + 1, (3, 2)), axis=1) if s < e
        )
        got = redact(Record("r", text=text, spans=spans), intervals, "#")
        hidden = {c for s, e in intervals for c in range(s, e)}
        assert got.text.replace("#", "") == "".join(ch for c, ch in enumerate(text) if c not in hidden)
        assert got.text.count("#") == len(intervals)
        kept = [[c for c in range(span.start, span.end) if c not in hidden] for span in spans]
        kept = [characters for characters in kept if characters]
        assert len(got.spans) == len(kept)
        for span, characters in zip(got.spans, kept, strict=True):
            assert got.text[span.start : span.end].replace("#", "") == "".join(text[c] for c in characters)
            assert not {got.text[span.start], got.text[span.end - 1]} & {"#"}
