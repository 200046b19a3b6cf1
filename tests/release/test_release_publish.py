"""Publishing to a folder: what lies there, what the index says, who is refused, and how it is taken back."""

from __future__ import annotations

import base64
import errno
import json
import os
import re
import shlex
import shutil
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import made_release
import pytest
import rfc8785
from calling import call_cli
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat
from driving import ROOT
from dying import killed_at
from made_release import POLICY, add_checks, make_bundle, reject, request, signer
from ready_release import ready

from sm_ops.core import fs
from sm_ops.core.errors import ApprovalError, InputError, IntegrityError, StageError
from sm_ops.release import approvers, clock, envelopes, ledger, states
from sm_ops.release.folder import Release
from sm_ops.release.reading import FolderReader
from sm_ops.release.verbs import publish as publishing
from sm_ops.release.verbs.check import Checked, Progress, check
from sm_ops.release.verbs.expire import expire
from sm_ops.release.verbs.fetch import fetch
from sm_ops.release.verbs.publish import publish
from sm_ops.release.verbs.request import request as ask_anew
from sm_ops.release.verbs.revoke import live_datasets, others_of, revoke
from sm_ops.release.verification import verify
from sm_ops.storage.places import Place, open_place
from sm_ops.storage.places.folder import FolderPlace
from sm_ops.vault import Vault

pytestmark = pytest.mark.unit
RECORDS = {
    "manifest.json",
    "manifest.dsse.json",
    "log.jsonl",
    "log.head.dsse.json",
    "publication.dsse.json",
    "revocation.dsse.json",
}


@pytest.fixture
def home(tmp_path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def place(tmp_path) -> Place:
    return open_place(str(tmp_path / "outside"))


def index_of(place: Place) -> dict:
    """What the index says, read without the code under test; None before there is one."""
    path = Path(place.text) / "index.json"
    return json.loads(base64.b64decode(json.loads(path.read_bytes())["payload"]))["predicate"]


def key_file(folder: Path) -> Path:
    """The private key of Ben, as people keep theirs."""
    private = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(fs.sha256(b"ben")))
    encrypted = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"a passphrase"))
    fs.write_atomic(folder / "ben.pem", encrypted, mode=0o600)
    return folder / "ben.pem"


def states_at(place: Place) -> dict[str, str]:
    return {entry["release"]: entry["state"] for entry in index_of(place)["releases"]}


