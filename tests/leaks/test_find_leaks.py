"""Planted values are found in every form and container, clean trees are clean, and what is told holds no value."""

from __future__ import annotations

import base64
import gzip
import io
import json
import os
import random
import resource
import socket
import sqlite3
import tracemalloc
import zipfile
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from independent import forms, search

from sm_ops.leaks import Leaks, find_leaks
from sm_ops.leaks.escapes import Unescaper, unescape
from sm_ops.leaks.forms import reach

pytestmark = pytest.mark.unit

ASCII = "Zq7-Kafer_9x/w41+vT~q?"
KOREAN = "김가상, 견본구 시험로 12"
MIXED = 'Jürgen "von" Muster\\hausen'
PHONE = "010-0000-4711"
NAME = "김가상"
VALUES = [ASCII, KOREAN, MIXED, PHONE, NAME]


def told(leaks: Leaks) -> str:
    return json.dumps(leaks.to_json(), ensure_ascii=False)


def assert_tells_nothing(leaks: Leaks, values: list[str]) -> None:
    for value in values:
        for needles in forms(value).values():
            assert not any(needle in told(leaks).encode() for needle in needles)


def plantings() -> list[tuple[str, str, bytes]]:
    """`(value, form, bytes)` of every form that the independent search knows."""
    return [
        (value, form, needle)
        for value in VALUES
        for form, needles in forms(value).items()
        for needle in sorted(needles)
    ]


def bare_forms(value: str) -> list[bytes]:
    kept = "".join(filter(str.isalnum, value)).lower()
    return [kept.encode(), "_".join(kept).encode(), " / ".join(kept[n : n + 3] for n in range(0, 99, 3)).encode()]


# ---- forms ---------------------------------------------------------------------------------------------


def test_every_form_is_found_wherever_it_stands(tmp_path):
    found = plantings()
    assert len(found) > 60
    for number, (_, _, needle) in enumerate(found):
        (tmp_path / f"{number}.bin").write_bytes(b"\x00\xff,(" + needle + b")\xfe")
    leaks = find_leaks([tmp_path], VALUES)
    places = {Path(hit.place).name for hit in leaks.findings}
    missed = [found[n][:2] for n in range(len(found)) if f"{n}.bin" not in places]
    assert missed == []
    assert_tells_nothing(leaks, VALUES)


def test_it_finds_where_the_independent_search_finds(tmp_path):
    """Each value in each form, in the middle of other bytes; compared place by place, value by value."""
    draw = random.Random(3)
    for number in range(120):
        value, _, needle = draw.choice(plantings())
        folder = tmp_path / f"{number % 7}"
        folder.mkdir(exist_ok=True)
        noise = draw.randbytes(draw.randrange(40))
        (folder / f"{number}.bin").write_bytes(noise + needle + noise[::-1] if draw.random() < 0.7 else noise)
    for value in VALUES:
        theirs = {hit.split(" in ")[1].split(" (")[0] for hit in search(tmp_path, [value])}
        ours = {Path(hit.place).relative_to(tmp_path).as_posix() for hit in find_leaks([tmp_path], [value]).findings}
        assert ours == theirs


@pytest.mark.parametrize("value", VALUES)
def test_values_joined_otherwise_are_found(tmp_path, value):
    for number, text in enumerate(bare_forms(value)):
        (tmp_path / f"{number}.txt").write_bytes(b"x: " + text + b" ")
    leaks = find_leaks([tmp_path], [value])
    assert {Path(hit.place).name for hit in leaks.findings} == {"0.txt", "1.txt", "2.txt"}
    assert any(hit.form == "separator-free" for hit in leaks.findings)


def lower_then_upper(text: str) -> str:
    """Every second UTF-16 unit escaped in upper-case hex, whatever it is, the others in lower case."""
    units = text.encode("utf-16-be").hex()
    fours = [units[n : n + 4] for n in range(0, len(units), 4)]
    return "".join(f"\\u{unit.upper() if n % 2 else unit}" for n, unit in enumerate(fours))


