"""Drive `sm-ops pii` in this process, and write the files that it reads."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq

from sm_ops.cli import main
from sm_ops.vault import Vault


class Done(NamedTuple):
    code: int
    out: str
    err: str


def sm_ops(*words: object, typed: str = "") -> Done:
    """Run one command line as the shell would."""
    out, err = io.StringIO(), io.StringIO()
    given = mock.patch.multiple(sys, argv=["sm-ops", *map(str, words)], stdin=io.StringIO(typed))
    with redirect_stdout(out), redirect_stderr(err), given:
        try:
            main()
        except SystemExit as end:
            return Done(int(end.code or 0), out.getvalue(), err.getvalue())
    raise AssertionError("main always exits")


def pii(*words: object, typed: str = "") -> Done:
    """A command that must end well."""
    done = sm_ops("pii", *words, typed=typed)
    assert done.code == 0, done.err
    return done


def write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    """Rows as the path's suffix says."""
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(list(rows)), path)
    else:
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), newline="")
    return path


def read_rows(path: Path) -> list[dict[str, Any]]:
    if path.suffix == ".parquet":
        return pq.read_table(path).to_pylist()
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


def mappings(name: str) -> dict[str, dict[str, str]]:
    with Vault().mappings(name) as found:
        return dict(found.items())


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
