"""Several processes at one vault: readers see a whole state, and of two writers the later one stands."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from driving import environment, wait_for
from vault_samples import RECORDS, fill

from sm_ops.core.errors import InputError
from sm_ops.vault import Vault

WRITER = """
import sys; from pathlib import Path; from sm_ops.vault import Vault
vault, mark, times = Vault(Path(sys.argv[1])), sys.argv[2], int(sys.argv[3])
for turn in range(times):
    with vault.writer("shared") as writer:
        for number in range(300):
            writer.add(f"{number}", {"[PERSON_1]": f"{mark}-{turn}-" + "x" * 300})
    vault.add_values("shared", [("PERSON", f"{mark}-{turn}")])
"""
ENDLESS = """
import sys; from pathlib import Path; from sm_ops.vault import Vault
with Vault(Path(sys.argv[1])).writer("notes") as writer:
    number = 0
    while True:
        writer.add(f"{number}", {"[PERSON_1]": "x" * 1000}); number += 1
"""


def start(program: str, vault: Vault, *arguments: str) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-c", program, str(vault.folder), *arguments]
    return subprocess.Popen(words, env=environment(vault.folder.parent), stderr=subprocess.PIPE)


def test_two_writers_and_a_reader_do_not_disturb_each_other(vault):
    turns = 12
    writers = [start(WRITER, vault, mark, str(turns)) for mark in ("left", "right")]
    wait_for(lambda: "shared" in vault.names())
    seen = 0
    while any(writer.poll() is None for writer in writers):
        with vault.mappings("shared") as mappings:
            marks = {mapping["[PERSON_1]"].rstrip("x") for _, mapping in mappings.items()}
        assert len(marks) == 1, "a reader sees one writer's mappings, whole"
        assert vault.status(verify=True)["datasets"][0]["state"] == "verified"
        seen += 1
    for writer in writers:
        assert writer.wait() == 0, writer.stderr.read()
        writer.stderr.close()
    assert seen > 3
    assert vault.status(verify=True)["datasets"][0]["records"] == 300
    added = {value for _, value in vault.values("shared") if not value.endswith("x")}
    assert added == {f"{mark}-{turn}" for mark in ("left", "right") for turn in range(turns)}, "no addition is lost"
    files = list((vault.folder / "datasets" / "shared").iterdir())
    assert len(files) == 5
    assert list((vault.folder / "writing").iterdir()) == []


def test_a_killed_writer_leaves_the_old_state(vault):
    fill(vault)
    before = {path: path.read_bytes() for path in vault.folder.glob("datasets/*/*")}
    writer = start(ENDLESS, vault)
    wait_for(lambda: sum(path.stat().st_size for path in vault.folder.glob("writing/*/*.segment")) > 1 << 20)
    os.kill(writer.pid, signal.SIGKILL)
    writer.communicate()
    assert {path: path.read_bytes() for path in vault.folder.glob("datasets/*/*")} == before
    assert dict(vault.mappings("notes").items()) == RECORDS
    fill(vault, "other")
    assert list((vault.folder / "writing").iterdir()) == [], "the next writer removes what the dead one left"


def test_a_living_writer_is_not_swept_away_by_the_next(vault):
    with vault.writer("slow") as slow:
        slow.add("a", {"[REL_1]": "딸"})
        fill(vault)
        time.sleep(0.01)
        slow.add("b", {})
    assert [record_id for record_id, _ in vault.mappings("slow").items()] == ["a", "b"]


def test_of_two_first_writers_one_is_refused_and_the_other_stands(vault):
    vault.add_values("notes", [("REL", "딸")])

    def late() -> None:
        with vault.writer("notes", replace=False) as writer:
            writer.add("late", {})
            with vault.writer("notes", replace=False) as first:
                first.add("first", {})

    with pytest.raises(InputError, match=r"has mappings 'notes'.*--replace"):
        late()
    assert dict(vault.mappings("notes").items()) == {"first": {}}
    with pytest.raises(InputError, match="has mappings 'notes'"), vault.writer("notes", replace=False):
        pytest.fail("it is refused before any work")
    vault.shred("notes")
    with vault.writer("notes", replace=False) as writer:
        writer.add("again", {})
    assert dict(vault.mappings("notes").items()) == {"again": {}}
