"""Releases in MLflow: a mirror that follows the files, and that nobody believes."""

from __future__ import annotations

import shutil
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest
from made_release import add_checks, add_publication, approve, approved, make_bundle, reject, request, revoke

from sm_ops.core import fs
from sm_ops.core.errors import ApprovalError, IntegrityError
from sm_ops.release.folder import MANIFEST, Release
from sm_ops.release.ledger import opened
from sm_ops.release.mirror import mirror_releases, mirror_where_tracked
from sm_ops.release.verbs.publish import publish
from sm_ops.release.verbs.verify import verify
from sm_ops.storage.places import open_place
from sm_ops.tracking import releases
from sm_ops.tracking.server import connected

CLOSED = "http://127.0.0.1:9"
MODEL = "release-notes"


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with its tables, which take seconds to make."""
    with pytest.MonkeyPatch.context() as changed:
        changed.delenv("MLFLOW_TRACKING_URI", raising=False)
        folder = tmp_path_factory.mktemp("empty")
        with connected(folder) as client:
            client.search_experiments()
    return folder / "mlflow.db"


@pytest.fixture
def home(tmp_path: Path, empty: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    (tmp_path / "home").mkdir()
    shutil.copy(empty, tmp_path / "home")
    return tmp_path / "home"


def registry(home: Path) -> dict[str, dict[str, str]]:
    """Tags of each version, by release, straight from the database."""
    with sqlite3.connect(home / "mlflow.db") as connection:
        found = connection.execute("SELECT version, key, value FROM model_version_tags WHERE name = ?", (MODEL,))
        tags: dict[int, dict[str, str]] = {}
        for version, key, value in found:
            tags.setdefault(version, {})[key] = value
    return {each["sm_ops.release"]: each for each in tags.values()}


def alias(home: Path) -> str | None:
    """The release at which the alias `published` stands."""
    with sqlite3.connect(home / "mlflow.db") as connection:
        found = connection.execute(
            "SELECT t.value FROM registered_model_aliases a JOIN model_version_tags t ON t.name = a.name AND "
            "t.version = a.version WHERE a.name = ? AND a.alias = 'published' AND t.key = 'sm_ops.release'",
            (MODEL,),
        ).fetchall()
    return found[0][0] if found else None


def lie(home: Path, release: str, **tags: Any) -> None:
    """Say in MLflow of a release what is not so, and that it is the published one."""
    with connected(home) as client:
        (version,) = client.search_model_versions(f"name = '{MODEL}' and tags.`sm_ops.release` = '{release}'")
        for key, value in tags.items():
            client.set_model_version_tag(MODEL, version.version, f"sm_ops.{key}", value)
        client.set_registered_model_alias(MODEL, "published", version.version)


def test_the_mirror_follows_publication_supersession_and_revocation(home: Path) -> None:
    first = approved(home)
    assert mirror_releases(home) == ["notes@1"]
    manifest = fs.file_hash(first.folder / MANIFEST)
    tags = {"sm_ops.release": "notes@1", "sm_ops.manifest": manifest, "sm_ops.state": "approved"}
    assert registry(home) == {"notes@1": tags}
    assert alias(home) is None

    add_publication(first)
    assert mirror_releases(home) == ["notes@1"]
    assert alias(home) == "notes@1"
    assert mirror_releases(home) == [], "twice is once"

    second = approved(home, version="2", rows=[{"id": "r9", "text": "others"}])
    time.sleep(1.1)  # times are whole seconds
    add_publication(second)
    assert mirror_releases(home) == ["notes@1", "notes@2"]
    assert {name: each["sm_ops.state"] for name, each in registry(home).items()} == {
        "notes@1": "superseded",
        "notes@2": "published",
    }
    assert alias(home) == "notes@2"

    revoke(first)
    revoke(second)
    mirror_releases(home)
    assert {each["sm_ops.state"] for each in registry(home).values()} == {"revoked"}
    assert alias(home) is None


def test_what_mlflow_says_decides_nothing_and_is_set_right(home: Path, tmp_path: Path) -> None:
    release = make_bundle(home)
    add_checks(release)
    request(release)
    approve(release, "cleo")
    mirror_releases(home)
    lie(home, "notes@1", state="approved")
    with pytest.raises(ApprovalError):
        publish(release, open_place(str(tmp_path / "place")))
    assert not (tmp_path / "place").exists()
    with pytest.raises(ApprovalError):
        verify(home, "notes@1").require_approved()

    revoke(release)
    lie(home, "notes@1", state="published", manifest="0" * 64)
    with pytest.raises(IntegrityError, match="REVOKED"):
        verify(home, "notes@1")
    with pytest.raises(IntegrityError, match="REVOKED"):
        publish(release, open_place(str(tmp_path / "place")))
    mirror_releases(home)
    assert registry(home)["notes@1"]["sm_ops.state"] == "revoked"
    assert registry(home)["notes@1"]["sm_ops.manifest"] == fs.file_hash(release.folder / MANIFEST)
    assert alias(home) is None


@pytest.mark.slow
def test_a_published_release_stays_so_whatever_mlflow_says(home: Path) -> None:
    release = approved(home)
    add_publication(release)
    mirror_releases(home)
    lie(home, "notes@1", state="revoked")
    assert verify(home, "notes@1").state == "published"


def test_the_run_of_a_release_carries_its_state(home: Path) -> None:
    with connected(home) as client:
        experiment = client.create_experiment("sm-ops", (home / "mlartifacts").as_uri())
        parent = client.create_run(experiment, tags={"sm_ops.run": "tiny-0a1b"}).info.run_id
        time.sleep(0.01)
        child = client.create_run(experiment, tags={"sm_ops.run": "tiny-0a1b", "sm_ops.condition": "base"}).info.run_id
    release = approved(home)
    fs.write_json(release.origin, fs.read_json(release.origin) | {"run": "tiny-0a1b"})
    mirror_releases(home)
    with connected(home) as client:
        assert client.get_run(parent).data.tags["sm_ops.release/notes/1"] == "approved"
        assert "sm_ops.release/notes/1" not in client.get_run(child).data.tags
        (version,) = client.search_model_versions(f"name = '{MODEL}'")
        assert version.run_id == parent


@pytest.mark.slow
def test_a_damaged_release_is_mirrored_as_damaged_beside_the_others(home: Path) -> None:
    for version in ("1", "2"):
        approved(home, version=version)
    decision = Release(home, "notes", "1").folder / "decision.dsse.json"
    decision.write_bytes(decision.read_bytes().replace(b"cleo", b"cl3o")[:-9])
    mirror_releases(home)
    assert {name: each["sm_ops.state"] for name, each in registry(home).items()} == {
        "notes@1": "damaged",
        "notes@2": "approved",
    }


def test_mlflow_is_away_and_one_sentence_says_so(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (home / "mlflow.db").unlink()
    approved(home)
    mirror_where_tracked(home)
    assert not (home / "mlflow.db").exists(), "nothing is tracked here, so nothing is mirrored"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", CLOSED)
    mirror_where_tracked(home)
    (sentence,) = capsys.readouterr().err.splitlines()
    assert "not mirrored in MLflow" in sentence
    assert "sm-ops track push" in sentence
    assert CLOSED not in sentence


def test_what_is_not_new_is_not_sent_after_a_verb(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = approved(home)
    mirror_where_tracked(home)
    assert registry(home)["notes@1"]["sm_ops.state"] == "approved"
    with monkeypatch.context() as changed:
        changed.setattr(releases, "connected", None)
        mirror_where_tracked(home)
    add_publication(release)
    mirror_where_tracked(home)
    assert alias(home) == "notes@1"


def test_track_push_sends_releases_later(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from sm_ops.cli.track import push

    approved(home)
    push()
    assert capsys.readouterr().out == "notes@1\n"
    assert registry(home)["notes@1"]["sm_ops.state"] == "approved"
    push()
    assert capsys.readouterr().out == ""


def test_a_release_that_is_damaged_or_gone_holds_up_no_other(home: Path) -> None:
    first, gone, damaged = (approved(home, "notes", version) for version in ("1", "2", "3"))
    mirror_releases(home)
    with opened(gone):  # by which the home remembers it
        pass
    shutil.rmtree(gone.folder)
    (damaged.folder / "log.jsonl").write_bytes(b"{}\n")
    reject(first, "ben")
    assert mirror_releases(home) == [str(first)]
    states = {release: tags["sm_ops.state"] for release, tags in registry(home).items()}
    assert states == {"notes@1": "rejected", "notes@2": "approved", "notes@3": "approved"}
