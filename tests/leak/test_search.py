"""The searcher itself: whatever form a value takes, it is found; what is no value is not."""

from __future__ import annotations

import base64
import gzip
import json
import sqlite3
import zipfile
from contextlib import closing
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from search import found_in, search

pytestmark = pytest.mark.unit

VALUE = "Zq7-Käfer_9x/w41 vTq"
OTHER = "Yp3-Vögel_2m/k77 bRs"

QUOTED = quote(VALUE, safe="")
FORMS = {
    "raw": [VALUE.encode(), VALUE.upper().encode(), VALUE.encode("utf-16-le")],
    "json": [json.dumps({"a": VALUE}).encode(), json.dumps([VALUE], ensure_ascii=False).encode()],
    "percent": [text.encode() for text in (QUOTED, quote(VALUE), QUOTED.replace("%20", "+"))],
    "base64": [
        encode(before + VALUE.encode() + after)
        for encode in (base64.b64encode, base64.urlsafe_b64encode, base64.encodebytes)
        for before in (b"", b"x", b"xy", b"long line before " * 5)
        for after in (b"", b"z", b"zz")
    ],
    "hex": [text.encode() for raw in [VALUE.encode()] for text in (raw.hex(), raw.hex().upper(), raw.hex(" "))],
    "reversed": [VALUE[::-1].encode()],
    "separator-free": [
        text.encode() for text in ("zq7käfer9xw41vtq", "Zq 7 - Kä fer _ 9 x / w 41 v Tq", "Zq7.Käfer.9x.w41.vTq")
    ],
}


@pytest.mark.parametrize(("form", "planted"), [(form, data) for form, all_ in FORMS.items() for data in all_])
def test_each_form_is_found(form, planted):
    assert (0, form) in found_in(b"before " + planted + b" behind", [VALUE])
    assert found_in(planted, [OTHER]) == []


@pytest.mark.parametrize("form", FORMS)
def test_each_form_is_found_below_a_folder(form, tmp_path):
    planted = FORMS[form][0]
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (inner / "plain.log").write_bytes(b"x\n" + planted)
    (inner / "packed.gz").write_bytes(gzip.compress(planted))
    with zipfile.ZipFile(inner / "packed.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inner.txt", planted)
    with closing(sqlite3.connect(inner / "some.db")) as database:
        database.execute('CREATE TABLE "odd ""name" (number INTEGER, content BLOB)')
        database.executemany('INSERT INTO "odd ""name" VALUES (?, ?)', [(1, b""), (2, planted)])
        database.commit()
    pq.write_table(pa.table({"c": [planted]}), inner / "t.parquet")
    hits = search(tmp_path, [OTHER, VALUE])
    assert all(hit.startswith("value 1 as") for hit in hits)
    for place in ("plain.log (bytes)", "packed.gz (unpacked)", "packed.zip (inner.txt)", "some.db (table odd"):
        assert any(f"a/b/{place}" in hit for hit in hits), place


def test_names_and_columns_and_metadata_count(tmp_path):
    (tmp_path / "Zq7-Käfer_9x_w41 vTq").mkdir()
    table = pa.table({"text": [[VALUE], ["x"]]}).replace_schema_metadata({"k": OTHER})
    pq.write_table(table, tmp_path / "t.parquet", compression="zstd")
    hits = search(tmp_path, [VALUE, OTHER])
    assert any("value 0 as separator-free" in hit and "(name)" in hit for hit in hits)
    assert any("value 0" in hit and "t.parquet (columns)" in hit for hit in hits)
    assert any("value 1" in hit and "t.parquet" in hit for hit in hits)


def test_left_out_folders_are_not_searched_and_hits_hold_no_value(tmp_path):
    (tmp_path / "restricted").mkdir()
    (tmp_path / "restricted" / "x").write_text(VALUE)
    assert search(tmp_path, [VALUE], without=[tmp_path / "restricted"]) == []
    assert found_in("\n".join(search(tmp_path, [VALUE])).encode(), [VALUE]) == []
