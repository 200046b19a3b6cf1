"""The log of a release: a chain with a signed head, written whole or not at all, read from read-only homes too."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import dying
import made_release as made
import pytest
from calling import call_cli

from sm_ops.core import fs
from sm_ops.core.errors import InputError, IntegrityError
from sm_ops.release import clock, envelopes, keys, ledger
from sm_ops.release.folder import HEAD, LOG, Release
from sm_ops.release.reading import FolderReader
from sm_ops.release.verbs.log import log
from sm_ops.release.verification import verify

UNIT = pytest.mark.unit


@pytest.fixture
def home(tmp_path) -> Path:
    return tmp_path / "home"


@pytest.fixture(scope="module")
def made_home(tmp_path_factory) -> Path:
    home = tmp_path_factory.mktemp("approved") / "home"
    made.approved(home)
    return home


@pytest.fixture
def release(home, made_home) -> Release:
    """An approved release: five lines."""
    shutil.copytree(made_home, home)
    return Release(home, "notes", "1")


@pytest.fixture
def cli(monkeypatch, capsys):
    """Call `sm-ops release ...`."""
    return lambda *arguments: call_cli(monkeypatch, capsys, "release", *map(str, arguments))


def lines_of(release: Release) -> list[bytes]:
    return (release.folder / LOG).read_bytes().splitlines(keepends=True)


def refused(release: Release) -> str:
    """What `log --verify` says."""
    with pytest.raises(IntegrityError) as error:
        log(release.home, str(release), verify=True)
    return error.value.hint


# ---- what it tells --------------------------------------------------------------------------------------


@UNIT
def test_it_tells_who_did_what(release, cli):
    done = cli("log", "notes@1", "--verify")
    assert (done.returncode, done.stderr) == (0, "5 lines, each as it was written, none missing\n")
    told = [line.split("  ")[1:3] for line in done.stdout.splitlines()]
    assert [[release, action.strip()] for release, action in told] == [
        ["notes@1", action] for action in ("build", "check", "request", "approve", "approve")
    ]
    assert "ben (" in done.stdout.splitlines()[3]
    lines = json.loads(cli("log", "notes@1", "--json").stdout)
    assert [line["sequence"] for line in lines] == [1, 2, 3, 4, 5]
    assert lines[1]["previous"] == fs.sha256(lines_of(release)[0])
    assert lines[4]["files"] == {"decision.dsse.json": fs.file_hash(release.folder / "decision.dsse.json")}


@UNIT
def test_every_release_of_a_home_at_once(home, release, cli):
    made.make_bundle(home, version="2")
    assert [line["release"] for line in log(home, verify=True)].count("notes@2") == 1
    assert len(log(home)) == 6
    (home / "releases" / "notes@2" / LOG).write_bytes(b"")
    done = cli("log", "--verify")
    assert done.returncode == 5
    assert "notes@2: log.jsonl is empty" in done.stderr
    assert cli("log", "notes@3").returncode == 2


# ---- what was done to it --------------------------------------------------------------------------------

_CHANGES = {
    "the first removed": (lambda lines: lines[1:], "line 1"),
    "one removed": (lambda lines: lines[:2] + lines[3:], "line 3"),
    "two exchanged": (lambda lines: [lines[0], lines[2], lines[1], *lines[3:]], "line 2"),
    "one changed": (lambda lines: [lines[0], lines[1].replace(b"builder", b"nobody"), *lines[2:]], "line 3"),
    "one twice": (lambda lines: [*lines[:2], lines[1], *lines[2:]], "line 3"),
    "the last cut": (lambda lines: [*lines[:4], lines[4][:-9]], "line 5"),
    "without its end": (lambda lines: [*lines[:4], lines[4][:-1]], "line 5"),
    "the last changed": (lambda lines: [*lines[:4], lines[4].replace(b'"cleo"', b'"dora"')], HEAD),
    "the last removed": (lambda lines: lines[:4], HEAD),
    "all removed": (lambda lines: [], "is empty"),
    "an empty line": (lambda lines: [*lines, b"\n"], "line 6"),
    "no object": (lambda lines: [*lines, b"[]\n"], "line 6"),
    "a line of other fields": (lambda lines: [*lines, b'{"sequence":6}\n'], "line 6"),
    "no text at all": (lambda lines: [*lines, b"\xff\xfe\n"], "line 6"),
}


@UNIT
@pytest.mark.parametrize("what", _CHANGES)
def test_lines_that_were_removed_changed_or_reordered(release, what):
    change, named = _CHANGES[what]
    (release.folder / LOG).write_bytes(b"".join(change(lines_of(release))))
    assert named in refused(release)
    if named.startswith("line"):
        with pytest.raises(IntegrityError, match=named):
            ledger.read_log(release)


@UNIT
def test_a_line_of_good_form_that_was_added(release):
    last = json.loads(lines_of(release)[-1])
    added = last | {"sequence": 6, "previous": fs.sha256(lines_of(release)[-1])}
    (release.folder / LOG).write_bytes(b"".join([*lines_of(release), made.canonical(added)]))
    assert HEAD in refused(release)


@UNIT
def test_heads_that_are_not_of_this_log(home, release, tmp_path):
    whole, head = (release.folder / LOG).read_bytes(), (release.folder / HEAD).read_bytes()
    shutil.copy(made.make_bundle(home, version="2").folder / HEAD, release.folder / HEAD)
    assert HEAD in refused(release)
    digest = fs.sha256(whole.splitlines(keepends=True)[-1])
    stranger = keys.builder(tmp_path / "other")
    for sequence, signers in ((5, [stranger]), (4, [keys.builder(home)]), (5, [])):
        forged = envelopes.signed(envelopes.statement("head", {LOG: digest}, {"sequence": sequence}), signers)
        (release.folder / HEAD).write_bytes(forged)
        assert HEAD in refused(release)
    (release.folder / HEAD).unlink()
    assert HEAD in refused(release)
    (release.folder / HEAD).write_bytes(head)
    assert len(log(home, "notes@1", verify=True)) == 5


@UNIT
@pytest.mark.parametrize("damage", ["cut", "another head"])
def test_no_line_is_added_to_a_log_that_was_changed(home, release, damage):
    """Else the next line's head would cover up what was cut off."""
    if damage == "cut":
        (release.folder / LOG).write_bytes(b"".join(lines_of(release)[:4]))
    else:
        shutil.copy(made.make_bundle(home, version="2").folder / HEAD, release.folder / HEAD)
    before = fs.content_hash(release.folder)
    with pytest.raises(IntegrityError):
        made.approve(release, "ada")
    assert fs.content_hash(release.folder) == before


