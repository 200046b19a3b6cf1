"""Which tracking server is meant, and what it was told."""

from __future__ import annotations

import pytest

from sm_ops.tracking import spool

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("address", ["", None, "http://127.0.0.1:5000"])
def test_an_empty_address_names_no_server(address, tmp_path, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    if address is not None:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
    assert spool.is_used(tmp_path) == bool(address)
    assert spool.tracking_uri(tmp_path) == (address or f"sqlite:///{tmp_path}/mlflow.db")
    (tmp_path / "mlflow.db").touch()
    assert spool.is_used(tmp_path)


def test_each_server_has_a_mark_of_its_own(tmp_path, monkeypatch):
    for address in ("http://a", "http://b"):
        monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
        assert not spool.is_mirrored("digest", tmp_path)
        spool.mark_mirrored("digest", tmp_path)
    for address in ("http://a", "http://b"):
        monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
        assert spool.is_mirrored("digest", tmp_path)
