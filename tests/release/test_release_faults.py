"""Whatever is killed, whatever disk is full, whoever comes at the same time: a release is whole, and so is its index.

Each verb is killed before each of its operations on files, and repeated. In between nothing is lost, the log verifies,
and what an index lists can be fetched and verified. The matrices of all operations are slow tests; here are samples.
"""

from __future__ import annotations

import multiprocessing
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
from dying import Attempt, counted, deaths, full_from
from made_release import POLICY, ROLES, make_approvers, signer

from sm_ops.core import fs
from sm_ops.core.errors import InputError, IntegrityError
from sm_ops.release import approvers, clock, envelopes, index, proposals
from sm_ops.release.about import read_about
from sm_ops.release.folder import Release, all_releases, releases_folder
from sm_ops.release.sources import from_files
from sm_ops.release.verbs import ls
from sm_ops.release.verbs.approve import approve
from sm_ops.release.verbs.build import build
from sm_ops.release.verbs.check import check, waive
from sm_ops.release.verbs.expire import expire
from sm_ops.release.verbs.fetch import fetch
from sm_ops.release.verbs.log import log as read_log
from sm_ops.release.verbs.publish import publish
from sm_ops.release.verbs.reject import reject
from sm_ops.release.verbs.request import request
from sm_ops.release.verbs.revoke import revoke
from sm_ops.release.verbs.verify import verify
from sm_ops.storage.places import open_place

NAME = "notes@1"


@dataclass
class Scene:
    """A home, a place to publish at, and a copy of both to put back."""

    root: Path

    @property
    def home(self) -> Path:
        return self.root / "now" / "home"

    @property
    def place(self) -> Path:
        return self.root / "now" / "place"

    def release(self, name: str = NAME) -> Release:
        return Release(self.home, *name.split("@"))

    def keep(self) -> None:
        shutil.copytree(self.root / "now", self.root / "kept")

    def restore(self) -> None:
        shutil.rmtree(self.root / "now")
        shutil.copytree(self.root / "kept", self.root / "now")


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """People are known and there are notes; nothing was built."""
    found = Scene(tmp_path)
    make_approvers(found.home)
    fs.write_json(found.root / "policy.yaml", POLICY | {"checks": {"schema": {}}})
    fs.write_json(found.root / "stricter.yaml", POLICY | {"checks": {"provenance": {}}})
    (found.root / "notes.jsonl").write_text('{"id": "r1", "text": "call [NAME] back"}\n')
    return found


# ---- the verbs -----------------------------------------------------------------------------------------


def do_build(scene: Scene, name: str = NAME, policy: str = "policy.yaml") -> None:
    about = read_about({"title": "Notes", "description": "Notes of calls.", "languages": ["en"]})
    build(scene.home, name, from_files([scene.root / "notes.jsonl"], about, "redacted"), scene.root / policy)


def do_check(scene: Scene) -> None:
    check(scene.release())


def do_waive(scene: Scene) -> None:
    waive(scene.release(), "provenance", "the source is our own", signer("ben"))


def do_request(scene: Scene) -> None:
    request(scene.release(), signer("ada"), "wanted outside")


def do_approve(scene: Scene, name: str = "cleo") -> None:
    approve(scene.release(), signer(name), asked(scene.release()))


def asked(release: Release) -> str:
    """The digest of what is asked for."""
    return fs.sha256(envelopes.read((release.folder / "decision.dsse.json").read_bytes(), "decision").payload)


def do_reject(scene: Scene) -> None:
    reject(scene.release(), signer("ben"), "a name was left in")


def do_publish(scene: Scene, name: str = NAME) -> None:
    publish(scene.release(name), open_place(str(scene.place)))


def do_revoke(scene: Scene) -> None:
    revoke(scene.release(), signer("ben"), "a name was found")


def do_expire(scene: Scene) -> None:
    expire(scene.home)


def do_fetch(scene: Scene) -> None:
    fetch(open_place(str(scene.place)), NAME, scene.root / "now" / "fetched")


def do_add_key(scene: Scene) -> None:
    if "dora" in {key.name for key in approvers.of(scene.home).keys}:
        return
    by = [signer("ben"), signer("cleo")]
    digest = proposals.add(scene.home, "dora", signer("dora").public_key.keyval["public"], ["data"], by[:1]).digest
    proposals.sign(scene.home, digest, by[1])


@dataclass(frozen=True)
class Case:
    """A verb: what comes before it, the state and the log that it ends with."""

    verb: Callable[[Scene], None]
    before: tuple[Callable[[Scene], None], ...]
    state: str
    log: tuple[str, ...]
    every: int = 0
    """Every how manieth operation is tried in the quick test; 0: in the slow one alone."""


