"""`sm-ops vault`: what it prints, what it refuses by line, and that no value is ever among it."""

from __future__ import annotations

import base64
import errno
import json
import os
import pty
import subprocess

import pytest
from calling import call_cli
from driving import command, environment
from vault_samples import VALUES, fill

from sm_ops.vault import Vault

pytestmark = pytest.mark.unit

SECRET = "secret.person@example.com"


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


@pytest.fixture
def sm_ops(monkeypatch, capsys):
    def call(*arguments, code=0):
        done = call_cli(monkeypatch, capsys, *arguments)
        assert done.returncode == code, done.stderr
        for value in (SECRET, "김견본", "김가상"):
            assert value not in done.stdout + done.stderr
        return done

    return call


def test_from_init_to_shred(sm_ops, home, tmp_path):
    made = sm_ops("vault", "init")
    assert made.stdout == f"{home}/vault\n"
    assert "protects a copy of the vault's folder, and nothing against whoever copies or reads the home" in made.stderr
    assert made.stderr.endswith("next: sm-ops vault status\n")
    known = tmp_path / "known.tsv"
    known.write_bytes(f"\ufeffPERSON\t 김견본 \r\n\r\nemail\t{SECRET}\nEMAIL\t{SECRET}".encode())
    added = sm_ops("vault", "add", "customers", str(known))
    assert added.stdout == "customers: 2 known values added\n"
    assert "remove it" in added.stderr
    assert list(Vault(home / "vault").values("customers")) == VALUES
    known = tmp_path / "known.jsonl"
    known.write_text(json.dumps({"type": "PERSON", "value": "김\n가상"}) + "\n\n")
    assert sm_ops("vault", "add", "customers", str(known)).stdout == "customers: 1 known values added\n"
    rotated = sm_ops("vault", "rotate", "--key", f"file:{tmp_path}/next.key")
    assert rotated.stdout == "customers\n"
    assert "older backups of the vault need it" in rotated.stderr
    shown = sm_ops("vault", "status", "--verify").stdout
    assert "customers" in shown
    assert "verified" in shown
    assert "3 known values" in shown
    refused = sm_ops("vault", "shred", "customers", "--yes-shred", "customer", code=2)
    assert "nothing was shredded" in refused.stderr
    sm_ops("vault", "shred", "customers", "--yes-shred", "customers")
    assert "shredded" in sm_ops("vault", "status").stdout
    found = json.loads(sm_ops("vault", "status", "--json").stdout)
    assert (found["datasets"], found["shredded"][0]["values"]) == ([], 3)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.tsv", f"EMAIL\ta@b.example\n{SECRET}\n", "line 2 has no TAB"),
        ("a.tsv", f"EMAIL\ta@b.example\nMAIL\t{SECRET}\n", "line 2 has none of the types RRN"),
        ("a.tsv", "PERSON\t \u3000\n", "line 1 has an empty value"),
        ("a.jsonl", f'{{"type": "EMAIL", "value": "{SECRET}"\n', "line 1 is no JSON object"),
        ("a.jsonl", f'\n["EMAIL", "{SECRET}"]\n', "line 2 is no JSON object"),
        ("a.jsonl", '{"type": "EMAIL", "value": 5}\n', "line 1 is no JSON object"),
        ("a.jsonl", '{"type": "EMAIL", "value": "\\ud800"}\n', "line 1 holds half a character"),
        ("a.tsv", SECRET.encode() + b"\xff\t\n", "is not UTF-8"),
    ],
)
def test_rows_that_are_none_are_refused_by_line(sm_ops, home, tmp_path, name, content, words):
    Vault(home / "vault").init()
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    (line,) = sm_ops("vault", "add", "customers", str(path), code=2).stderr.splitlines()
    assert words in line
    assert Vault(home / "vault").names() == []


def test_nothing_is_called_verified_without_the_key(sm_ops, home):
    vault = Vault(home / "vault")
    vault.init()
    fill(vault)
    sound = vault.key_file.read_bytes()
    for content in (None, b"malformed", base64.b64encode(bytes(32))):
        vault.key_file.unlink()
        if content is not None:
            vault.key_file.write_bytes(content)
            vault.key_file.chmod(0o600)
        assert "sealed" in sm_ops("vault", "status").stdout
        assert "nothing that is sealed was verified" in sm_ops("vault", "status", "--verify", code=2).stderr
        vault.key_file.write_bytes(sound)
        vault.key_file.chmod(0o600)
    sm_ops("vault", "status", "--verify")


def test_the_old_key_is_given_up_only_where_it_was_replaced(sm_ops, home, tmp_path):
    words = "old master key opens nothing"
    vault = Vault(home / "vault")
    vault.init()
    fill(vault)
    assert words not in sm_ops("vault", "rotate", "--key", f"file:{vault.key_file}", "--data-keys").stderr
    assert words in sm_ops("vault", "rotate", "--key", f"file:{tmp_path}/next.key").stderr


def test_shredding_that_is_not_finished_ends_with_3(sm_ops, home, monkeypatch):
    vault = Vault(home / "vault")
    vault.init()
    fill(vault)

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", refuse)
        refused = sm_ops("vault", "shred", "notes", "--yes-shred", "notes", code=2)
    assert "is not destroyed" in refused.stderr
    assert "shredding" in sm_ops("vault", "status", code=3).stdout
    sm_ops("vault", "shred", "notes", "--yes-shred", "notes")
    sm_ops("vault", "status")


def test_damage_is_shown_and_ends_with_3(sm_ops, home):
    vault = Vault(home / "vault")
    vault.init()
    fill(vault)
    (path, _) = sorted((home / "vault" / "datasets" / "notes").glob("*.segment"))
    path.unlink()
    done = sm_ops("vault", "status", code=3)
    assert "damaged" in done.stdout
    assert "is missing" in done.stdout


def test_shred_asks_for_the_name_on_a_terminal_and_refuses_without_one(sm_ops, home):
    vault = Vault(home / "vault")
    vault.init()
    fill(vault, "notes")
    assert "add: --yes-shred notes" in sm_ops("vault", "shred", "notes", code=2).stderr
    for typed, code in (("note", 2), ("notes", 0)):
        terminal, other_end = pty.openpty()
        process = subprocess.Popen(
            command("vault", "shred", "notes"), env=environment(home), stdin=other_end, stdout=-1, stderr=-1, text=True
        )
        os.write(terminal, f"{typed}\n".encode())
        _, errors = process.communicate(timeout=60)
        assert process.returncode == code, errors
        assert "Type its name to go on" in errors
        os.close(terminal)
        os.close(other_end)
    assert vault.names() == []
