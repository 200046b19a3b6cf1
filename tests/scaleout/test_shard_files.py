"""What a folder of shards says of itself, and who is asked for what is missing."""

from __future__ import annotations

import json
import socket
from importlib.util import find_spec

import pytest
from toy_work import EXPECTED, RECORDS, Toy, as_bytes, lines

from sm_ops.core.errors import InputError
from sm_ops.scoring.shards import score_in_shards

pytestmark = pytest.mark.unit
needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="the extra scaleout is not installed")


def test_the_manifest_names_the_files_in_order(tmp_path):
    score_in_shards(Toy(), RECORDS, tmp_path, shard_tokens=500)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["format"] == "shards/1"
    assert {each["file"] for each in manifest["shards"]} == {path.name for path in tmp_path.glob("*.npz")}
    tokens = sum(len(record.text) for record in {record.text: record for record in RECORDS}.values())
    batches = Toy().plan(RECORDS).batches
    assert sum(each["pieces"] for each in manifest["shards"]) == len(batches)
    assert sum(each["values"] for each in manifest["shards"]) == tokens  # equal texts are computed once
    assert all(each["values"] >= 500 for each in manifest["shards"][:-1])
    assert len(manifest["shards"]) > 3


def test_the_manifest_tells_how_much_of_a_stopped_work_is_done(tmp_path):
    with pytest.raises(InputError):
        score_in_shards(Toy(fatal=9), RECORDS, tmp_path, shard_tokens=100)
    listed = [each["file"] for each in json.loads((tmp_path / "manifest.json").read_text())["shards"]]
    done = [name for name in listed if (tmp_path / name).exists()]
    assert done == listed[: len(done)]
    assert 0 < len(done) < len(listed)


def test_files_are_for_their_owner_alone(tmp_path):
    score_in_shards(Toy(), RECORDS, tmp_path)
    assert [path.stat().st_mode & 0o077 for path in tmp_path.glob("*.npz")] == [0]


def test_an_engine_is_asked_for_what_is_missing_alone(tmp_path, monkeypatch):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    score_in_shards(Toy(), RECORDS, tmp_path / "s", shard_tokens=100)
    found = score_in_shards(Toy(tmp_path / "log"), RECORDS, tmp_path / "s", engine="ray", shard_tokens=100)
    assert as_bytes(found) == EXPECTED
    assert lines(tmp_path / "log") == []


@needs_ray
@pytest.mark.parametrize(
    ("changes", "code", "told"),
    [
        ({}, "ray-without-token", "RAY_AUTH_MODE=token"),
        ({"RAY_AUTH_MODE": "disabled"}, "ray-without-token", "RAY_AUTH_MODE=token"),
        ({"RAY_AUTH_MODE": "token"}, "no-ray-cluster", "RAY_ADDRESS names no cluster"),
        ({"RAY_AUTH_MODE": "token", "RAY_ADDRESS": "auto"}, "no-ray-cluster", "RAY_ADDRESS auto"),
        ({"RAY_AUTH_MODE": "token", "RAY_ADDRESS": "127.0.0.1:99999"}, "no-ray-cluster", "127.0.0.1:99999"),
    ],
)
def test_ray_has_to_be_there_and_guarded(tmp_path, monkeypatch, changes, code, told):
    for name in ("RAY_AUTH_MODE", "RAY_ADDRESS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in changes.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(InputError, match=told) as caught:
        score_in_shards(Toy(), RECORDS, tmp_path, engine="ray")
    assert caught.value.code == code
    assert list(tmp_path.glob("*.npz")) == []


@needs_ray
def test_nobody_at_the_address_is_told_at_once(tmp_path, monkeypatch):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{closed.getsockname()[1]}"
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    monkeypatch.setenv("RAY_ADDRESS", address)
    with pytest.raises(InputError, match=address):
        score_in_shards(Toy(), RECORDS, tmp_path, engine="ray")


def test_ray_that_is_not_installed_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr("sm_ops.scaleout.ray.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'sm-ops\[scaleout\]'"):
        score_in_shards(Toy(), RECORDS, tmp_path, engine="ray")
