"""What a home remembers: older copies of a release, removed ones, a builder's key that is gone, bytes that changed."""

from __future__ import annotations

import json
import shutil
import stat
from collections.abc import Callable
from pathlib import Path

import dying
import made_release as made
import pytest
from calling import call_cli
from ready_release import ready

from sm_ops.core import fs
from sm_ops.core.errors import InputError, IntegrityError
from sm_ops.release import envelopes, index, keys, states
from sm_ops.release.about import read_about
from sm_ops.release.folder import Release
from sm_ops.release.sources import from_files
from sm_ops.release.verbs.approve import approve, read
from sm_ops.release.verbs.build import build
from sm_ops.release.verbs.check import check, waive
from sm_ops.release.verbs.expire import expire
from sm_ops.release.verbs.log import log
from sm_ops.release.verbs.ls import ls
from sm_ops.release.verbs.publish import publish
from sm_ops.release.verbs.reject import reject
from sm_ops.release.verbs.request import request
from sm_ops.release.verbs.revoke import revoke
from sm_ops.release.verbs.verify import verify
from sm_ops.storage.places import open_place

UNIT = pytest.mark.unit


@pytest.fixture
def home(tmp_path) -> Path:
    return tmp_path / "home"


@pytest.fixture(scope="module")
def approved_home(tmp_path_factory) -> Path:
    home = tmp_path_factory.mktemp("approved") / "home"
    ready(home)
    return home


@pytest.fixture
def release(home, approved_home) -> Release:
    shutil.copytree(approved_home, home)
    return Release(home, "notes", "1")


@pytest.fixture
def cli(monkeypatch, capsys):
    """Call `sm-ops release ...`."""
    return lambda *arguments: call_cli(monkeypatch, capsys, "release", *map(str, arguments))


def asked(release: Release) -> str:
    """The digest of what is asked for."""
    return fs.sha256(envelopes.read((release.folder / "decision.dsse.json").read_bytes(), "decision").payload)


def do_build(release: Release) -> None:
    source = release.home.parent / "notes.jsonl"
    source.write_text('{"id": "r1", "text": "call [NAME] back"}\n')
    about = read_about({"title": "Notes", "description": "Notes of calls."})
    policy = release.home.parent / "policy.yaml"
    fs.write_json(policy, made.POLICY | {"checks": {"schema": {}}})
    build(release.home, str(release), from_files([source], about, "redacted"), policy)


VERBS: dict[str, Callable[[Release], object]] = {
    "check": check,
    "waive": lambda it: waive(it, "schema", "it is fine", made.signer("ben")),
    "request": lambda it: request(it, made.signer("ada"), "wanted outside"),
    "read": read,
    "approve": lambda it: approve(it, made.signer("cleo"), asked(it)),
    "reject": lambda it: reject(it, made.signer("ben"), "a name was left in"),
    "publish": lambda it: publish(it, open_place(str(it.home.parent / "place"))),
    "verify": lambda it: verify(it.home, str(it)),
    "log": lambda it: log(it.home, str(it), verify=True),
}
OTHERS: dict[str, Callable[[Release], object]] = {
    "build": do_build,
    "expire": lambda it: expire(it.home),
    "plain log": lambda it: log(it.home, str(it)),
}


LOGGED = ("log.jsonl", "log.head.dsse.json")


def set_back(release: Release, to: Path) -> None:
    """Put an older copy of the bundle in the place of the present one."""
    shutil.rmtree(release.folder)
    shutil.copytree(to, release.folder)


def kept(release: Release, name: str) -> Path:
    return shutil.copytree(release.folder, release.home.parent / name)


def row(release: Release) -> dict:
    return next(each for each in ls(release.home) if f"{each['name']}@{each['version']}" == str(release))


# ---- bytes that changed come before anything else --------------------------------------------------------


@UNIT
@pytest.mark.parametrize("file", ["data/train.jsonl", "checks.json", "decision.dsse.json"])
@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "log"])
def test_every_verb_refuses_changed_bytes_first(release, verb, file):
    """Whatever the state: of a decision an earlier one is put back, without the signatures that came since."""
    if file == "decision.dsse.json":
        decision = envelopes.read((release.folder / file).read_bytes(), file)
        del decision.signatures[made.signer("ben").public_key.keyid]
        (release.folder / file).write_bytes(envelopes.written(decision))
    else:
        (release.folder / file).write_bytes(b"{}\n")
    before = fs.content_hash(release.folder)
    with pytest.raises(IntegrityError, match=file):
        VERBS[verb](release)
    assert fs.content_hash(release.folder) == before
    assert not (release.home.parent / "place").exists()


# ---- set back, replaced, removed -------------------------------------------------------------------------


