"""A vault in a folder of its own, and no key in the environment."""

from __future__ import annotations

import pytest

from sm_ops.vault import Vault


@pytest.fixture(autouse=True)
def _no_key_of_ours(monkeypatch):
    monkeypatch.delenv("SM_OPS_VAULT_KEY", raising=False)
    monkeypatch.delenv("SM_OPS_VAULT_NEW_KEY", raising=False)


@pytest.fixture
def vault(tmp_path) -> Vault:
    """A vault with a key file."""
    made = Vault(tmp_path / "vault")
    made.init()
    return made
