"""Killed before any flush, rename or removal, a vault is whole: as it was before, or as it should become."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable

import pytest
from vault_samples import RECORDS, VALUES, fill

from sm_ops.core.errors import InputError
from sm_ops.vault import Vault


def crashes(work: Callable[[], object], restore: Callable[[], None], after: Callable[[], None]) -> int:
    """Do the work in processes that die before their first, second, ... flush, rename or removal, until one ends well.

    `after` looks at what each has left, then `restore` puts back what was there.
    """
    for number in range(1000):
        child = os.fork()
        if child == 0:
            _die_at(number)
            try:
                work()
            finally:
                os._exit(0)
        _, status = os.waitpid(child, 0)
        after()
        restore()
        if status == 0:
            return number
    raise AssertionError("it never ended well")


def _die_at(number: int) -> None:
    left = [number]

    def dying(function):
        def call(*arguments, **named):
            if left[0] == 0:
                os._exit(9)
            left[0] -= 1
            return function(*arguments, **named)

        return call

    for name in ("fsync", "replace", "unlink", "rename", "pwrite"):
        setattr(os, name, dying(getattr(os, name)))


class Kept:
    """A copy of a vault and its keys, to put back after each crash."""

    def __init__(self, vault: Vault) -> None:
        self.root, self.copy = vault.folder.parent, vault.folder.parent.with_name("kept")
        shutil.copytree(self.root, self.copy)

    def restore(self) -> None:
        shutil.rmtree(self.root)
        shutil.copytree(self.copy, self.root)


@pytest.fixture
def small(tmp_path) -> Vault:
    vault = Vault(tmp_path / "home" / "vault")
    vault.init()
    for name in ("first", "second"):
        vault.add_values(name, VALUES)
        fill(vault, name, RECORDS if name == "first" else {})
    return vault


@pytest.mark.parametrize("data_keys", [False, True])
def test_a_rotation_killed_anywhere_leaves_all_readable_and_goes_on(small, data_keys):
    kept, next_key = Kept(small), small.folder.with_name("next.key")

    def after() -> None:
        for name in ("first", "second"):
            with small.mappings(name) as mappings:
                assert dict(mappings.items()) == (RECORDS if name == "first" else {})
            assert list(small.values(name))[: len(VALUES)] == VALUES
        small.rotate(f"file:{next_key}", data_keys)
        assert list((small.folder / "writing").iterdir()) == [], "what the dead left is removed"
        small.key_file.unlink()
        assert {state["state"] for state in small.status(verify=True)["datasets"]} == {"verified"}

    assert crashes(lambda: small.rotate(f"file:{next_key}", data_keys), kept.restore, after) > 15


def test_a_writer_killed_anywhere_leaves_the_old_state_or_the_new(small):
    kept, new = Kept(small), {"new": {"[REL_1]": "어머니"}}

    def after() -> None:
        with small.mappings("first") as mappings:
            assert dict(mappings.items()) in (RECORDS, new)
        assert list(small.values("first"))[: len(VALUES)] == VALUES
        if small.names() == ["first", "fourth", "second"]:
            assert dict(small.mappings("fourth").items()) == new
        fill(small, "first", new)
        assert {state["state"] for state in small.status(verify=True)["datasets"]} == {"verified"}
        assert list((small.folder / "writing").iterdir()) == [], "what the dead left is removed"

    def work() -> None:
        fill(small, "first", new)
        fill(small, "fourth", new)

    assert crashes(work, kept.restore, after) > 15


def test_shredding_killed_anywhere_can_be_repeated(small):
    kept = Kept(small)
    (key,) = (small.folder / "datasets" / "first").glob("key-*")
    wrapped = json.loads(key.read_bytes())["sealed"].encode()

    def after() -> None:
        if "first" in small.names():
            small.shred("first")
        else:
            there = any(wrapped in path.read_bytes() for path in small.folder.rglob("*") if path.is_file())
            with pytest.raises(InputError, match="not destroyed yet" if there else "was shredded"):
                small.mappings("first")
            if there:
                assert small.status()["shredded"][0]["state"] == "shredding"
            if (small.folder / "datasets" / "first").exists():
                small.shred("first")
        assert small.status()["shredded"][0]["state"] == "shredded"
        assert not (small.folder / "datasets" / "first").exists()
        assert small.status()["shredded"][0]["records"] == len(RECORDS)
        assert len(small.status()["shredded"]) == 1
        assert {state["state"] for state in small.status(verify=True)["datasets"]} == {"verified"}

    assert crashes(lambda: small.shred("first"), kept.restore, after) > 5
