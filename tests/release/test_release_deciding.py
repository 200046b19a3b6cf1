"""Requests and approvals as people type them: questions, red lines, exit codes, the next command."""

from __future__ import annotations

import sys

import made_release as made
import pytest
from calling import call_cli

from sm_ops.core import fs
from sm_ops.release import envelopes, people
from sm_ops.release.folder import DECISION, LOG, Release
from sm_ops.release.states import state_of


@pytest.fixture
def release(tmp_path) -> Release:
    """Its checks pass; Ada (engineer), Ben (privacy) and Cleo (data) are listed."""
    release = made.make_bundle(tmp_path / "home")
    made.add_checks(release)
    return release


def payload(release):
    return envelopes.read((release.folder / DECISION).read_bytes(), DECISION).payload


@pytest.fixture
def cli(monkeypatch, capsys, tmp_path):
    """Commands in a folder with the key files of Ada, Ben and Cleo."""
    monkeypatch.setattr(people, "_ROUNDS", 2)
    monkeypatch.setenv("SM_OPS_KEY_PASSPHRASE", "three plain words")
    monkeypatch.chdir(tmp_path)
    for name in ("ada", "ben", "cleo"):
        _write_key(tmp_path / f"{name}.pem", made.signer(name))
    return lambda *words: call_cli(monkeypatch, capsys, *words)


def _write_key(path, signer):
    from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat

    private = signer._private_key
    path.write_bytes(
        private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"three plain words"))
    )
    path.chmod(0o600)


def test_what_nobody_could_approve_is_told_at_the_check_and_not_asked_for(tmp_path, cli):
    policy = made.POLICY | {"checks": {"schema": {}}, "approvals": {"count": 2, "roles": ["legal"], "days": 14}}
    made.make_bundle(tmp_path / "home", policy=policy)
    checked = cli("release", "check", "notes@1")
    assert checked.returncode == 0
    told = "No listed key has the role legal; add one with: sm-ops release key add FILE.pub --role legal"
    assert checked.stderr.splitlines()[-2:] == [told, "next: sm-ops release request notes@1 --key FILE --reason TEXT"]
    asked = cli("release", "request", "notes@1", "--key", "ada.pem", "--reason", "a study needs them")
    assert (asked.returncode, (tmp_path / "home/releases/notes@1" / DECISION).exists()) == (2, False)
    assert "No listed key beside ada's has the role legal" in asked.stderr


def test_more_approvals_than_keys_are_told_and_not_asked_for(tmp_path, cli):
    policy = made.POLICY | {"checks": {"schema": {}}, "approvals": {"count": 3, "roles": [], "days": 14}}
    made.make_bundle(tmp_path / "home", policy=policy)
    told = "3 approvals are needed, and 2 keys beside the requester's can give them"
    assert told in cli("release", "check", "notes@1").stderr
    asked = cli("release", "request", "notes@1", "--key", "ada.pem", "--reason", "a study needs them")
    assert asked.returncode == 2
    assert told in asked.stderr


def test_two_people_decide_on_the_command_line(release, cli):
    asked = cli("release", "request", "notes@1", "--key", "ada.pem", "--reason", "a study needs them")
    assert (asked.returncode, asked.stdout) == (0, "notes@1 requested\n")
    assert asked.stderr.endswith("next: sm-ops release approve notes@1 --key FILE\n")
    again = cli("release", "request", "notes@1", "--key", "ada.pem", "--reason", "a study needs them")
    assert (again.returncode, again.stdout) == (0, "notes@1 already requested\n")

    digest = fs.sha256(payload(release))
    unasked = cli("release", "approve", "notes@1", "--key", "ben.pem")
    assert unasked.returncode == 2
    assert "Nobody can be asked here" in unasked.stderr
    assert cli("release", "approve", "notes@1", "--key", "ben.pem", "--yes").returncode == 2
    other = cli("release", "approve", "notes@1", "--key", "ben.pem", "--yes", "--digest", "0" * 64)
    assert other.returncode == 2
    assert "nothing was signed" in other.stderr
    own = cli("release", "approve", "notes@1", "--key", "ada.pem", "--yes", "--digest", digest)
    assert own.returncode == 4
    assert "ada has asked for notes@1" in own.stderr
    one = cli("release", "approve", "notes@1", "--key", "ben.pem", "--yes", "--digest", digest)
    assert (one.returncode, one.stdout) == (0, f"digest {digest}\nnotes@1 approved with this key\n")
    assert "1 more signature is needed." in one.stderr
    two = cli("release", "approve", "notes@1", "--key", "cleo.pem", "--yes", "--digest", digest)
    assert two.returncode == 0
    assert two.stderr.endswith("next: sm-ops release publish notes@1 --to PLACE\n")
    no = cli("release", "reject", "notes@1", "--key", "ben.pem", "--reason", "a name was left in")
    assert (no.returncode, no.stdout) == (0, "notes@1 rejected\n")
    late = cli("release", "approve", "notes@1", "--key", "ben.pem", "--yes", "--digest", digest)
    assert late.returncode == 2
    assert "notes@1 is rejected, so `approve`" in late.stderr
    (release.folder / "data" / "train.jsonl").write_text("")
    changed = cli("release", "request", "notes@1", "--key", "ada.pem", "--reason", "again")
    assert changed.returncode == 5
    assert "data/train.jsonl" in changed.stderr