def files_at(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def actions(release: Release) -> list[str]:
    return [json.loads(line)["action"] for line in (release.folder / "log.jsonl").read_bytes().splitlines()]


def later(monkeypatch, **time: float) -> None:
    moment = datetime.now(UTC).replace(microsecond=0) + timedelta(**time)
    monkeypatch.setattr(clock, "now", lambda: moment)


# ---- publishing ----------------------------------------------------------------------------------------


def test_what_is_published_is_the_bundle_and_the_index_names_it(home, place):
    release = ready(home)
    before = datetime.now(UTC).replace(microsecond=0)
    done = publish(release, place)

    outside = Path(place.text)
    assert files_at(outside / "notes@1") == files_at(release.folder)
    (entry,) = index_of(place)["releases"]
    published = datetime.strptime(entry["published"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    assert before <= published <= datetime.now(UTC)
    assert entry == {
        "release": "notes@1",
        "name": "notes",
        "version": "1",
        "state": "published",
        "manifest": fs.sha256((release.folder / "manifest.json").read_bytes()),
        "path": "notes@1/",
        "published": done.published,
        "expires": f"{published + timedelta(days=365):%Y-%m-%dT%H:%M:%SZ}",
        "revocation": None,
    }
    assert (index_of(place)["serial"], index_of(place)["previous"]) == (1, None)
    assert not done.already
    assert states.state_of(release).name == "published"
    assert files_at(outside / ".staging") == {}
    verdict = verify(FolderReader(outside / "notes@1"), approvers.of(home))
    assert (verdict.state, verdict.missing) == ("published", [])


def test_twice_is_once(home, place):
    release = ready(home)
    first = publish(release, place)
    files, inside = files_at(Path(place.text)), files_at(release.folder)
    again = publish(release, place)
    assert (again.already, again.published, again.expires) == (True, first.published, first.expires)
    assert files_at(Path(place.text)) == files
    assert files_at(release.folder) == inside
    assert actions(release).count("publish") == 1


def test_a_release_may_lie_at_two_places(home, place, tmp_path):
    release, second = ready(home), open_place(str(tmp_path / "mirror"))
    first = publish(release, place)
    assert publish(release, second).published == first.published
    assert files_at(tmp_path / "mirror" / "notes@1") == files_at(Path(place.text) / "notes@1")
    revoke(release, signer("ben"), "a name was left in")
    assert states_at(place) == states_at(second) == {"notes@1": "revoked"}


def test_a_newer_version_supersedes_the_older_ones(home, place, monkeypatch):
    publish(ready(home, "1"), place)
    publish(ready(home, "1", name="other"), place)
    later(monkeypatch, seconds=10)
    publish(ready(home, "2"), place)
    assert states_at(place) == {"notes@1": "superseded", "notes@2": "published", "other@1": "published"}
    assert index_of(place)["serial"] == 3
    assert publish(Release(home, "notes", "1"), place).already
    assert states_at(place)["notes@2"] == "published"


def test_the_wrong_order_is_refused_and_nothing_leaves(home, place):
    release = make_bundle(home, extra=None)
    with pytest.raises(InputError, match=r"is built, so `publish` is not possible.*release check notes@1"):
        publish(release, place)
    add_checks(release)
    with pytest.raises(InputError, match=r"is checked.*release request notes@1"):
        publish(release, place)
    request(release)
    with pytest.raises(ApprovalError, match=r"is requested.*2 more signatures are needed.*release approve notes@1"):
        publish(release, place)
    reject(release)
    with pytest.raises(ApprovalError, match=r"is rejected.*release request notes@1"):
        publish(release, place)
    assert not Path(place.text).exists()


def test_an_approval_that_has_expired_publishes_nothing(home, place, monkeypatch):
    release = ready(home)
    later(monkeypatch, days=15)
    with pytest.raises(ApprovalError, match="expired"):
        publish(release, place)
    assert not Path(place.text).exists()


def test_a_changed_byte_publishes_nothing(home, place):
    release = ready(home)
    for path in ("data/train.jsonl", "README.md", "config.json", "decision.dsse.json"):
        file = release.folder / path
        sound = file.read_bytes()
        file.write_bytes(sound.replace(b"a", b"b", 1))
        with pytest.raises(IntegrityError, match=path.rpartition("/")[2]):
            publish(release, place)
        file.write_bytes(sound)
    assert not Path(place.text).exists()


def test_a_byte_that_changes_after_the_checks_publishes_nothing(home, place, monkeypatch):
    release = ready(home)

    def check_then_change(checked: Release, progress: Progress) -> Checked:
        done = check(checked, progress)
        with (checked.folder / "data" / "train.jsonl").open("ab") as shard:
            shard.write(b"{}\n")
        return done

    monkeypatch.setattr(publishing, "check", check_then_change)
    with pytest.raises(IntegrityError, match=r"data/train\.jsonl"):
        publish(release, place)
    assert not Path(place.text).exists()


def test_what_does_not_arrive_as_it_was_sent_gets_no_final_key(home, place, monkeypatch):
    release, stage = ready(home), FolderPlace.stage

    def staging(self: FolderPlace, key: str, source: Path) -> None:
        stage(self, key, source)
        if key.endswith("data/train.jsonl"):
            file = self.root / key
            file.chmod(0o644)
            file.write_bytes(file.read_bytes()[:-1])

    monkeypatch.setattr(FolderPlace, "stage", staging)
    with pytest.raises(InputError, match=r"what arrived of notes@1/data/train.jsonl is not what was signed"):
        publish(release, place)
    assert not (Path(place.text) / "notes@1").exists()
    monkeypatch.undo()
    publish(release, place)


def test_findings_that_differ_from_what_was_approved_need_a_new_approval(home, place):
    release = made_release.approved(home, extra=_described())  # approved with checks that the verb does not confirm
    with pytest.raises(ApprovalError, match=r"something else than what was approved.*release request notes@1"):
        publish(release, place)
    assert not Path(place.text).exists()
    assert states.state_of(release).name == "checked"


def test_checks_that_fail_now_publish_nothing(home, place):
    policy = POLICY | {"checks": {"provenance": {}}}
    about = made_release.canonical({"about": {"title": "Notes", "description": "No licence."}})
    release = made_release.approved(home, policy=policy, extra={**_described(), "config.json": about})
    with pytest.raises(StageError, match="do not pass"):
        publish(release, place)
    assert not Path(place.text).exists()


def _described() -> dict[str, bytes]:
    about = {"title": "Notes", "description": "Notes of calls.", "licence": "CC-BY-4.0"}
    return {
        "config.json": made_release.canonical({"about": about}),
        "evidence/redaction.json": made_release.canonical({"records": 3}),
    }


# ---- others at the same place --------------------------------------------------------------------------


def test_of_two_publishers_of_one_version_one_wins_and_the_other_says_so(home, place, tmp_path):
    mine = ready(home)
    shutil.copytree(home, tmp_path / "copy")
    theirs = Release(tmp_path / "copy", "notes", "1")
    publish(mine, place)
    files, inside = files_at(Path(place.text)), files_at(theirs.folder)
    with pytest.raises(InputError, match=r"Another publisher has published notes@1 there.*choose a new version"):
        publish(theirs, place)
    assert files_at(Path(place.text)) == files
    assert files_at(theirs.folder) == inside
    assert states.state_of(theirs).name == "approved"
    revoke(theirs, signer("ben"), "withdrawn before it was out")
    assert states_at(place) == {"notes@1": "published"}, "theirs never lay there, so it takes nothing back"


def test_a_version_of_other_content_is_refused(home, place, tmp_path):
    publish(ready(home), place)
    other = ready(tmp_path / "other", rows=[{"id": "r0", "text": "something else"}])
    with pytest.raises(InputError, match="Another publisher has published notes@1"):
        publish(other, place)


def test_what_somebody_else_put_at_a_final_key_is_not_replaced(home, place):
    foreign = Path(place.text) / "notes@1" / "data" / "train.jsonl"
    foreign.parent.mkdir(parents=True)
    foreign.write_bytes(b"not ours\n")
    release = ready(home)
    with pytest.raises(InputError, match=r"data/train.jsonl holds something else already"):
        publish(release, place)
    assert foreign.read_bytes() == b"not ours\n"
    assert not (Path(place.text) / "index.json").exists()
    assert states.state_of(release).name == "approved"


def test_what_somebody_puts_at_a_final_key_meanwhile_is_not_taken_for_ours(home, place, monkeypatch):
    release, stage = ready(home), FolderPlace.stage

    def staging(self: FolderPlace, key: str, source: Path) -> None:
        stage(self, key, source)
        foreign = self.root / "notes@1" / "README.md"
        foreign.parent.mkdir(parents=True, exist_ok=True)
        foreign.write_bytes(b"not ours\n")

    monkeypatch.setattr(FolderPlace, "stage", staging)
    with pytest.raises(InputError, match=r"README.md holds something else already"):
        publish(release, place)
    assert not (Path(place.text) / "index.json").exists()


def test_many_publish_at_once_and_the_index_names_all(place, tmp_path):
    releases = [ready(tmp_path / f"home{number}", name=f"notes{number}") for number in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda release: publish(release, place), releases))
    assert states_at(place) == {f"notes{number}@1": "published" for number in range(4)}
    assert index_of(place)["serial"] == 4


def test_an_index_that_was_changed_is_refused(home, place):
    publish(ready(home), place)
    path, newer = Path(place.text) / "index.json", ready(home, "2")
    envelope = json.loads(path.read_bytes())
    payload = base64.b64decode(envelope["payload"])
    other = payload.replace(b'"path":"notes@1/"', b'"path":"../else/"')
    signed = envelopes.signed(other, [made_release.keys.builder(home)])
    payload = base64.b64encode(payload.replace(b'"published"', b'"revoked"')).decode()
    for changed in ({**envelope, "payload": payload}, {**envelope, "signatures": []}, json.loads(signed)):
        path.write_bytes(json.dumps(changed, sort_keys=True, separators=(",", ":")).encode() + b"\n")
        with pytest.raises(IntegrityError, match=r"index\.json"):
            publish(newer, place)


@pytest.mark.parametrize(
    ("text", "owner", "said"),
    [
        ("https://example.org/x", None, "is no place to publish at"),
        ("s3://", None, "not of the form s3://BUCKET/PREFIX"),
        ("s3://Bucket/x", None, "not of the form s3://BUCKET/PREFIX"),
        ("s3://bucket/a/../b", None, "not of the form s3://BUCKET/PREFIX"),
        ("s3://bucket/a", "12", "12 digits"),
        ("somewhere", "123456789012", "no AWS account owns"),
    ],
)
def test_what_is_no_place_is_refused_in_words(text, owner, said):
    with pytest.raises(InputError, match=said):
        open_place(text, owner)


def test_a_folder_in_a_missing_folder_and_the_homes_own_are_refused(home, tmp_path):
    release = ready(home)
    with pytest.raises(InputError, match=r"There is no folder .*/nowhere;"):
        publish(release, open_place(str(tmp_path / "nowhere" / "out")))
    with pytest.raises(InputError, match="keeps its own releases"):
        publish(release, open_place(str(home / "releases")))
    assert actions(release).count("publish") == 0


# ---- killed --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [25, 75, 125])
def test_killed_at_a_step_the_same_command_goes_on(number, home, place):
    release, outside = ready(home), Path(place.text)
    assert killed_at(lambda: publish(release, place), number).killed
    if (outside / "index.json").exists():  # then all of it is there
        assert verify(FolderReader(outside / "notes@1"), approvers.of(home)).state == "published"
    else:
        assert states.state_of(release).name == "approved"
    publish(release, place)
    assert states_at(place) == {"notes@1": "published"}
    assert files_at(outside / "notes@1") == files_at(release.folder)
    assert states.state_of(release).name == "published"
    assert actions(release).count("publish") == 1
    assert files_at(outside / ".staging") == {}
    assert list(release.work.iterdir()) == []


def half_publish(release: Release, place: Place, monkeypatch) -> None:
    """Interrupted when eight files have their final keys, the decision among them."""
    promote, left = FolderPlace.promote, [9]  # the claim is the first

    def dying(*arguments) -> bool:
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return promote(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(FolderPlace, "promote", dying)
        with pytest.raises(KeyboardInterrupt):
            publish(release, place)
    there = files_at(Path(place.text) / "notes@1")
    assert (len(there), "decision.dsse.json" in there) == (8, True)
    assert not (Path(place.text) / "index.json").exists()


def test_a_new_decision_after_an_interrupted_publication_is_what_gets_published(home, place, monkeypatch):
    release = ready(home)
    half_publish(release, place, monkeypatch)
    later(monkeypatch, days=15)
    ask_anew(release, signer("ada"), "it is still needed")
    made_release.approve(release, "ben", "cleo")
    publish(release, place)
    assert files_at(Path(place.text) / "notes@1") == files_at(release.folder)
    assert verify(FolderReader(Path(place.text) / "notes@1"), approvers.of(home)).missing == []


def test_a_full_disk_names_the_place_and_the_command_goes_on(home, place, tmp_path, monkeypatch):
    release = ready(home, policy=POLICY | {"checks": {"remote": {"severity": "warn"}}})
    publish(release, place)
    second, copy = open_place(str(tmp_path / "mirror")), shutil.copyfile

    def full(source: Path, target: Path) -> None:
        if str(source).endswith("train.jsonl"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(source), None, str(target))
        copy(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copyfile", full)
        with pytest.raises(InputError, match=rf"No space left on device at {second.text};"):
            publish(release, second)
    publish(release, second)
    assert files_at(Path(second.text) / "notes@1") == files_at(release.folder)


def test_what_was_damaged_at_the_place_is_repaired_by_the_same_command(home, place):
    release = ready(home, policy=POLICY | {"checks": {"remote": {"severity": "warn"}}})
    publish(release, place)
    outside = Path(place.text) / "notes@1"
    (outside / "README.md").unlink()
    (outside / "report.html").chmod(0o644)
    (outside / "report.html").write_bytes(b"something else")
    assert not publish(release, place).already
    assert files_at(outside) == files_at(release.folder)
    assert publish(release, place).already
    assert actions(release).count("publish") == 1


# ---- fetching ------------------------------------------------------------------------------------------


def test_what_is_fetched_is_what_was_published(home, place, tmp_path):
    release = ready(home)
    publish(release, place)
    assert not fetch(place, "notes@1", tmp_path / "got").already
    assert files_at(tmp_path / "got") == files_at(release.folder)
    assert fetch(place, "notes@1", tmp_path / "got").already
    verdict = verify(FolderReader(tmp_path / "got"), approvers.of(home))
    assert (verdict.state, verdict.missing) == ("published", [])


def test_a_changed_or_missing_file_is_not_fetched(home, place, tmp_path):
    publish(ready(home), place)
    shard = Path(place.text) / "notes@1" / "data" / "train.jsonl"
    sound = shard.read_bytes()
    shard.chmod(0o644)
    shard.write_bytes(sound.replace(b"0", b"1"))
    with pytest.raises(IntegrityError, match=r"data/train.jsonl is not what was published"):
        fetch(place, "notes@1", tmp_path / "got")
    shard.unlink()
    with pytest.raises(IntegrityError, match=r"data/train.jsonl is missing"):
        fetch(place, "notes@1", tmp_path / "got")
    assert not (tmp_path / "got").exists()
    shard.write_bytes(sound)
    fetch(place, "notes@1", tmp_path / "got")  # goes on
    assert (tmp_path / "got" / "data" / "train.jsonl").read_bytes() == sound
    assert sorted(path.name for path in tmp_path.iterdir()) == ["got", "home", "outside"]


def test_a_manifest_that_the_index_does_not_name_is_not_fetched(home, place, tmp_path):
    publish(ready(home), place)
    manifest = Path(place.text) / "notes@1" / "manifest.json"
    manifest.chmod(0o644)
    manifest.write_bytes(manifest.read_bytes().replace(b'"redacted"', b'"scrubbed"'))
    with pytest.raises(IntegrityError, match=r"manifest\.json is not the one that the index names"):
        fetch(place, "notes@1", tmp_path / "got")
    assert not (tmp_path / "got").exists()


def test_fetching_refuses_unknown_names_and_folders_that_are_there(home, place, tmp_path):
    publish(ready(home), place)
    with pytest.raises(InputError, match=r"has no release notes@2; did you mean notes@1\?|has no release notes@2"):
        fetch(place, "notes@2", tmp_path / "got")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    with pytest.raises(InputError, match="is there and is not notes@1"):
        fetch(place, "notes@1", tmp_path / "full")
    with pytest.raises(InputError, match="has no release"):
        fetch(open_place(str(tmp_path / "empty")), "notes@1", tmp_path / "got")


@pytest.mark.parametrize("path", ["../outside.txt", "/tmp/outside.txt", "data/../../outside.txt", "a\\..\\b", ""])
def test_a_manifest_cannot_write_outside_of_the_folder(path, home, place, tmp_path):
    publish(ready(home), place)
    manifest = Path(place.text) / "notes@1" / "manifest.json"
    value = json.loads(manifest.read_bytes())
    value["files"][0]["path"] = path
    value["files"].sort(key=lambda file: file["path"])
    changed = rfc8785.dumps(value) + b"\n"
    manifest.chmod(0o644)
    manifest.write_bytes(changed)
    builder = made_release.keys.builder(home)
    from sm_ops.release import index

    index.change(place, builder, lambda all_: [entry | {"manifest": fs.sha256(changed)} for entry in all_])
    with pytest.raises(IntegrityError, match=r"manifest\.json is not as a build .* wrote it"):
        fetch(place, "notes@1", tmp_path / "got")
    assert not (tmp_path / "got").exists()


# ---- taking back ---------------------------------------------------------------------------------------


def test_a_revoked_release_leaves_its_records_alone(home, place, tmp_path):
    release = ready(home)
    publish(release, place)
    done = revoke(release, signer("ben"), "a name was left in")
    assert (done.places, done.already, done.shredded) == ([place.text], False, [])

    outside = Path(place.text)
    assert set(files_at(outside / "notes@1")) == RECORDS
    (entry,) = index_of(place)["releases"]
    statement = (release.folder / "revocation.dsse.json").read_bytes()
    assert (entry["state"], entry["revocation"]) == ("revoked", fs.sha256(statement))
    assert (outside / "notes@1" / "revocation.dsse.json").read_bytes() == statement
    said = json.loads(base64.b64decode(json.loads(statement)["payload"]))["predicate"]
    assert (said["release"], said["reason"]) == ("notes@1", "a name was left in")

    assert states.state_of(release).name == "revoked"
    with pytest.raises(IntegrityError, match="REVOKED"):
        fetch(place, "notes@1", tmp_path / "got")
    with pytest.raises(IntegrityError, match="REVOKED"):
        publish(release, place)
    with pytest.raises(IntegrityError, match=r"REVOKED: notes@1.*by ben: a name was left in"):
        verify(FolderReader(outside / "notes@1"), approvers.of(home))

    files, log = files_at(outside), actions(release)
    assert revoke(release, signer("cleo"), "again").already
    assert (files_at(outside), actions(release)) == (files, log)


def test_when_the_newest_is_revoked_the_one_before_is_current_again(home, place, monkeypatch):
    older = ready(home, "1")
    publish(older, place)
    later(monkeypatch, seconds=10)
    newer = ready(home, "2")
    publish(newer, place)
    assert states.state_of(older).name == "superseded"
    revoke(newer, signer("ben"), "withdrawn")
    assert states_at(place) == {"notes@1": "published", "notes@2": "revoked"}
    assert states.state_of(older).name == "published"


def test_what_was_revoked_elsewhere_is_not_published_again(home, place, tmp_path):
    release = ready(home)
    publish(release, place)
    shutil.copytree(home, tmp_path / "copy")
    revoke(Release(tmp_path / "copy", "notes", "1"), signer("ben"), "a name was left in")
    files = files_at(Path(place.text))
    with pytest.raises(IntegrityError, match=r"REVOKED: notes@1 was revoked at"):
        publish(release, place)
    assert files_at(Path(place.text)) == files


def test_a_release_that_was_never_published_can_be_revoked_and_stays_so(home, place):
    release = ready(home)
    assert revoke(release, signer("cleo"), "not needed").places == []
    with pytest.raises(IntegrityError, match="REVOKED"):
        publish(release, place)
    assert not Path(place.text).exists()


def test_what_was_half_published_is_taken_back_too(home, place, monkeypatch):
    release = ready(home)
    half_publish(release, place, monkeypatch)
    revoke(release, signer("ben"), "a name was left in")
    assert states_at(place) == {"notes@1": "revoked"}
    assert set(files_at(Path(place.text) / "notes@1")) <= RECORDS
    assert files_at(Path(place.text) / ".staging") == {}


def test_only_a_listed_key_revokes(home, place):
    release = ready(home)
    publish(release, place)
    with pytest.raises(ApprovalError, match=r"not in approvers\.yaml"):
        revoke(release, signer("mallory"), "because")
    assert states_at(place) == {"notes@1": "published"}
    with pytest.raises(InputError, match="one line"):
        revoke(release, signer("ben"), "two\nlines")


def test_a_reason_does_not_tell_a_known_value(home, tmp_path):
    release = ready(home)
    (home / "restricted" / "values.tsv").write_text("NAME\tErika Mustermann\n", encoding="utf-8")
    fs.write_json(release.origin, fs.read_json(release.origin) | {"values": ["restricted/values.tsv"]})
    with pytest.raises(InputError, match="holds a known value"):
        revoke(release, signer("ben"), "the name Erika Mustermann was left in")
    assert actions(release)[-1] == "approve"
    assert not revoke(release, signer("ben"), "a name was left in").already


def test_one_place_that_is_away_keeps_no_other_place_from_being_cleared(home, place, tmp_path):
    release, second = ready(home), open_place(str(tmp_path / "mirror"))
    publish(release, second)
    publish(release, place)
    index = tmp_path / "mirror" / "index.json"
    sound = index.read_bytes()
    index.write_bytes(b"{}")
    with pytest.raises(IntegrityError, match="mirror/index"):
        revoke(release, signer("ben"), "a name was left in")
    assert states_at(place) == {"notes@1": "revoked"}
    assert set(files_at(Path(place.text) / "notes@1")) == RECORDS
    assert len(files_at(tmp_path / "mirror" / "notes@1")) > len(RECORDS), "no tombstone, so nothing goes yet"
    index.write_bytes(sound)
    assert revoke(release, signer("ben"), "a name was left in").already
    assert set(files_at(tmp_path / "mirror" / "notes@1")) == RECORDS


def test_a_revocation_destroys_the_mappings_unless_they_are_kept(home, monkeypatch, capsys):
    vault = Vault(home / "vault")
    vault.init()
    for dataset in ("kept", "gone"):
        vault.add_values(dataset, [("NAME", "Erika Muster")])
    for version, dataset in (("1", "kept"), ("2", "gone"), ("3", "gone")):
        release = ready(home, version)
        origin = fs.read_json(release.origin) | {"sources": {"train.jsonl": "restricted/source.jsonl"}}
        fs.write_json(release.origin, origin | {"vault": {"train.jsonl": dataset}})
    first, second = Release(home, "notes", "1"), Release(home, "notes", "2")
    assert (live_datasets(second), others_of(second)) == (["gone"], ["notes@3"])
    assert revoke(first, signer("ben"), "withdrawn", keep_vault=True).shredded == []
    assert vault.names() == ["gone", "kept"]

    monkeypatch.setenv("SM_OPS_KEY_PASSPHRASE", "a passphrase")
    command = ("release", "revoke", "notes@2", "--key", str(key_file(home)), "--reason", "withdrawn")
    done = call_cli(monkeypatch, capsys, *command)
    assert (done.returncode, "add --yes-shred gone, to keep them --keep-vault" in done.stderr) == (2, True)
    done = call_cli(monkeypatch, capsys, *command, "--yes-shred", "kept")
    assert (done.returncode, "kept is not gone; nothing was revoked" in done.stderr) == (2, True)
    assert states.state_of(second).name == "approved"
    done = call_cli(monkeypatch, capsys, *command, "--yes-shred", "gone")
    assert (done.returncode, "the mappings 'gone' are destroyed" in done.stderr) == (0, True)
    assert vault.names() == ["kept"]
    assert live_datasets(second) == []
    assert call_cli(monkeypatch, capsys, *command).stdout == "notes@2 was revoked already\n"


def test_a_place_that_is_away_is_not_taken_for_cleared(home, place, tmp_path, monkeypatch):
    release, second = ready(home), open_place(str(tmp_path / "share"))
    for each in (place, second):
        publish(release, each)
    (tmp_path / "share").rename(tmp_path / "elsewhere")
    (tmp_path / "share").mkdir()  # the mount point
    with pytest.raises(InputError, match=r"/share does not hold notes@1, .* bring it back"):
        revoke(release, signer("ben"), "a name was left in")
    assert files_at(tmp_path / "share") == {}
    assert (states_at(place), states.state_of(release).name) == ({"notes@1": "revoked"}, "revoked")
    newer = ready(home, "2")
    with pytest.raises(InputError, match="/share does not hold notes@1"):
        publish(newer, second)
    assert files_at(tmp_path / "share") == {}
    (tmp_path / "share").rmdir()
    with pytest.raises(InputError, match="/share does not hold notes@1"):
        revoke(release, signer("ben"), "a name was left in")
    assert not (tmp_path / "share").exists()
    (tmp_path / "elsewhere").rename(tmp_path / "share")
    assert revoke(release, signer("ben"), "a name was left in").already
    assert states_at(second) == {"notes@1": "revoked"}
    assert set(files_at(tmp_path / "share" / "notes@1")) == RECORDS

    publish(newer, place)
    shutil.rmtree(place.text)
    later(monkeypatch, days=366)
    with pytest.raises(InputError, match="does not hold notes@2"):
        expire(home)
    assert not Path(place.text).exists()


def test_a_home_that_does_not_know_the_place_is_told_it(home, place):
    release = ready(home)
    publish(release, place)
    release.origin.with_name("notes@1~places.json").unlink()
    with pytest.raises(InputError, match=r"this home does not know where; name it: --at PLACE"):
        revoke(release, signer("ben"), "a name was left in")
    assert states_at(place) == {"notes@1": "published"}
    with pytest.raises(InputError, match="does not hold notes@1"):
        revoke(release, signer("ben"), "a name was left in", at=[open_place(str(home))])
    assert revoke(release, signer("ben"), "a name was left in", at=[place]).places == [place.text]
    assert states_at(place) == {"notes@1": "revoked"}


# ---- expiry --------------------------------------------------------------------------------------------


def test_a_release_past_its_date_is_said_to_be_so_once(home, place, tmp_path, monkeypatch):
    old, revoked = ready(home, "1"), ready(home, "1", name="other")
    publish(old, place)
    publish(revoked, place)
    revoke(revoked, signer("ben"), "withdrawn")
    assert expire(home) == []
    later(monkeypatch, days=366)
    assert expire(home) == [old]
    assert states_at(place) == {"notes@1": "expired", "other@1": "revoked"}
    assert actions(old)[-1] == "expire"
    serial = index_of(place)["serial"]
    assert expire(home) == []
    assert (actions(old).count("expire"), index_of(place)["serial"]) == (1, serial)
    with pytest.raises(ApprovalError, match="notes@1 expired on"):
        fetch(place, "notes@1", tmp_path / "got")
    with pytest.raises(ApprovalError, match="expired"):
        publish(old, open_place(str(tmp_path / "mirror")))


def test_one_place_that_is_away_keeps_no_other_release_from_expiring(home, tmp_path, monkeypatch):
    for name in ("aaa", "bbb"):
        publish(ready(home, name=name), open_place(str(tmp_path / name)))
    index = tmp_path / "aaa" / "index.json"
    index.write_bytes(b"{}")
    later(monkeypatch, days=366)
    with pytest.raises(IntegrityError, match="aaa/index"):
        expire(home)
    assert states_at(open_place(str(tmp_path / "bbb"))) == {"bbb@1": "expired"}


def test_where_a_release_lies_is_for_its_owner_alone(home, place):
    release = ready(home)
    publish(release, place)
    path = release.origin.with_name("notes@1~places.json")
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert place.text.encode() not in b"".join(files_at(release.folder).values()), "no path of this machine leaves it"
    assert os.listdir(release.work) == []
    assert ledger.read_log(release)[-1]["action"] == "publish"


# ---- the command line and the page ---------------------------------------------------------------------


def test_every_command_of_the_page(home, tmp_path, monkeypatch, capsys):
    release = ready(home)
    shutil.copy(home / "releases" / "approvers.yaml", tmp_path / "approvers.yaml")
    key_file(tmp_path)
    monkeypatch.setenv("SM_OPS_KEY_PASSPHRASE", "a passphrase")
    monkeypatch.chdir(tmp_path)
    said = {}
    page = (ROOT / "docs" / "how-to" / "publish.md").read_text(encoding="utf-8")
    for line in "".join(re.findall(r"^```sh\n(.*?)^```", page, re.DOTALL | re.MULTILINE)).splitlines():
        command = shlex.split(line)[1:]
        done = call_cli(monkeypatch, capsys, *command)
        assert done.returncode == 0, (line, done.stderr)
        said[command[1]] = done
    assert set(said) == {"publish", "verify", "fetch", "expire", "revoke"}
    assert states.state_of(release).name == "revoked"
    assert said["publish"].stdout == f"{tmp_path}/published/notes@1\n"
    assert said["publish"].stderr.endswith(f"next: sm-ops release fetch {tmp_path}/published notes@1 --out DIR\n")
    assert said["fetch"].stdout == "received\n"
    assert said["expire"].stdout == ""
    assert said["revoke"].stdout == "notes@1 is revoked\n"
    assert "Copies that others have fetched are not reached" in said["revoke"].stderr