def build_stricter(scene: Scene) -> None:
    do_build(scene, policy="stricter.yaml")


def do_ben(scene: Scene) -> None:
    do_approve(scene, "ben")


def another_published(scene: Scene) -> None:
    """Version 0 is out, so that publishing version 1 supersedes it."""
    other = Release(scene.home, "notes", "0")
    do_build(scene, str(other))
    check(other)
    request(other, signer("ada"), "wanted outside")
    for name in ("ben", "cleo"):
        approve(other, signer(name), asked(other))
    do_publish(scene, str(other))


REQUESTED = (do_build, do_check, do_request)
APPROVED = (*REQUESTED, do_ben, do_approve)
PUBLISHED = (another_published, *APPROVED, do_publish)
TO_APPROVED = ("build", "check", "request", "approve", "approve")
CASES = {
    "build": Case(do_build, (), "built", ("build",), every=70),
    "check": Case(do_check, (do_build,), "checked", ("build", "check")),
    "waive": Case(do_waive, (build_stricter, do_check), "checked", ("build", "check", "waive")),
    "request": Case(do_request, (do_build, do_check), "requested", ("build", "check", "request")),
    "approve": Case(do_approve, (*REQUESTED, do_ben), "approved", TO_APPROVED, every=2),
    "reject": Case(do_reject, REQUESTED, "rejected", ("build", "check", "request", "reject")),
    "publish": Case(do_publish, (another_published, *APPROVED), "published", (*TO_APPROVED, "publish"), every=70),
    "fetch": Case(do_fetch, PUBLISHED, "published", (*TO_APPROVED, "publish")),
    "revoke": Case(do_revoke, PUBLISHED, "revoked", (*TO_APPROVED, "publish", "revoke"), every=23),
    "expire": Case(do_expire, PUBLISHED, "expired", (*TO_APPROVED, "publish", "expire")),
    "key add": Case(do_add_key, REQUESTED, "requested", ("build", "check", "request")),
}
QUICK = [name for name, case in CASES.items() if case.every]


@pytest.fixture
def case(request: pytest.FixtureRequest, scene: Scene, monkeypatch: pytest.MonkeyPatch) -> Case:
    """A verb, all of whose steps before are done; for `expire` a year has gone by."""
    found = CASES[request.param]
    for step in found.before:
        step(scene)
    if found.verb is do_expire:
        later = clock.now() + timedelta(days=366)
        monkeypatch.setattr(clock, "now", lambda: later)
    scene.keep()
    return found


# ---- what must hold ------------------------------------------------------------------------------------


def check_sound(scene: Scene) -> None:
    """No release of the home is damaged, and each that an index lists is there as it says."""
    for row in ls.ls(scene.home):
        assert row["problem"] is None, row
        name = f"{row['name']}@{row['version']}"
        read_log(scene.home, name, verify=True)
        if row["state"] != "revoked":
            verify(scene.home, name)
    approvers.of(scene.home)
    if scene.place.is_dir():
        check_index(scene)


def check_index(scene: Scene) -> None:
    place = open_place(str(scene.place))
    trusted = releases_folder(scene.home) / "approvers.yaml"
    for entry in index.read(place).releases:
        assert fs.file_hash(scene.place / entry["path"] / "manifest.json") == entry["manifest"]
        if entry["state"] != "revoked" and entry["expires"] >= clock.told(clock.now()):
            out = scene.root / "looked" / entry["release"]
            fetch(place, entry["release"], out)
            verify(scene.home, str(out), trusted).require_approved()
            shutil.rmtree(out)


def check_ended(scene: Scene, case: Case) -> None:
    """The verb has done its work once, and nothing else is left."""
    check_sound(scene)
    (row,) = [row for row in ls.ls(scene.home) if row["version"] == "1"]
    assert row["state"] == case.state
    assert tuple(line["action"] for line in read_log(scene.home, NAME, verify=True)) == case.log
    if case.state == "revoked":
        check_taken_back(scene)
    for folder in (releases_folder(scene.home) / ".work", scene.place / ".staging"):
        left = {path.name for path in folder.glob("[!.]*")}  # unnamed files of one write may stay
        assert left <= {"approvers.next.dsse.json"}  # of a version that is there by now: the next proposal replaces it


def check_taken_back(scene: Scene) -> None:
    entry = index.read(open_place(str(scene.place))).entry(NAME)
    assert entry is not None
    assert entry["state"] == "revoked"
    assert fs.file_hash(scene.place / NAME / "revocation.dsse.json") == entry["revocation"]
    assert not (scene.place / NAME / "data").exists()