@UNIT
def test_a_clock_that_was_set_back(release, monkeypatch):
    past = clock.now().replace(year=2020)
    monkeypatch.setattr(clock, "now", lambda: past)
    before = fs.content_hash(release.folder)
    with pytest.raises(InputError, match="set the clock right"):
        made.approve(release, "ada")
    assert fs.content_hash(release.folder) == before


# ---- writers ---------------------------------------------------------------------------------------------

_WRITER = """
import sys; from pathlib import Path
import made_release as made
from sm_ops.release.folder import Release
release = Release(Path(sys.argv[1]), "notes", "1")
for number in range(10):
    made.put(release, "README.md", f"{sys.argv[2]} {number}".encode())
"""


def test_two_writers_at_once(home):
    release = made.make_bundle(home)
    path = os.pathsep.join([str(Path(made.__file__).parent), str(Path(made.__file__).parents[2])])
    environment = {**os.environ, "PYTHONPATH": path}
    commands = [[sys.executable, "-c", _WRITER, str(home), name] for name in ("one", "two")]
    writers = [subprocess.Popen(command, env=environment) for command in commands]
    assert [writer.wait(120) for writer in writers] == [0, 0]
    assert len(log(home, "notes@1", verify=True)) == 21
    assert verify(FolderReader(release.folder), None).lines == 21