@UNIT
@pytest.mark.parametrize("verb", [*VERBS, *OTHERS])
def test_every_verb_refuses_an_older_copy(release, verb):
    """The signed no of Ben does not go away with the folder that holds it."""
    approved = kept(release, "approved")
    VERBS["reject"](release)
    rejected = kept(release, "rejected")
    set_back(release, approved)
    with pytest.raises(IntegrityError, match=r"notes@1 was set back or replaced: line 6 of its log\.jsonl"):
        (VERBS | OTHERS)[verb](release)
    assert (row(release)["state"], "set back" in row(release)["problem"]) == ("damaged", True)
    set_back(release, rejected)
    assert states.state_of(release).name == "rejected"
    assert row(release)["problem"] is None
    assert verify(release.home, "notes@1").state == "rejected"


@UNIT
def test_a_bundle_built_anew_under_the_name_is_refused(release):
    shutil.rmtree(release.folder)
    other = made.make_bundle(release.home, rows=[{"id": "r1", "text": "other"}])
    with pytest.raises(IntegrityError, match="set back or replaced"):
        VERBS["check"](other)


@UNIT
def test_an_older_copy_of_a_revoked_one(release):
    approved = kept(release, "approved")
    revoke(release, made.signer("ben"), "a name was found")
    for file in LOGGED:
        shutil.copy(approved / file, release.folder)
    with pytest.raises(IntegrityError, match="REVOKED: notes@1, on"):
        verify(release.home, "notes@1")
    set_back(release, approved)
    for verb in ("publish", "verify"):
        with pytest.raises(IntegrityError, match="set back or replaced"):
            VERBS[verb](release)


@UNIT
def test_an_older_copy_that_pretends_to_be_a_half_done_change(release):
    """Whoever comes next would finish it."""
    approved = kept(release, "approved")
    VERBS["reject"](release)
    change = release.work / "notes@1~change"
    (change / "files").mkdir(parents=True)
    for file in LOGGED:
        shutil.copy(approved / file, change / "files")
    fs.write_json(change / "removed.json", ["rejection.dsse.json"])
    for _ in range(2):
        with pytest.raises(IntegrityError, match="set back or replaced"):
            verify(release.home, "notes@1")


@UNIT
def test_a_removed_release_is_missed(release, cli):
    folder = release.folder.rename(release.home.parent / "away")
    assert row(release)["state"] == "missing"
    assert "Bring the folder back" in row(release)["problem"]
    assert "notes@1  missing" in cli("ls").stdout
    for words in (["verify", "notes@1"], ["log", "notes@1"]):
        done = cli(*words)
        assert (done.returncode, "is missing" in done.stderr) == (5, True)
    with pytest.raises(IntegrityError, match="another build is another version"):
        do_build(release)
    folder.rename(release.folder)
    assert row(release)["state"] == "approved"


@UNIT
def test_what_only_the_builder_made_may_be_made_again(home):
    release = made.make_bundle(home)
    made.add_checks(release)
    assert row(release)["due"] == "request"
    shutil.rmtree(release.folder)
    assert ls(home) == []
    do_build(release)
    assert row(release)["state"] == "built"


@UNIT
def test_it_is_kept_for_the_owner_alone_and_learnt_anew(release, tmp_path):
    restricted = release.home / "restricted" / "releases"
    (path,) = restricted.glob("*~head.json")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(restricted.stat().st_mode) == 0o700
    value = json.loads(path.read_bytes())
    lines = (release.folder / "log.jsonl").read_bytes().splitlines(keepends=True)
    assert (value["sequence"], value["line"]) == (5, fs.sha256(lines[4]))
    older = path.read_bytes()
    VERBS["reject"](release)
    newest = path.read_bytes()
    for restored in (older, None):  # a home that came back from a backup, with an older memory or with none
        path.unlink()
        if restored:
            path.write_bytes(restored)
        assert verify(release.home, "notes@1").state == "rejected"
        assert path.read_bytes() == newest
    path.write_bytes(b"{}\n")
    with pytest.raises(IntegrityError, match=r"~head\.json is damaged"):
        verify(release.home, "notes@1")


@UNIT
def test_a_damaged_log_is_not_learnt(release):
    file = release.folder / "log.jsonl"
    whole = file.read_bytes()
    forged = json.loads(whole.splitlines()[-1]) | {"sequence": 6, "previous": fs.sha256(whole.splitlines(True)[-1])}
    file.write_bytes(whole + made.canonical(forged))
    with pytest.raises(IntegrityError):
        verify(release.home, "notes@1")
    file.write_bytes(whole)
    assert verify(release.home, "notes@1").state == "approved"


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_a_kill_between_the_change_and_its_memory_is_none_of_the_releases_business(release, tmp_path, every):
    """Whatever comes next goes on; and from the moment on that the change is seen, there is no way back."""
    before = kept(release, "before")
    shutil.copytree(release.home, tmp_path / "kept")
    ends = []
    for attempt in dying.deaths(lambda: VERBS["reject"](release), every):
        assert attempt.sentence == ""
        ends.append(verify(release.home, "notes@1").state)
        set_back(release, before)
        if ends[-1] == "rejected":
            with pytest.raises(IntegrityError, match="set back"):
                verify(release.home, "notes@1")
        else:
            assert verify(release.home, "notes@1").state == "approved"
        shutil.rmtree(release.home)
        shutil.copytree(tmp_path / "kept", release.home)
    assert ends == sorted(ends)
    assert {*ends} == {"approved", "rejected"}