def test_an_approver_reads_and_types_the_version(tmp_path, cli, monkeypatch):
    release = made.make_bundle(tmp_path / "home", version="1.0")
    made.add_checks(release, waived={"duplicates": "two greetings, known and harmless"})
    made.request(release)
    made.approve(release, "ben")
    typed = iter(["1\n", "1.0\n"])
    monkeypatch.setattr(sys, "stdin", _Terminal(lambda: next(typed)))
    for half in (["--yes"], ["--digest", fs.sha256(payload(release))]):
        refused = cli("release", "approve", "notes@1.0", "--key", "cleo.pem", *half)
        assert (refused.returncode, "together, or neither" in refused.stderr) == (2, True)
    other = cli("release", "approve", "notes@1.0", "--key", "cleo.pem")
    assert other.returncode == 2
    assert "Something else was typed" in other.stderr
    done = cli("release", "approve", "notes@1.0", "--key", "cleo.pem")
    assert done.returncode == 0, done.stderr
    read = done.stderr.partition("Type the version (1.0) to approve notes@1.0")[0]
    for words in (
        "Requested:  by ada on",
        "the notes are needed outside",
        "WAIVED: duplicates: duplicates: fail Waived by ben: two greetings, known and harmless",
        "Approved by: ben. 1 more signature is needed.",
    ):
        assert words in read
    assert done.stdout.startswith(f"digest {fs.sha256(payload(release))}\n")
    assert state_of(release).name == "approved"


def test_what_is_waived_or_fails_is_red_on_a_terminal(tmp_path, cli, monkeypatch):
    release = made.make_bundle(tmp_path / "home")
    made.add_checks(release, waived={"duplicates": "known"})
    made.request(release)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr("typer.secho", lambda text, **how: print(how["fg"], text, file=sys.stderr))
    said = cli("release", "approve", "notes@1", "--key", "cleo.pem")
    assert "\nred WAIVED: duplicates" in said.stderr
    assert said.stderr.count("red ") == 1


class _Terminal:
    def __init__(self, readline):
        self.readline = readline

    def isatty(self):
        return True


def test_a_closed_stream_asks_nobody(release, cli, monkeypatch):
    made.request(release)
    monkeypatch.setattr(sys, "stdin", None)
    unasked = cli("release", "approve", "notes@1", "--key", "ben.pem")
    assert (unasked.returncode, "Nobody can be asked here" in unasked.stderr) == (2, True)
    monkeypatch.delenv("SM_OPS_KEY_PASSPHRASE")
    unasked = cli("release", "reject", "notes@1", "--key", "ben.pem", "--reason", "why")
    assert (unasked.returncode, "Nobody can be asked for the passphrase" in unasked.stderr) == (2, True)


def test_the_log_and_files_hold_no_passphrase(release, cli):
    cli("release", "request", "notes@1", "--key", "ada.pem", "--reason", "why")
    assert all(b"three plain words" not in path.read_bytes() for path in release.home.rglob("*") if path.is_file())
    assert b"request" in (release.folder / LOG).read_bytes()