def check_again(scene: Scene, case: Case) -> None:
    case.verb(scene)
    case.verb(scene)
    check_ended(scene, case)


# ---- killed --------------------------------------------------------------------------------------------


def survives(scene: Scene, case: Case, every: int) -> int:
    """How often the verb died."""
    attempts: list[Attempt] = []
    for attempt in deaths(lambda: case.verb(scene), every):
        assert attempt.sentence == ""
        attempts.append(attempt)
        check_sound(scene)
        check_again(scene, case)
        scene.restore()
    return len(attempts) - 1


@pytest.mark.parametrize("case", QUICK, indirect=True)
def test_a_verb_killed_here_and_there_loses_nothing(scene: Scene, case: Case) -> None:
    assert survives(scene, case, case.every) >= 2


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, indirect=True)
def test_a_verb_killed_anywhere_loses_nothing(scene: Scene, case: Case) -> None:
    operations = counted(lambda: case.verb(scene)).operations
    scene.restore()
    assert survives(scene, case, 1) == operations > 5


def test_whoever_comes_after_a_death_finishes_what_was_decided(scene: Scene) -> None:
    """Also where another verb comes, not the same one again."""
    for step in (*REQUESTED, do_ben):
        step(scene)
    scene.keep()
    states = set()
    for attempt in deaths(lambda: do_approve(scene), 8):
        states.add(ls.ls(scene.home)[0]["state"])
        do_revoke(scene)
        check_sound(scene)
        assert ls.ls(scene.home)[0]["state"] == "revoked"
        scene.restore()
        if not attempt.killed:
            break
    assert states == {"requested", "approved"}


# ---- full disk -----------------------------------------------------------------------------------------


def runs_into_a_full_disk(scene: Scene, case: Case, every: int) -> None:
    operations = counted(lambda: case.verb(scene)).operations
    codes = []
    for number in range(0, operations, every):
        scene.restore()
        attempt = full_from(lambda: case.verb(scene), number)
        codes.append(attempt.exit_code)
        assert attempt.exit_code == 0 or attempt.sentence.startswith("No space left on device"), attempt
        check_sound(scene)
        check_again(scene, case)
    assert set(codes) <= {0, 2}
    assert codes.count(2) > len(codes) / 2  # at the end there is but to sweep


@pytest.mark.parametrize("case", ["build"], indirect=True)
def test_a_full_disk_while_building(scene: Scene, case: Case) -> None:
    runs_into_a_full_disk(scene, case, 70)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, indirect=True)
def test_a_full_disk_in_each_verb(scene: Scene, case: Case) -> None:
    runs_into_a_full_disk(scene, case, 1)


# ---- at once -------------------------------------------------------------------------------------------

OFTEN = pytest.mark.parametrize("times", [1, pytest.param(12, marks=pytest.mark.slow)])


def at_once(*work: Callable[[], object]) -> list[int]:
    """Exit codes of work that starts at the same time, each in a process of its own."""
    context = multiprocessing.get_context("fork")
    barrier = context.Barrier(len(work))
    answers = [context.Queue() for _ in work]

    def start(one: Callable[[], object], answer) -> None:
        def waiting() -> None:
            barrier.wait()
            one()

        answer.put(counted(waiting))

    processes = [context.Process(target=start, args=pair) for pair in zip(work, answers, strict=True)]
    for process in processes:
        process.start()
    attempts: Iterable[Attempt] = [answer.get(timeout=60) for answer in answers]
    for process in processes:
        process.join()
    return [attempt.exit_code for attempt in attempts]


@OFTEN
def test_two_approvals_at_once_both_count(scene: Scene, times: int) -> None:
    for step in REQUESTED:
        step(scene)
    scene.keep()
    for _ in range(times):
        assert at_once(lambda: do_ben(scene), lambda: do_approve(scene)) == [0, 0]
        check_ended(scene, CASES["approve"])
        scene.restore()


@pytest.mark.slow
def test_the_same_approval_at_once_counts_once(scene: Scene) -> None:
    for step in REQUESTED:
        step(scene)
    assert at_once(*3 * [lambda: do_ben(scene)]) == [0, 0, 0]
    assert [line["action"] for line in read_log(scene.home, NAME)] == ["build", "check", "request", "approve"]
    assert ls.ls(scene.home)[0]["state"] == "requested"