EMOJI = "예시🙂 Ann@example.com"
ESCAPED = {
    "upper and lower": lower_then_upper(EMOJI),
    "one ASCII character": EMOJI.replace("@", "\\u0040"),
    "JSON in JSON": json.dumps(json.dumps(json.dumps(EMOJI))),
    "HTML": "".join(f"&#{ord(sign)};" if n % 2 else f"&#x{ord(sign):X};" for n, sign in enumerate(EMOJI)),
    "HTML twice": EMOJI.encode("ascii", "xmlcharrefreplace").decode().replace("&", "&amp;"),
    "bytes as printed": repr(EMOJI.encode()),
    "percent, mixed": "".join(f"%{byte:02x}" if byte % 3 else f"%{byte:02X}" for byte in EMOJI.encode()),
}


@pytest.mark.parametrize("how", ESCAPED)
def test_a_value_is_found_whatever_was_escaped(tmp_path, how):
    for shift in (400, 17, 1):  # also across the edge between two chunks
        (tmp_path / "a.txt").write_text("." * ((1 << 20) - shift) + ESCAPED[how] + "...")
        (hit,) = find_leaks([tmp_path], [EMOJI, "absent@example.com"]).findings
        assert (hit.form, hit.values, hit.occurrences) == ("escaped", 1, 1)


def test_escapes_are_undone_alike_in_chunks_of_any_size():
    draw = random.Random(2)
    pieces = [*ESCAPED.values(), "\\\\n", "%4", "&amp", "\\ud83d", "\\", "\\u12", "x", "&#9999999;", "\\x4"]
    for _ in range(300):
        data = "".join(draw.choices(pieces, k=6)).encode()
        escapes, undone, start = Unescaper(), b"", 0
        while start < len(data):
            end = start + draw.randrange(1, 40)
            undone += escapes.feed(data[start:end])
            start = end
        assert undone + escapes.feed(b"", last=True) == unescape(data)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("1985-03-12", "born 1985.03.12."), ("1985-03-12", "(19850312)"), ("1985.03.12", "1985/03/12 "),
        (PHONE, "０１０－００００－４７１１"), (PHONE, "Tel.０１０ 0000 4711"), ("Ann Muster", "ＡＮＮ＿ＭＵＳＴＥＲ"),
        (PHONE, r"\u0030\u0031\u0030_0000_4711"),
    ],
)  # fmt: skip
def test_other_separators_and_widths_are_found(tmp_path, value, written):
    (tmp_path / "a.txt").write_text(written)
    assert [hit.form for hit in find_leaks([tmp_path], [value]).findings] == ["separator-free"]


def test_a_date_without_separators_counts_only_as_a_whole_number(tmp_path):
    (tmp_path / "a.txt").write_text(
        "0.19850312 119850312 198503120 a19850312 19850312f 1985.03.121 1985 0312 _1985_03_12"
    )
    assert not find_leaks([tmp_path], ["1985-03-12"])


def test_other_encodings_are_found(tmp_path):
    (tmp_path / "0.txt").write_bytes(f"이름 {NAME}은".encode("cp949"))
    for phase in range(3):
        (tmp_path / f"{phase + 1}.txt").write_bytes(base64.b64encode(b"." * phase + KOREAN.encode("utf-16-le") + b"x"))
    found = [(Path(hit.place).name, hit.form) for hit in find_leaks([tmp_path], [NAME, KOREAN]).findings]
    assert found == [("0.txt", "cp949"), *((f"{n}.txt", "base64") for n in (1, 2, 3))]


def test_base64_in_every_phase_and_line_length(tmp_path):
    for phase in range(3):
        text = base64.encodebytes(b"p" * (60 + phase) + PHONE.encode() + b"after" * 20)
        (tmp_path / f"{phase}.pem").write_bytes(text)
    found = find_leaks([tmp_path], [PHONE]).findings
    assert [(Path(hit.place).name, hit.form) for hit in found] == [(f"{n}.pem", "base64") for n in range(3)]


def test_a_value_broken_over_lines_is_found(tmp_path):
    (tmp_path / "wrapped.txt").write_text("a number 010-00\n    00-4711 wrapped")
    (hit,) = find_leaks([tmp_path], [PHONE]).findings
    assert (hit.form, hit.values, hit.occurrences) == ("raw", 1, 1)