# ---- the builder's key -----------------------------------------------------------------------------------


def lose_key(home: Path) -> Path:
    """Move the builder's key away."""
    return (home / "keys" / "builder.pem").rename(home.parent / "builder.pem")


@UNIT
def test_without_the_builders_key_no_new_one_is_made(release, cli):
    path = lose_key(release.home)
    for act in (VERBS["check"], VERBS["reject"], VERBS["publish"], lambda it: do_build(Release(it.home, "notes", "2"))):
        with pytest.raises(InputError, match=r"bring .*/keys/builder.pem back"):
            act(release)
    assert not (release.home / "keys" / "builder.pem").exists()
    done = cli("verify", "notes@1")
    assert (done.returncode, "keys/builder.pem back" in done.stdout) == (0, True)
    assert cli("log", "notes@1", "--verify").returncode == 0
    assert row(release)["state"] == "approved"
    path.rename(release.home / "keys" / "builder.pem")
    assert verify(release.home, "notes@1").notices == []
    VERBS["publish"](release)


@pytest.mark.parametrize("loss", ["removed", "replaced"])
def test_a_published_release_is_revoked_without_the_builders_key(release, tmp_path, cli, loss):
    VERBS["publish"](release)
    place, before = tmp_path / "place", (release.folder / "log.jsonl").read_bytes()
    path = lose_key(release.home)
    if loss == "replaced":
        keys.builder(tmp_path / "other")
        shutil.copy(tmp_path / "other" / "keys" / "builder.pem", release.home / "keys" / "builder.pem")
        with pytest.raises(IntegrityError, match=r"If keys/builder.pem was replaced, bring the old one back"):
            verify(release.home, "notes@1")
    for _ in range(2):
        revoke(release, made.signer("ben"), "a name was found")
    assert (release.folder / "log.jsonl").read_bytes() == before, "no line without a head that readers accept"
    assert states.state_of(release).name == row(release)["state"] == "revoked"
    entry = index.read(open_place(str(place))).entry("notes@1")
    assert entry is not None
    assert entry["state"] == "revoked"
    assert not (place / "notes@1" / "data").exists()
    for where in ("notes@1", place / "notes@1"):
        done = cli("verify", where)
        assert (done.returncode, "REVOKED: notes@1" in done.stderr) == (5, True)
    statement = (release.folder / "revocation.dsse.json").rename(tmp_path / "statement")
    path.replace(release.home / "keys" / "builder.pem")
    for verb in ("verify", "publish", "check"):
        with pytest.raises(IntegrityError, match=r"notes@1 was revoked, and its revocation\.dsse\.json was removed"):
            VERBS[verb](release)
    statement.rename(release.folder / "revocation.dsse.json")
    with pytest.raises(IntegrityError, match=r"REVOKED: notes@1, on .* by ben: a name was found"):
        verify(release.home, "notes@1")


def test_a_home_without_its_key_goes_on_when_its_releases_have_moved(release, tmp_path):
    """As docs/how-to/publish.md says."""
    home, old = release.home, tmp_path / "old"
    VERBS["publish"](release)
    lose_key(home)
    (old / "keys").mkdir(parents=True)
    (old / "restricted").mkdir()
    shutil.move(home / "releases", old / "releases")
    shutil.move(home / "restricted" / "releases", old / "restricted" / "releases")
    (home / "releases").mkdir()
    shutil.copy(old / "releases" / "approvers.yaml", home / "releases")
    shutil.copy(home / "keys" / "approvers.json", old / "keys")
    do_build(Release(home, "notes", "2"))
    assert [each["state"] for each in ls(home)] == ["built"]
    moved = Release(old, "notes", "1")
    assert verify(old, "notes@1").state == "published"
    revoke(moved, made.signer("ben"), "a name was found")
    assert not (tmp_path / "place" / "notes@1" / "data").exists()
    assert verify(home, "notes@2").state == "built"


@pytest.mark.parametrize("damage", ["set back", "cut"])
def test_a_damaged_bundle_is_revoked_all_the_same(release, damage):
    approved = kept(release, "approved")
    VERBS["publish"](release)
    if damage == "set back":
        set_back(release, approved)
    else:
        (release.folder / "log.jsonl").write_bytes(b"")
    revoke(release, made.signer("ben"), "a name was found")
    assert row(release)["state"] == "revoked"
    assert not (release.home.parent / "place" / "notes@1" / "data").exists()
    assert expire(release.home) == []
    with pytest.raises(IntegrityError, match="REVOKED"):
        verify(release.home, "notes@1")
