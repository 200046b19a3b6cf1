"""What the commands stand on: places in NFC, what is left over, rows by id."""

from __future__ import annotations

import fcntl
import random
import unicodedata

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command_line import write_rows

from sm_ops.core.errors import InputError
from sm_ops.pii.files import created, rows, whole
from sm_ops.pii.lookup import Index, table
from sm_ops.pii.places import Places, left_over

pytestmark = pytest.mark.unit

HOSTILE = [*"aA1 \n가각힣ㄱㅏ", "\u1100", "\u1161", "\u11a8", "\u0301", "\u0323", "é", "\u0344", "Å", "豈", "😀"]
HOSTILE += ["\u09c7", "\u09be", "\u0dd9", "\u0dcf", "\u0dca", "\u0f73", "\u2adc", "\ufb1d", "\u0338", "<", "\u05b7"]


def test_places_in_the_nfc_form():
    """A span ends where the text normalises in parts and no mark follows; and no narrower one would do."""
    draw = random.Random(1)
    normal = lambda text: unicodedata.normalize("NFC", text)  # noqa: E731
    for _ in range(600):
        text = "".join(draw.choices(HOSTILE, k=draw.randint(1, 12)))
        places = Places(text)
        assert places.text == normal(text)
        start, end = sorted(draw.sample(range(len(text) + 1), 2))
        first, last = places.span(start, end)
        if places.text == text:
            assert (first, last) == (start, end)
            continue
        cuts = [
            cut
            for cut in range(len(text) + 1)
            if normal(text[:cut]) + normal(text[cut:]) == normal(text)
            and (cut in (0, len(text)) or not unicodedata.combining(unicodedata.normalize("NFD", text[cut])[0]))
        ]
        assert len(normal(text[: max(c for c in cuts if c <= start)])) == first
        assert len(normal(text[: min(c for c in cuts if c >= end)])) == last


def test_what_is_left_over():
    """Against brute force over characters."""
    draw = random.Random(2)
    for _ in range(800):
        text = "".join(draw.choices("ab \n\u200b", k=draw.randint(1, 14)))
        cuts = sorted(draw.sample(range(len(text) + 1), draw.randint(0, min(6, len(text)))))
        taken = [(a, b, "REL") for a, b in zip(cuts[::2], cuts[1::2], strict=False)]
        places = [(*sorted(draw.sample(range(len(text) + 1), 2)), draw.choice("PQ")) for _ in range(draw.randint(0, 3))]
        rest = list(left_over(text, places, taken))
        covered = {place for start, end, _ in taken for place in range(start, end)}
        wanted = {place for start, end, _ in places for place in range(start, end)} - covered
        found = [place for start, end, _ in rest for place in range(start, end)]
        assert found == sorted(set(found))
        assert set(found) <= wanted
        assert all(text[place] in " \n\u200b" for place in wanted - set(found))
        assert all(text[start:end] == text[start:end].strip(" \n\u200b") for start, end, _ in rest)


def test_rows_by_id():
    index = Index()
    ids = [f"id-{number}" for number in range(3000)]
    for number, each in enumerate(ids):
        index.add(each, 10 * number)
    assert index.repeated() is None
    assert [index.find(each) for each in ids[::-7]] == [10 * number for number in range(2999, -1, -7)]
    assert index.find("id-3000") is None
    for each in ("id-5", "new", "id-2", "id-5"):
        index.add(each, 0)
    assert index.repeated() == 3000


def test_nothing_is_in_an_empty_index():
    index = Index()
    assert index.repeated() is None
    assert index.find("a") is None


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_a_table_reads_in_any_order(suffix, tmp_path):
    given = [{"id": f"{number}\n한", "value": number} for number in range(3000)]
    path = tmp_path / f"rows{suffix}"
    if suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(given), path, row_group_size=700)
    else:
        write_rows(path, given)
    found = table(path, lambda row: None)
    order = random.Random(4).sample(range(3000), 300)
    assert [found.get(f"{number}\n한") for number in order] == [given[number] for number in order]
    assert found.get("none") is None
    assert len(found) == 3000


def test_a_table_refuses_a_repeated_id(tmp_path):
    path = write_rows(tmp_path / "rows.jsonl", [{"id": "a"}, {"id": "b"}, {"id": "a"}])
    with pytest.raises(InputError, match="line 3, record 2"):
        table(path, lambda row: None)


def test_what_the_dead_left_is_removed_and_what_the_living_write_is_not(tmp_path):
    names = {".11-out.jsonl": "dead", ".12-out.jsonl": "alive", ".x-out.jsonl": "other", ".13-out.jsonl.bak": "other"}
    for name in names:
        (tmp_path / name).write_text("text")
    with (tmp_path / ".12-out.jsonl").open() as living:
        fcntl.flock(living, fcntl.LOCK_EX)
        with whole(tmp_path / "out.jsonl") as unfinished, created(unfinished) as stream:
            stream.write(b"text")
            with pytest.raises(BlockingIOError), unfinished.open() as other:
                fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"out.jsonl", *(name for name, kind in names.items() if kind != "dead")}


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 0), ("a", 1), ("\n\n", 1), ("a\n\nb", 2), ("\n a\r\n \t\r\nb\n\n\n", 2), ("a\rb\n\u3000\nc\n\nd", 2)],
)
def test_paragraphs_joined_are_the_file(text, count, tmp_path):
    path = tmp_path / "in.txt"
    path.write_bytes(text.encode())
    assert "".join(row.value["text"] for row in rows(path)) == text
    assert [row.number for row in rows(path)] == list(range(count))