def test_counts_are_of_values_and_of_occurrences(tmp_path):
    (tmp_path / "a.log").write_text(f"{PHONE} {NAME}\n{PHONE}, {PHONE}x {NAME}은\n")
    (hit,) = find_leaks([tmp_path], VALUES).findings
    assert (hit.part, hit.form, hit.values, hit.occurrences) == ("bytes", "raw", 2, 5)


# ---- containers ----------------------------------------------------------------------------------------


def database(path: Path, cells: list[object], mode: str = "delete", encoding: str = "UTF-8") -> None:
    with closing(sqlite3.connect(path)) as opened:
        opened.execute(f'PRAGMA encoding = "{encoding}"')
        opened.execute(f"PRAGMA journal_mode = {mode}")
        opened.execute('CREATE TABLE "odd "" name" (cell)')
        opened.executemany('INSERT INTO "odd "" name" VALUES (?)', [(cell,) for cell in cells])
        opened.commit()


def parquet(path: Path, value: str) -> None:
    columns = {
        "nested": [[{"a": ["x", value]}], []],
        "binary": pa.array([b"\xff\xfe" + value.encode("utf-16-le"), None], pa.binary()),
        "inside": pa.array([[b"\xff" + value.encode("euc-kr")], [value.encode()]], pa.list_(pa.binary())),
        "score": [0.5, 1.5],
    }
    pq.write_table(pa.table(columns), path, compression="zstd")


