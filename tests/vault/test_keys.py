"""Rotation re-wraps or encrypts anew and can be killed anywhere; shredding destroys one dataset for good."""

from __future__ import annotations

import base64
import errno
import os
import re
from pathlib import Path

import pytest
from vault_samples import RECORDS, VALUES, fill, new_key

from sm_ops.core.errors import InputError
from sm_ops.vault import Vault

pytestmark = pytest.mark.unit


@pytest.fixture
def full(vault) -> Vault:
    for name in ("first", "second", "third"):
        fill(vault, name)
        vault.add_values(name, VALUES)
    return vault


def all_read(vault: Vault) -> bool:
    """Whether every dataset gives back what was put into it; asserts that it does, or says that a key is missing."""
    for name in ("first", "second", "third"):
        with vault.mappings(name) as mappings:
            assert dict(mappings.items()) == RECORDS
        assert list(vault.values(name))[: len(VALUES)] == VALUES
    return True


def contents(vault: Vault) -> dict[str, bytes]:
    return {
        str(path.relative_to(vault.folder)): path.read_bytes() for path in vault.folder.rglob("*") if path.is_file()
    }


# ---- rotation ------------------------------------------------------------------------------------------


def test_a_new_master_key_wraps_every_data_key(full, tmp_path):
    before = contents(full)
    assert full.rotate(f"file:{tmp_path}/next.key") == ["first", "second", "third"]
    changed = {name for name, data in contents(full).items() if before.get(name) != data}
    assert changed == {name for name in before if "/key-" in name} | {"vault.json"}, "data is not encrypted anew"
    full.key_file.unlink()
    assert all_read(full)
    fill(full, "fourth")
    assert full.rotate(f"file:{tmp_path}/next.key") == [], "nothing is left to do"


def test_the_old_master_key_opens_nothing_any_more(full, tmp_path, monkeypatch):
    full.rotate(f"file:{tmp_path}/next.key")
    (tmp_path / "next.key").unlink()
    monkeypatch.setenv("SM_OPS_VAULT_KEY", full.key_file.read_text())
    with pytest.raises(InputError, match="is not the one"):
        full.mappings("first")


def test_from_the_environment_to_the_environment(tmp_path, monkeypatch):
    old, new = new_key(), new_key()
    monkeypatch.setenv("SM_OPS_VAULT_KEY", old)
    vault = Vault(tmp_path / "vault")
    vault.init("env")
    fill(vault)
    with pytest.raises(
        InputError, match="SM_OPS_VAULT_NEW_KEY holds no key; make one with: export SM_OPS_VAULT_NEW_KEY="
    ):
        vault.rotate("env")
    monkeypatch.setenv("SM_OPS_VAULT_NEW_KEY", new)
    assert vault.rotate("env") == ["notes"]
    monkeypatch.delenv("SM_OPS_VAULT_NEW_KEY")
    with pytest.raises(InputError, match="is not the one"):
        vault.mappings("notes")
    monkeypatch.setenv("SM_OPS_VAULT_KEY", new)
    assert dict(vault.mappings("notes").items()) == RECORDS


def test_new_data_keys_encrypt_everything_anew(full):
    before = contents(full)
    assert full.rotate(data_keys=True) == ["first", "second", "third"]
    after = contents(full)
    segments = {name for name in before if name.endswith(".segment")}
    assert len(segments) == 9
    assert segments.isdisjoint(after)
    assert {name for name in before if "/key-" in name}.isdisjoint(after)
    assert all_read(full)
    assert {state["state"] for state in full.status(verify=True)["datasets"]} == {"verified"}


def test_a_rotation_that_cannot_open_all_changes_nothing(full, tmp_path):
    (key,) = (full.folder / "datasets" / "second").glob("key-*")
    key.write_bytes(key.read_bytes()[:-1])
    before = contents(full)
    with pytest.raises(InputError, match="'second' of the vault is damaged"):
        full.rotate(f"file:{tmp_path}/next.key")
    assert contents(full) == before
    with pytest.raises(InputError, match="--data-keys"):
        full.rotate()


# ---- shredding -----------------------------------------------------------------------------------------


def test_a_shredded_dataset_cannot_be_read_and_all_others_verify(full, tmp_path):
    backup = {path.name: path.read_bytes() for path in (full.folder / "datasets" / "second").iterdir()}
    grave = full.shred("second")
    assert (grave["name"], grave["records"], grave["values"]) == ("second", 5, 2)
    for ask in (full.mappings, full.values, full.shred):
        with pytest.raises(InputError, match=r"'second' was shredded on 20\d\d-"):
            ask("second")
    assert full.names() == ["first", "third"]
    found = full.status(verify=True)
    assert [state["state"] for state in found["datasets"]] == ["verified", "verified"]
    assert [(g["name"], g["records"], g["values"]) for g in found["shredded"]] == [("second", 5, 2)]
    folder = full.folder / "datasets" / "second"
    folder.mkdir()
    for name, data in backup.items():
        if not name.startswith("key-"):
            (folder / name).write_bytes(data)
    with pytest.raises(InputError, match="was shredded"):
        full.mappings("second")


def test_shredding_overwrites_the_wrapped_key_in_its_place(full, tmp_path):
    """A second name of the same file shows what became of its bytes."""
    (key,) = (full.folder / "datasets" / "first").glob("key-*")
    wrapped = re.search(rb'"sealed":"([0-9a-f]+)"', key.read_bytes())
    assert wrapped is not None
    os.link(key, tmp_path / "same-file")
    full.shred("first")
    remains = (tmp_path / "same-file").read_bytes()
    assert wrapped[1] not in remains
    assert bytes.fromhex(wrapped[1].decode()) not in remains
    assert not (full.folder / "datasets" / "first").exists()