@OFTEN
def test_approving_while_another_revokes_ends_revoked(scene: Scene, times: int) -> None:
    for step in (*REQUESTED, do_ben):
        step(scene)
    scene.keep()
    for _ in range(times):
        approved, revoked = at_once(lambda: do_approve(scene), lambda: do_revoke(scene))
        assert revoked == 0
        assert approved in (0, 2, 5)  # it came first, or found the release revoked
        actions = [line["action"] for line in read_log(scene.home, NAME, verify=True)]
        assert actions == [*TO_APPROVED[: 5 if approved == 0 else 4], "revoke"]
        assert ls.ls(scene.home)[0]["state"] == "revoked"
        with pytest.raises(IntegrityError, match="REVOKED"):
            verify(scene.home, NAME)
        scene.restore()


@OFTEN
def test_publishing_while_another_revokes_leaves_nothing_reachable(scene: Scene, times: int) -> None:
    for step in APPROVED:
        step(scene)
    scene.keep()
    for _ in range(times):
        published, revoked = at_once(lambda: do_publish(scene), lambda: do_revoke(scene))
        assert revoked == 0
        assert published in (0, 5)
        check_sound(scene)
        entries = index.read(open_place(str(scene.place))).releases if scene.place.is_dir() else []
        assert [entry["state"] for entry in entries] == ["revoked"] * (published == 0)
        assert list(scene.place.glob(f"{NAME}/data/*")) == []
        scene.restore()


def test_one_home_publishes_once_however_often_it_is_asked(scene: Scene) -> None:
    for step in APPROVED:
        step(scene)
    assert at_once(*3 * [lambda: do_publish(scene)]) == [0, 0, 0]
    check_ended(scene, Case(do_publish, (), "published", (*TO_APPROVED, "publish")))
    assert index.read(open_place(str(scene.place))).serial == 1


@OFTEN
def test_of_two_publishers_of_one_version_one_wins_and_the_other_says_so(
    scene: Scene, tmp_path: Path, times: int
) -> None:
    for step in APPROVED:
        step(scene)
    other = Scene(tmp_path / "other")
    make_approvers(other.home, ROLES)
    shutil.copy(scene.root / "policy.yaml", other.root)
    (other.root / "notes.jsonl").write_text('{"id": "r1", "text": "other notes"}\n')
    for step in APPROVED:
        step(other)
    scene.keep()
    shutil.copytree(other.home, tmp_path / "kept-other")
    place = open_place(str(scene.place))
    for _ in range(times):
        codes = at_once(lambda: publish(scene.release(), place), lambda: publish(other.release(), place))
        assert sorted(codes) == [0, 2]
        winner, loser = (scene, other) if codes[0] == 0 else (other, scene)
        (entry,) = index.read(place).releases
        assert entry["manifest"] == fs.file_hash(winner.release().folder / "manifest.json")
        out = tmp_path / "fetched"
        fetch(place, NAME, out)
        verify(winner.home, str(out), releases_folder(winner.home) / "approvers.yaml").require_approved()
        with pytest.raises(InputError, match="Another publisher has published notes@1 there"):
            publish(loser.release(), place)
        assert ls.ls(loser.home)[0]["state"] == "approved"
        shutil.rmtree(out)
        shutil.rmtree(other.home)
        shutil.copytree(tmp_path / "kept-other", other.home)
        scene.restore()


# ---- time ----------------------------------------------------------------------------------------------


def test_a_clock_that_was_set_back_writes_nothing(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    for step in (*REQUESTED, do_ben):
        step(scene)
    scene.keep()
    behind = clock.now() - timedelta(hours=1)
    with monkeypatch.context() as changed:
        changed.setattr(clock, "now", lambda: behind)
        for verb in (do_approve, do_reject, do_revoke):
            with pytest.raises(InputError, match="set the clock right"):
                verb(scene)
    assert [line["action"] for line in read_log(scene.home, NAME, verify=True)] == [*TO_APPROVED[:4]]
    check_again(scene, CASES["approve"])


def test_a_clock_a_little_behind_never_makes_the_log_go_back(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    for step in (*REQUESTED, do_ben):
        step(scene)
    behind = clock.now() - timedelta(minutes=4)
    monkeypatch.setattr(clock, "now", lambda: behind)
    do_approve(scene)
    do_publish(scene)
    times = [line["time"] for line in read_log(scene.home, NAME, verify=True)]
    assert times == sorted(times)
    check_sound(scene)


@pytest.mark.slow
def test_releases_of_other_names_are_not_in_the_way(scene: Scene) -> None:
    """Locks are per release: what holds one lets the others go on."""
    for name in ("notes@1", "letters@1"):
        do_build(scene, name)
    releases = all_releases(scene.home)
    assert at_once(*[lambda release=release: check(release) for release in releases]) == [0, 0]
    assert [row["state"] for row in ls.ls(scene.home)] == ["checked", "checked"]