def zipped(path: Path, members: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def test_every_container_is_looked_into(tmp_path):
    inner = tmp_path / "inner.sqlite"
    database(inner, [1, None, b"\xff", KOREAN], encoding="UTF-16le")
    tree = tmp_path / "tree"
    tree.mkdir()
    database(tree / "plain.db", ["x" * 9000 + KOREAN + "y" * 9000])
    database(tree / "utf16.db", [KOREAN], encoding="UTF-16be")
    database(tree / "wal.db", [KOREAN], mode="wal")
    parquet(tree / "table.parquet", KOREAN)
    (tree / "text.gz").write_bytes(gzip.compress(b"." * 5000 + KOREAN.encode()))
    zipped(tree / "a.zip", {"dir/inner.txt": KOREAN.encode(), "inner.db": inner.read_bytes()})
    twice = io.BytesIO()
    with zipfile.ZipFile(twice, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("deep.txt", KOREAN)
    (tree / "nested.gz").write_bytes(gzip.compress(twice.getvalue()))
    leaks = find_leaks([tree], [KOREAN])
    places = {(Path(hit.place).name, hit.part) for hit in leaks.findings}
    assert places >= {
        ("plain.db", 'table odd " name'),
        ("utf16.db", 'table odd " name'),
        ("wal.db", 'table odd " name'),
        ("table.parquet", "column nested"),
        ("table.parquet", "column binary"),
        ("table.parquet", "column inside"),
        ("text.gz", "unpacked"),
        ("a.zip", "member dir/inner.txt"),
        ("a.zip", 'member inner.db, table odd " name'),
        ("nested.gz", "unpacked, member deep.txt"),
    }
    assert leaks.unread == {}
    assert_tells_nothing(leaks, [KOREAN])
    assert sorted(path.name for path in tree.iterdir()) == sorted({name for name, _ in places}), "nothing is left there"


def test_a_database_in_use_is_searched_with_its_log_and_left_alone(tmp_path):
    with closing(sqlite3.connect(tmp_path / "live.db")) as opened:
        opened.execute("PRAGMA journal_mode = wal")
        opened.execute("CREATE TABLE t (cell)")
        opened.execute("INSERT INTO t VALUES (?)", ("x" * 9000 + KOREAN,))
        opened.commit()
        before = {path.name for path in tmp_path.iterdir()}
        places = {(Path(hit.place).name, hit.part) for hit in find_leaks([tmp_path], [KOREAN]).findings}
        assert ("live.db", "table t") in places
        assert {path.name for path in tmp_path.iterdir()} == before


def test_names_count_and_are_not_told(tmp_path):
    (tmp_path / f"of {NAME}" / "deeper").mkdir(parents=True)
    (tmp_path / f"of {NAME}" / "deeper" / "a.txt").write_text(PHONE)
    (tmp_path / "link").symlink_to(f"nowhere/{PHONE}")
    zipped(tmp_path / "a.zip", {f"{NAME}.txt": b"harmless"})
    leaks = find_leaks([tmp_path], VALUES)
    shown = {(hit.place.removeprefix(str(tmp_path)), hit.part) for hit in leaks.findings}
    hidden = "[a name that holds a value]"
    assert shown >= {
        (f"/{hidden}", "name"),
        (f"/{hidden}/deeper/a.txt", "bytes"),
        ("/link", "link"),
        ("/a.zip", hidden),
    }
    assert_tells_nothing(leaks, VALUES)


def test_links_are_not_followed_and_folders_can_be_left_out(tmp_path):
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    (inside / "restricted").mkdir(parents=True)
    outside.mkdir()
    for folder in (outside, inside / "restricted"):
        (folder / "a.txt").write_text(PHONE)
    (inside / "to").symlink_to(outside)
    assert not find_leaks([inside], VALUES, without=[inside / "restricted"])
    assert len(find_leaks([inside], VALUES).findings) == 1
    assert not find_leaks([inside / "restricted"], VALUES, without=[inside])


def test_what_cannot_be_read_is_told_apart(tmp_path):
    sound = gzip.compress(os.urandom(1 << 16))
    (tmp_path / "cut.gz").write_bytes(sound[:5000])
    (tmp_path / "broken.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 200)
    (tmp_path / "broken.parquet").write_bytes(b"PAR1" + b"\xff" * 200)
    (tmp_path / "a.xz").write_bytes(b"\xfd7zXZ\0" + b"\0" * 20)
    zipped(tmp_path / "cut.zip", {"a.txt": os.urandom(5000), "b.txt": b""})
    (tmp_path / "cut.zip").write_bytes((tmp_path / "cut.zip").read_bytes()[:4000])
    database(tmp_path / "cells.db", ["x", sound])
    database(tmp_path / "text.db", ["PAR1 BZh9 PK"])
    pq.write_table(pa.table({"packed": [sound]}), tmp_path / "cells.parquet")
    (tmp_path / "fine.txt").write_text(PHONE)
    (tmp_path / "PK.txt").write_text("PK is no archive")
    leaks = find_leaks([tmp_path], VALUES)
    assert {Path(place).name for place in leaks.unread} == {
        "cut.gz", "cut.zip", "broken.db", "broken.parquet", "a.xz", "cells.db", "cells.parquet",
    }  # fmt: skip
    for name in ("a.xz", "cells.db", "cells.parquet"):
        assert "packed" in leaks.unread[str(tmp_path / name)]
    assert [Path(hit.place).name for hit in leaks.findings] == ["fine.txt"]


def test_what_was_read_before_the_damage_counts(tmp_path):
    packed = gzip.compress(PHONE.encode() + os.urandom(3 << 20))
    (tmp_path / "cut.gz").write_bytes(packed[: 2 << 20])
    leaks = find_leaks([tmp_path], VALUES)
    assert "unpacked" in {hit.part for hit in leaks.findings}
    assert len(leaks.unread) == 1


def test_what_may_not_be_read_is_told_apart(tmp_path, monkeypatch):
    for name in ("closed", "open"):
        (tmp_path / name).mkdir()
    for name in ("closed/a.txt", "open/a.txt", "open/forbidden.txt"):
        (tmp_path / name).write_text(PHONE)
    scan, opened = os.scandir, Path.open

    def scandir(path):
        if os.fspath(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", os.fspath(path))
        return scan(path)

    def open_file(path, *arguments, **settings):
        if path.name == "forbidden.txt":
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, *arguments, **settings)

    monkeypatch.setattr(os, "scandir", scandir)
    monkeypatch.setattr(Path, "open", open_file)
    leaks = find_leaks([tmp_path], VALUES)
    assert set(leaks.unread) == {str(tmp_path / "closed"), str(tmp_path / "open" / "forbidden.txt")}
    assert [hit.place for hit in leaks.findings] == [str(tmp_path / "open" / "a.txt")]


def test_links_pipes_and_sockets_are_counted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the path of a socket must be short
    os.mkfifo("pipe")
    (tmp_path / "link").symlink_to("pipe")
    with socket.socket(socket.AF_UNIX) as opened:
        opened.bind("socket")
        leaks = find_leaks([tmp_path], VALUES)
    assert (leaks.files, leaks.links, leaks.special, leaks.unread) == (3, 1, 2, {})


# ---- short values and chance ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("Al", "none"), ("Kim", "none"), ("김", "none"), ("a-b", "none"), ("***", "none"), ("123", "none"),
        ("Anna", "words"), ("가상", "words"), ("Taylor", "words"), ("850312", "words"), ("1985-03-12", "words"),
        ("02-123-4567", "words"), ("김가상", "anywhere"), ("Ann Muster", "anywhere"), ("010-1234-5678", "anywhere"),
        ("a@b.example", "anywhere"), ("어머니", "anywhere"),
    ],
)  # fmt: skip
def test_how_far_a_value_is_searched(value, expected):
    assert reach(value) == expected


WORDS = {
    "Anna": (["Anna", "(Anna)", "to Anna.", "Anna씨", '{"a":"Anna"}', "x\\nAnna", "a%20Anna", "Anna\n"],
             ["Annals", "annA", "Joanna", "xAnna", "Anna_1", "anna"]),
    "가상": (["가상", "[가상]", "Kim가상", "가상이", "이름:가상", "\\uac00\\uc0c1abc", "%EA%B0%80%EC%83%81e"],
             ["부가상", "가 상"]),
    "850312": (["850312", "DOB=850312", "(850312)", "850312T00"], ["1850312", "8503120", "a850312f", "0.850312"]),
}  # fmt: skip


@pytest.mark.parametrize("value", WORDS)
def test_short_values_count_as_whole_words_alone(tmp_path, value):
    hits, misses = WORDS[value]
    for number, text in enumerate([*hits, *misses]):
        (tmp_path / f"{number}.txt").write_text(text)
    leaks = find_leaks([tmp_path], [value])
    found = {int(Path(hit.place).stem) for hit in leaks.findings}
    assert found == set(range(len(hits))), [([*hits, *misses])[n] for n in found ^ set(range(len(hits)))]
    assert (leaks.searched, leaks.as_words) == (1, 1)


def test_half_a_character_can_be_searched(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps({"name": "broken \ud83d here"}))
    (hit,) = find_leaks([tmp_path], ["broken \ud83d here"]).findings
    assert hit.form == "escaped"


def test_values_that_stand_in_any_text_are_not_searched_but_counted(tmp_path):
    (tmp_path / "a.txt").write_text("Al and Kim and 김 met Al.")
    leaks = find_leaks([tmp_path], ["Al", "Kim", "김", "Al", PHONE])
    assert not leaks
    assert (leaks.searched, leaks.as_words, leaks.not_searchable) == (1, 0, 3)


def test_hashes_numbers_and_random_bytes_are_clean(tmp_path):
    """Many dates, phone numbers and names against megabytes of what looks random: no hit by chance."""
    draw = random.Random(11)
    values = [f"{draw.randrange(1950, 2010)}{draw.randrange(1, 13):02d}{draw.randrange(1, 29):02d}" for _ in range(300)]
    values += [f"{date[:4]}-{date[4:6]}-{date[6:]}" for date in values]
    values += [f"010-{draw.randrange(10**4):04d}-{draw.randrange(10**4):04d}" for _ in range(300)]
    values += [f"{draw.choice('김이박최')}{chr(draw.randrange(0xAC00, 0xD7A3))}{chr(draw.randrange(0xAC00, 0xD7A3))}"
               for _ in range(300)]  # fmt: skip
    values += ["Anna", "Taylor", "Bernhard"]
    noise = draw.randbytes(1 << 19)
    (tmp_path / "random.bin").write_bytes(noise)
    (tmp_path / "hex.txt").write_text("\n".join(noise[n : n + 32].hex() for n in range(0, len(noise), 32)))
    (tmp_path / "base64.txt").write_bytes(base64.encodebytes(noise))
    (tmp_path / "floats.json").write_text(json.dumps([draw.random() for _ in range(30_000)]))
    assert not find_leaks([tmp_path], values)


# ---- size ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1 << 20, (1 << 20) + 1, 3 << 20])
def test_values_across_the_edges_of_chunks_are_counted_once(tmp_path, size):
    """Files are read by the mebibyte: values right before, on and right after its edges."""
    for shift in (-30, -13, -12, -1, 0, 1):
        data = bytearray(b".- " * (size // 3 + 1))
        places = range((1 << 20) + shift, size, 1 << 20)
        for place in places:
            data[place : place + len(PHONE)] = PHONE.encode()
        (tmp_path / "a.bin").write_bytes(data)
        found = find_leaks([tmp_path], [PHONE, "Anna"]).findings
        assert [hit.occurrences for hit in found] == ([len(places)] if places else [])


def test_a_korean_value_joined_otherwise_across_the_edges_of_chunks(tmp_path):
    joined = "_".join("견본구시험로").encode()
    for shift in range(1, len(joined)):
        data = b"." * ((1 << 20) - shift) + joined + b"."
        (tmp_path / "a.bin").write_bytes(data)
        (hit,) = find_leaks([tmp_path], ["견본구 시험로"]).findings
        assert (hit.form, hit.occurrences) == ("separator-free", 1)


def test_words_across_the_edges_of_chunks(tmp_path):
    for shift in range(-6, 3):
        data = bytearray(b"." * ((1 << 20) + 50))
        data[(1 << 20) + shift : (1 << 20) + shift + 4] = b"Anna"
        (tmp_path / "a.bin").write_bytes(data)
        assert find_leaks([tmp_path], ["Anna"]).findings[0].occurrences == 1
        data[(1 << 20) + shift + 4] = ord("s")
        (tmp_path / "a.bin").write_bytes(data)
        assert not find_leaks([tmp_path], ["Anna"])


def test_memory_does_not_grow_with_the_file(tmp_path):
    peaks = []
    for size in (8 << 20, 24 << 20):
        with (tmp_path / "large.txt").open("wb") as stream:
            for _ in range(size >> 20):
                stream.write(b"some words, " * 87381 + b"....")
            stream.write(NAME.encode())
        tracemalloc.start()
        assert find_leaks([tmp_path], VALUES).findings[0].occurrences == 1
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0] < 30 << 20


def test_long_values_are_searched_by_their_head_in_bounded_memory(tmp_path):
    draw = random.Random(4)
    long = ["-- " + "".join(chr(draw.randrange(0xAC00, 0xD7A3)) for _ in range(400_000)) for _ in range(2)]
    (tmp_path / "a.txt").write_text(long[0][:300])
    (tmp_path / "b.txt").write_text(long[1][:150])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    leaks = find_leaks([tmp_path], [*long, "x" * 200])
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 << 10
    assert [(Path(hit.place).name, hit.form) for hit in leaks.findings] == [("a.txt", "raw")]
    assert (leaks.searched, leaks.cut) == (3, 2)


def test_many_long_values_are_searched_in_turns(tmp_path, monkeypatch):
    monkeypatch.setattr("sm_ops.leaks.search._GROUP_CHARACTERS", 50)
    values = [f"person{number}@example.com" for number in range(9)]
    (tmp_path / "a.txt").write_text(" ".join(values))
    (hit,) = find_leaks([tmp_path], [*values, "long " * 30]).findings
    assert hit.values == 9


def test_more_values_than_one_automaton_holds(tmp_path, monkeypatch):
    monkeypatch.setattr("sm_ops.leaks.search._GROUP", 7)
    values = [f"person{number}@example.com" for number in range(50)]
    for number in (0, 6, 7, 49):
        (tmp_path / f"{number}.txt").write_text(f"{values[number]} {values[0]}")
    (tmp_path / f"{values[30]}.txt").write_text(values[3])
    leaks = find_leaks([tmp_path], values)
    hidden = "[a name that holds a value]"
    assert {Path(hit.place).name for hit in leaks.findings} == {"0.txt", "6.txt", "7.txt", "49.txt", hidden}
    assert (leaks.searched, leaks.files) == (50, 5)
    assert_tells_nothing(leaks, values)