@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.slow)])
def test_a_change_that_is_killed_is_made_whole_or_not_at_all(home, tmp_path, every):
    """One that writes two files, one of them in a new folder, and removes a third."""
    start = made.make_bundle(home, version="start")
    made.add_checks(start)
    files = {"README.md": b"# New\n", "waivers/k.dsse.json": b"{}\n", "report.html": None}
    shutil.copytree(home, tmp_path / "kept")
    before = fs.content_hash(start.folder)

    def work() -> None:
        with ledger.opened(start):
            ledger.record(start, "check", ledger.Actor("builder", keys.builder(home).public_key.keyid), files)

    attempts, ends = [], []
    for attempt in dying.deaths(work, every):
        attempts.append(attempt)
        with ledger.opened(start):  # whoever comes next
            pass
        changed = fs.content_hash(start.folder) != before
        ends.append(changed)
        assert not list(start.work.iterdir()), "nothing unfinished is left"
        assert len(log(home, str(start), verify=True)) == (3 if changed else 2)
        there = {path: (start.folder / path).exists() for path in files}
        assert there == {"README.md": True, "waivers/k.dsse.json": changed, "report.html": not changed}
        shutil.rmtree(home)
        shutil.copytree(tmp_path / "kept", home)
    assert [(each.killed, each.exit_code) for each in attempts[-2:]] == [(True, 0), (False, 0)]
    assert ends == sorted(ends), "until one moment nothing, from then on all of it"
    assert {*ends} == {False, True}


# ---- readers ---------------------------------------------------------------------------------------------


@UNIT
def test_ls_lists_what_is_there(home, release, cli):
    made.add_checks(made.make_bundle(home, "other", "2.0"))
    rows = json.loads(cli("ls", "--json").stdout)
    assert [(row["name"], row["version"], row["state"], row["due"]) for row in rows] == [
        ("notes", "1", "approved", "publish"),
        ("other", "2.0", "checked", "request"),
    ]
    assert rows[0]["path"] == str(release.folder)
    assert "notes@1  approved" in cli("ls").stdout


@UNIT
def test_ls_of_an_empty_home(cli):
    assert (cli("ls").returncode, cli("ls", "--json").stdout) == (0, "[]\n")


@UNIT
@pytest.mark.parametrize("file", ["decision.dsse.json", "checks.json", LOG, "manifest.json", "policy.yaml"])
def test_ls_of_a_damaged_bundle_says_so_and_goes_on(home, release, cli, file):
    made.make_bundle(home, "other")
    (release.folder / file).write_bytes(b"\xff[")
    done = cli("ls", "--json")
    assert done.returncode == 0, done.stderr
    rows = {row["name"]: row for row in json.loads(done.stdout)}
    assert rows["other"]["state"] == "built"
    if file != "manifest.json":  # which says nothing of the state
        assert rows["notes"]["state"] == "damaged"
        assert rows["notes"]["problem"]
        assert "notes@1  damaged" in cli("ls").stdout


@pytest.mark.parametrize("file", ["manifest.json", "log.jsonl"])
def test_ls_of_a_bundle_that_lacks_a_file(release, cli, file):
    (release.folder / file).unlink()
    (row,) = json.loads(cli("ls", "--json").stdout)
    assert (row["state"], row["due"]) == ("damaged", None)


@pytest.fixture
def read_only(home):
    """Makes the home one that cannot be written to."""
    if os.geteuid():
        pytest.skip("a read-only disk needs root and mount; root's writes ignore permissions")

    def close() -> None:
        for command in (["mount", "--bind", str(home), str(home)], ["mount", "-o", "remount,ro,bind", str(home)]):
            done = subprocess.run(command, check=False, capture_output=True, text=True)
            if done.returncode:
                pytest.skip(f"this user may not mount: {done.stderr.strip()}")

    yield close
    subprocess.run(["umount", "-l", str(home)], check=False, capture_output=True)


def test_a_read_only_home_can_be_read(home, release, read_only, cli):
    shutil.rmtree(home / "locks")
    read_only()
    for words in (["verify", "notes@1"], ["log", "notes@1", "--verify"], ["ls"]):
        done = cli(*words)
        assert (done.returncode, done.stderr.count("Read-only")) == (0, 0), done.stderr


def test_an_older_copy_in_a_read_only_home(home, release, read_only, cli):
    older = shutil.copytree(release.folder, home.parent / "older")
    made.reject(release)
    shutil.rmtree(release.folder)
    shutil.copytree(older, release.folder)
    read_only()
    for words in (["verify", "notes@1"], ["log", "notes@1"]):
        done = cli(*words)
        assert (done.returncode, "set back or replaced" in done.stderr) == (5, True)
    assert "damaged" in cli("ls").stdout


def test_a_change_left_half_done_in_a_read_only_home(home, release, read_only, cli):
    (home / "releases" / ".work" / "notes@1~change").mkdir(parents=True)
    read_only()
    done = cli("verify", "notes@1")
    assert done.returncode == 2
    assert "half done" in done.stderr
    assert "damaged" in cli("ls").stdout