def test_rotating_overwrites_what_the_old_master_key_had_wrapped(full, tmp_path):
    (key,) = (full.folder / "datasets" / "first").glob("key-*")
    sound = key.read_bytes()
    os.link(key, tmp_path / "same-file")
    full.rotate(f"file:{tmp_path}/next.key")
    assert (tmp_path / "same-file").read_bytes() != sound
    assert b'"sealed"' not in (tmp_path / "same-file").read_bytes()


def test_shredding_says_whether_the_key_is_gone_and_can_be_finished(full, monkeypatch):
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    folder = full.folder / "datasets" / "first"
    (key,) = folder.glob("key-*")
    sound = key.read_bytes()
    for call, words, later, unread in (
        ("pwrite", "so whoever has the master key can read it", "not destroyed yet", False),
        ("unlink", "Its key is overwritten, but files are left", "was shredded", True),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(os, call, refuse)
            with pytest.raises(InputError, match=rf"not finished \(Permission denied\).* {words}"):
                full.shred("first")
        assert (key.read_bytes() != sound) is unread
        with pytest.raises(InputError, match=later):
            full.mappings("first")
        (grave,) = full.status()["shredded"]
        assert grave["state"] == "shredding"
        assert words in grave["detail"]
    assert full.shred("first")["records"] == 5
    assert not folder.exists()
    (grave,) = full.status()["shredded"]
    assert (grave["state"], grave["detail"]) == ("shredded", "")


def test_what_a_killed_writer_left_is_destroyed_by_shredding_and_rotating(full, tmp_path):
    for number, sweep in enumerate((lambda: full.shred("first"), lambda: full.rotate(f"file:{tmp_path}/next.key"))):
        dead = full.folder / "writing" / "0123456789abcdef"
        dead.mkdir()
        (dead / "key-1.json").write_bytes(b'{"sealed":"00"}')
        os.link(dead / "key-1.json", tmp_path / f"same-file-{number}")
        sweep()
        assert list((full.folder / "writing").iterdir()) == []
        assert b"sealed" not in (tmp_path / f"same-file-{number}").read_bytes()


def test_shredding_needs_no_key_and_no_sound_file(full):
    full.key_file.unlink()
    assert full.shred("first")["records"] == 5
    (full.folder / "datasets" / "second" / "manifest.json").write_bytes(b"{")
    assert full.shred("second")["records"] is None
    assert full.names() == ["third"]
    assert [grave["name"] for grave in full.status()["shredded"]] == ["first", "second"]


def test_a_name_can_be_used_again_and_its_grave_stays(full):
    full.shred("first")
    fill(full, "first", {"new": {}})
    assert dict(full.mappings("first").items()) == {"new": {}}
    assert list(full.values("first")) == []
    assert [grave["name"] for grave in full.status()["shredded"]] == ["first"]
    full.shred("first")
    assert len(full.status()["shredded"]) == 2


def test_a_writer_cannot_bring_back_what_was_shredded_meanwhile(full):
    def write() -> None:
        with full.writer("first") as writer:
            writer.add("a", {})
            full.shred("first")

    with pytest.raises(InputError, match="shredded while it was written"):
        write()
    assert full.names() == ["second", "third"]


# ---- key files -----------------------------------------------------------------------------------------


def test_an_unusable_key_bars_no_right_one(vault, tmp_path, monkeypatch):
    fill(vault)
    monkeypatch.setenv("SM_OPS_VAULT_KEY", "none")
    assert dict(vault.mappings("notes").items()) == RECORDS
    monkeypatch.setenv("SM_OPS_VAULT_KEY", vault.key_file.read_text())
    vault.key_file.chmod(0o644)
    assert dict(vault.mappings("notes").items()) == RECORDS
    monkeypatch.delenv("SM_OPS_VAULT_KEY")
    with pytest.raises(InputError, match="may be read by others"):
        vault.mappings("notes")


def test_a_key_file_that_is_none_is_told_as_such(vault, tmp_path):
    with pytest.raises(InputError, match="is no file"):
        vault.rotate(f"file:{tmp_path}")
    (tmp_path / "bad.key").write_text("bad")
    (tmp_path / "bad.key").chmod(0o600)
    with pytest.raises(InputError, match="name a file that is not there") as refused:
        vault.rotate(f"file:{tmp_path}/bad.key")
    assert "export" not in str(refused.value)
    for change in (Vault(tmp_path / "new" / "vault").init, vault.rotate):
        with pytest.raises(InputError, match="env, file:PATH or kms:KEY_ID"):
            change("")


def test_a_key_file_is_made_private_and_an_existing_one_is_used(tmp_path):
    vault = Vault(tmp_path / "vault")
    place = tmp_path / "keys" / "my.key"
    assert vault.init(f"file:{place}") == f"file:{place}"
    assert place.stat().st_mode & 0o777 == 0o600
    assert len(base64.b64decode(place.read_text())) == 32
    sound = place.read_bytes()
    Vault(tmp_path / "another").init(f"file:{place}")
    assert place.read_bytes() == sound


def test_each_data_key_is_another(full):
    wrapped = {path.read_bytes() for path in Path(full.folder).glob("datasets/*/key-*")}
    assert len(wrapped) == 3
