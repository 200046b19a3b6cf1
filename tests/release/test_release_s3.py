"""Publishing to a real S3 server: locks, identities, faults of the network and of the service, kills."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shlex
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count, product
from typing import Any

import faulty_server
import pytest
import seaweed
from calling import call_cli
from driving import ROOT
from dying import deaths, killed_at
from faulty_server import Fault, Proxy
from made_release import POLICY, signer
from ready_release import LOCKED, ready
from seaweed import PUBLISHER, READER, Server

from sm_ops.core.errors import InputError, IntegrityError
from sm_ops.release import approvers, states
from sm_ops.release.folder import Release
from sm_ops.release.reading import FolderReader
from sm_ops.release.verbs.fetch import fetch
from sm_ops.release.verbs.publish import publish
from sm_ops.release.verbs.revoke import revoke
from sm_ops.release.verification import verify
from sm_ops.storage.places import calls, open_place, s3

OWNER, OTHER = "123456789012", "210987654321"
RECORDS = ("log.head.dsse.json", "log.jsonl", "manifest.dsse.json", "manifest.json", "publication.dsse.json")
_numbers = count()


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[Server]:
    with seaweed.started(tmp_path_factory.mktemp("weed")) as running:
        running.make_bucket("locked", lock=True)
        running.make_bucket("releases")
        running.make_bucket("plain", versions=False)
        yield running


@pytest.fixture
def proxy(server, monkeypatch) -> Iterator[Proxy]:
    """The network to the server, used by the publisher unless a test says otherwise, and without long pauses."""
    monkeypatch.setattr(calls, "PAUSE", 0.01)
    with faulty_server.standing_before(server.url) as standing:
        act_as(monkeypatch, server, standing, PUBLISHER)
        yield standing


@pytest.fixture
def prefix() -> str:
    """A prefix that no other test has used."""
    return f"team/{next(_numbers)}"


def act_as(monkeypatch, server: Server, proxy: Proxy, identity: str) -> None:
    for name, value in server.variables(identity, proxy.url).items():
        monkeypatch.setenv(name, value)


class Bucket:
    """What an operator sees of a prefix."""

    def __init__(self, server: Server, bucket: str, prefix: str) -> None:
        self._client, self._bucket, self._prefix = server.client(), bucket, f"{prefix}/"

    def versions(self, kind: str = "Versions") -> list[str]:
        """Keys, once for each version."""
        pages = self._client.get_paginator("list_object_versions").paginate(Bucket=self._bucket, Prefix=self._prefix)
        return sorted(each["Key"].removeprefix(self._prefix) for page in pages for each in page.get(kind) or ())

    def files(self, folder: str = "") -> dict[str, bytes]:
        listed = self._client.list_objects_v2(Bucket=self._bucket, Prefix=self._prefix + folder).get("Contents") or ()
        return {each["Key"].removeprefix(self._prefix + folder): self._body(each["Key"]) for each in listed}

    def _body(self, key: str) -> bytes:
        return self._client.get_object(Bucket=self._bucket, Key=key)["Body"].read()

    def head(self, key: str) -> dict[str, Any]:
        return self._client.head_object(Bucket=self._bucket, Key=self._prefix + key, ChecksumMode="ENABLED")

    def states(self) -> dict[str, str]:
        if "index.json" not in self.files():
            return {}
        payload = json.loads(self.files()["index.json"])["payload"]
        entries = json.loads(base64.b64decode(payload))["predicate"]["releases"]
        return {entry["release"]: entry["state"] for entry in entries}


def local(release: Release) -> dict[str, bytes]:
    paths = (path for path in release.folder.rglob("*") if path.is_file())
    return {path.relative_to(release.folder).as_posix(): path.read_bytes() for path in paths}


@pytest.mark.parametrize("kind", ["folder", "s3"])
def test_what_every_place_does(kind, server, proxy, prefix, tmp_path):
    place = open_place(str(tmp_path / "place") if kind == "folder" else f"s3://locked/{prefix}")
    place.check(lock=False)
    source, digests = tmp_path / "source", {data: hashlib.sha256(data).hexdigest() for data in (b"", b"one", b"two")}
    assert (place.get("a/b"), place.digest("a/b"), place.keys("a/")) == (None, None, [])
    with pytest.raises(FileNotFoundError):
        list(place.read("a/b"))
    for data in digests:
        source.write_bytes(data)
        place.stage("staged/x", source)  # anew each time
        assert (b"".join(place.read("staged/x")), place.digest("staged/x")) == (data, digests[data])
    assert place.promote("staged/x", "a/b", None)
    source.write_bytes(b"other")
    place.stage("staged/x", source)
    assert not place.promote("staged/x", "a/b", None), "written once"
    assert not place.put_once("a/b", b"other", None)
    assert place.put_once("a/c", b"one", None)
    assert (place.digest("a/b"), place.digest("a/c")) == (digests[b"two"], digests[b"one"])
    assert place.keys("a/") == ["a/b", "a/c"]

    assert not place.swap("index", b"one", "another state")
    assert place.swap("index", b"one", None)
    assert not place.swap("index", b"two", None)
    data, tag = place.get("index") or (b"", "")
    assert (data, place.swap("index", b"two", tag), place.swap("index", b"three", tag)) == (b"one", True, False)
    assert (place.get("index") or (b"",))[0] == b"two"

    place.remove("a/", keep=["a/c"])
    assert (place.keys("a/"), place.digest("a/b")) == (["a/c"], None)
    assert place.put_once("a/b", b"one", None), "nothing of it is left"
    place.remove("nothing/")


def test_publish_fetch_verify_revoke(server, proxy, prefix, tmp_path, monkeypatch):
    """The whole way through a locked bucket whose owner is named, to a reader who may do nothing but read."""
    proxy.owner = OWNER
    release, bucket = ready(tmp_path / "home", policy=LOCKED), Bucket(server, "locked", prefix)
    place = open_place(f"s3://locked/{prefix}", OWNER)
    assert not publish(release, place).already
    assert publish(release, place).already

    assert bucket.files("notes@1/") == local(release)
    assert {request.headers.get("x-amz-expected-bucket-owner") for request in proxy.requests} == {OWNER}
    sent = [each for each in proxy.requests if each.method == "PUT" and "x-amz-copy-source" not in each.headers]
    assert all("x-amz-checksum-sha256" in each.headers for each in sent if "?retention" not in each.path)
    for path, data in local(release).items():
        head = bucket.head(f"notes@1/{path}")
        assert base64.b64decode(head["ChecksumSHA256"]) == hashlib.sha256(data).digest()
        days = (head["ObjectLockRetainUntilDate"] - head["LastModified"]).total_seconds() / 86400
        expected = ("COMPLIANCE", 2) if path in RECORDS else ("GOVERNANCE", 1)
        assert (head["ObjectLockMode"], round(days, 2)) == expected
    assert not any(key.startswith(".staging/") for key in bucket.versions() + bucket.versions("DeleteMarkers"))

    act_as(monkeypatch, server, proxy, READER)
    reading = open_place(f"s3://locked/{prefix}")
    fetch(reading, "notes@1", tmp_path / "got")
    verdict = verify(FolderReader(tmp_path / "got"), approvers.of(tmp_path / "home"))
    assert (verdict.state, verdict.missing) == ("published", [])
    with pytest.raises(InputError, match=r"was refused to these credentials"):
        publish(ready(tmp_path / "reader"), reading)

    act_as(monkeypatch, server, proxy, PUBLISHER)
    server.client().delete_object(Bucket="locked", Key=f"{prefix}/notes@1/README.md")
    assert bucket.versions("DeleteMarkers") == ["notes@1/README.md"]
    assert revoke(release, signer("ben"), "a name was left in").places == [place.text]
    left = [key.removeprefix("notes@1/") for key in bucket.versions() if key.startswith("notes@1/")]
    assert left == [*RECORDS, "revocation.dsse.json"], "every version of all else is gone"
    assert bucket.versions("DeleteMarkers") == []
    assert bucket.head("notes@1/revocation.dsse.json")["ObjectLockMode"] == "COMPLIANCE"
    assert bucket.states() == {"notes@1": "revoked"}
    with pytest.raises(IntegrityError, match="REVOKED"):
        fetch(reading, "notes@1", tmp_path / "again")


@pytest.mark.parametrize(
    ("bucket", "owner", "policy", "said"),
    [
        ("plain", None, POLICY, "keeps no versions"),
        ("releases", None, LOCKED, "asks for Object Lock, which the bucket releases has not"),
        ("releases", OTHER, POLICY, f"is not account {OTHER}'s; nothing was sent"),
        (
            "elsewhere",
            None,
            POLICY,
            r"s3://elsewhere was refused to these credentials; it needs s3:GetBucketVersioning",
        ),
    ],
)
def test_a_bucket_that_cannot_keep_a_release(bucket, owner, policy, said, server, proxy, prefix, tmp_path):
    proxy.owner = OWNER
    release = ready(tmp_path / "home", policy=policy)
    with pytest.raises(InputError, match=said):
        publish(release, open_place(f"s3://{bucket}/{prefix}", owner))
    assert {request.method for request in proxy.requests} <= {"HEAD", "GET"}, "nothing was written"
    assert states.state_of(release).name == "approved"


def test_what_the_service_could_not_answer_is_told_as_such(server, proxy, prefix, tmp_path, monkeypatch):
    """Not as a bucket without Object Lock, and not as what happened to the cleaning up behind it."""
    monkeypatch.setattr(calls, "TRIES", 1)
    place, source = open_place(f"s3://locked/{prefix}"), tmp_path / "source"
    proxy.faults.append(Fault("500", "GET", "object-lock"))
    with pytest.raises(InputError, match="answered InternalError to get_object_lock_configuration"):
        place.check(lock=True)
    monkeypatch.setattr(s3, "PART", 5 << 20)
    source.write_bytes(bytes(s3.PART + 1))
    proxy.faults += [Fault("500", "PUT", "partNumber"), Fault("500", "DELETE", "uploadId")]
    with pytest.raises(InputError, match="answered InternalError to upload_part"):
        place.stage("staged/x", source)


@pytest.mark.slow
def test_other_refusals_are_sentences(server, proxy, prefix, tmp_path, monkeypatch):
    release = ready(tmp_path / "home")
    with pytest.raises(InputError, match=r"s3://releases/outside/.* was refused .* s3:PutObject"):
        publish(release, open_place("s3://releases/outside"))
    act_as(monkeypatch, server, proxy, seaweed.OPERATOR)
    with pytest.raises(InputError, match="There is no bucket elsewhere"):
        publish(release, open_place("s3://elsewhere/x"))
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")
    with pytest.raises(InputError, match=r"credentials|refused"):
        publish(release, open_place(f"s3://releases/{prefix}"))
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(InputError, match=r"s3://releases could not be asked \(EndpointConnectionError\)"):
        publish(release, open_place(f"s3://releases/{prefix}"))
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    with pytest.raises(InputError, match="no usable credentials"):
        publish(release, open_place(f"s3://releases/{prefix}"))
    assert states.state_of(release).name == "approved"


def _published_through(fault: Fault, server, proxy, prefix, tmp_path, monkeypatch) -> None:
    """One fault, and the publication is none the worse; nothing is sent a second time under a final key."""
    monkeypatch.setattr(calls, "READ_SECONDS", 1)
    monkeypatch.setattr(proxy, "delay", 1.5)
    release, bucket = ready(tmp_path / "home"), Bucket(server, "releases", prefix)
    proxy.faults.append(fault)
    publish(release, open_place(f"s3://releases/{prefix}"))
    assert fault.times == 0, "it did happen"
    assert bucket.files("notes@1/") == local(release)
    assert bucket.states() == {"notes@1": "published"}
    assert [key for key in bucket.versions() if key.startswith("notes@1/")] == [
        f"notes@1/{path}" for path in sorted(local(release))
    ]
    fetch(open_place(f"s3://releases/{prefix}"), "notes@1", tmp_path / "got")


FINAL, STAGED = "notes%401/data/train.jsonl", ".staging/notes%401/data/train.jsonl"


@pytest.mark.parametrize(
    ("kind", "method", "path"),
    [("lost", "PUT", FINAL), ("cut", "GET", STAGED)],
)
def test_a_fault_on_the_way(kind, method, path, server, proxy, prefix, tmp_path, monkeypatch):
    _published_through(Fault(kind, method, path), server, proxy, prefix, tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["500", "503", "reset", "lost", "slow"])
@pytest.mark.parametrize(
    "path",
    [
        STAGED,
        FINAL,
        "notes%401/publication.dsse.json",
        "notes%401/manifest.json",
        "index.json",
        ".claims/notes%401.json",
    ],
)
def test_every_fault_of_every_write(kind, path, server, proxy, prefix, tmp_path, monkeypatch):
    _published_through(Fault(kind, "PUT", path), server, proxy, prefix, tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "path", "kind"),
    [
        *product(["GET"], [STAGED, "index.json", "?list-type"], ["500", "503", "cut", "slow", "lost"]),
        *product(["HEAD"], [FINAL], ["500", "503", "slow", "lost"]),  # which has no body to cut
    ],
)
def test_every_fault_of_every_read(kind, method, path, server, proxy, prefix, tmp_path, monkeypatch):
    release = ready(tmp_path / "first", name="first")
    publish(release, open_place(f"s3://releases/{prefix}"))
    monkeypatch.setattr(calls, "READ_SECONDS", 1)
    monkeypatch.setattr(proxy, "delay", 1.5)
    fault = Fault(kind, method, path)
    proxy.faults.append(fault)
    second = ready(tmp_path / "home")
    publish(second, open_place(f"s3://releases/{prefix}"))
    assert fault.times == 0
    assert Bucket(server, "releases", prefix).states() == {"first@1": "published", "notes@1": "published"}


@pytest.mark.slow
def test_a_service_that_stays_away_is_a_sentence_and_the_command_goes_on_later(server, proxy, prefix, tmp_path):
    release, bucket = ready(tmp_path / "home"), Bucket(server, "releases", prefix)
    proxy.faults.append(away := Fault("500", "PUT", "notes%401/lineage.json", times=1000))
    with pytest.raises(InputError, match=r"answered InternalError to \w+; run the same command again"):
        publish(release, open_place(f"s3://releases/{prefix}"))
    assert bucket.states() == {}
    assert states.state_of(release).name == "approved"
    away.times = 0
    before = len(proxy.requests)
    publish(release, open_place(f"s3://releases/{prefix}"))
    assert bucket.states() == {"notes@1": "published"}
    again = [each.path for each in proxy.requests[before:] if each.method == "PUT" and "data/train" in each.path]
    assert not [path for path in again if ".staging" in path], "what had arrived is not sent again"


@pytest.mark.slow
def test_a_byte_that_changes_on_the_way_is_noticed(server, proxy, prefix, tmp_path):
    release, bucket = ready(tmp_path / "home"), Bucket(server, "releases", prefix)
    proxy.faults.append(Fault("flip", "PUT", STAGED, times=1000))
    with pytest.raises(InputError, match=r"run the same command again"):
        publish(release, open_place(f"s3://releases/{prefix}"))
    assert (bucket.states(), bucket.files("notes@1/")) == ({}, {})


def _goes_on(bucket: Bucket, place: str, release: Release) -> None:
    """After a publication that was killed somewhere."""
    if bucket.states():
        assert bucket.states() == {"notes@1": "published"}
        assert bucket.files("notes@1/") == local(release), "what the index names is whole"
    publish(release, open_place(place))
    assert bucket.states() == {"notes@1": "published"}
    assert bucket.files("notes@1/") == local(release)
    assert not any(key.startswith(".staging/") for key in bucket.versions())
    assert states.state_of(release).name == "published"


def test_killed_on_the_way_the_same_command_goes_on(server, proxy, prefix, tmp_path):
    bucket, place = Bucket(server, "locked", prefix), f"s3://locked/{prefix}"
    release = ready(tmp_path / "home", policy=LOCKED)
    assert killed_at(lambda: publish(release, open_place(place)), 230).killed
    _goes_on(bucket, place, release)


@pytest.mark.slow
def test_killed_anywhere_the_same_command_goes_on(server, proxy, prefix, tmp_path):
    """At every 13th request that is sent, request that is answered, or operation on a file."""
    ready(tmp_path / "first", policy=LOCKED)
    release, attempt = Release(tmp_path / "home", "notes", "1"), [0]

    def place() -> str:
        return f"{prefix}/{attempt[0]}"

    shutil.copytree(tmp_path / "first", tmp_path / "home")
    for _ in deaths(lambda: publish(release, open_place(f"s3://locked/{place()}")), every=13):
        _goes_on(Bucket(server, "locked", place()), f"s3://locked/{place()}", release)
        attempt[0] += 1
        shutil.rmtree(tmp_path / "home")
        shutil.copytree(tmp_path / "first", tmp_path / "home")
    assert attempt[0] > 20


@pytest.mark.slow
def test_a_revocation_killed_anywhere_goes_on(server, proxy, prefix, tmp_path):
    for number in range(0, 1000, 13):
        release = ready(tmp_path / f"home{number}", policy=LOCKED)
        bucket, place = Bucket(server, "locked", f"{prefix}/{number}"), f"s3://locked/{prefix}/{number}"
        publish(release, open_place(place))
        attempt = killed_at(partial(revoke, release, signer("ben"), "withdrawn"), number)
        if bucket.states() == {"notes@1": "published"}:
            assert bucket.files("notes@1/").keys() == local(release).keys() - {"revocation.dsse.json"}
        revoke(release, signer("ben"), "withdrawn")
        assert bucket.states() == {"notes@1": "revoked"}
        left = [key.removeprefix("notes@1/") for key in bucket.versions() if key.startswith("notes@1/")]
        assert left == [*RECORDS, "revocation.dsse.json"]
        if not attempt.killed:
            break
    assert number > 50


def test_of_two_publishers_at_once_one_wins(server, proxy, prefix, tmp_path):
    bucket, place = Bucket(server, "releases", prefix), f"s3://releases/{prefix}"
    ready(tmp_path / "home0")
    shutil.copytree(tmp_path / "home0", tmp_path / "home1")
    releases = [Release(tmp_path / f"home{number}", "notes", "1") for number in range(2)]

    def outcome(release: Release) -> str:
        try:
            publish(release, open_place(place))
            return "published"
        except InputError as error:
            return error.code

    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(outcome, releases))
    assert sorted(outcomes) == ["published", "release-taken"]
    winner, loser = releases if outcomes[0] == "published" else releases[::-1]
    assert bucket.files("notes@1/") == local(winner)
    assert (states.state_of(winner).name, states.state_of(loser).name) == ("published", "approved")


@pytest.mark.slow
def test_many_at_once_are_all_in_the_index(server, proxy, prefix, tmp_path):
    bucket, place = Bucket(server, "releases", prefix), f"s3://releases/{prefix}"
    releases = [ready(tmp_path / f"home{number}", name=f"notes{number}") for number in range(6)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda release: publish(release, open_place(place)), releases))
    assert bucket.states() == {f"notes{number}@1": "published" for number in range(6)}


@pytest.mark.slow
@pytest.mark.parametrize("fault", [None, Fault("lost", "POST", "notes%401/data"), Fault("500", "PUT", "partNumber=2")])
def test_large_files_go_in_parts(fault, server, proxy, prefix, tmp_path, monkeypatch):
    monkeypatch.setattr(s3, "PART", 5 << 20)
    rows = [{"id": f"r{number}", "text": f"{number:06d} " * 150_000} for number in range(12)]  # 12.6 MB
    release = ready(tmp_path / "home", rows=rows, policy=LOCKED)
    if fault:
        proxy.faults.append(fault)
    publish(release, open_place(f"s3://locked/{prefix}"))
    bucket = Bucket(server, "locked", prefix)
    head = bucket.head("notes@1/data/train.jsonl")
    assert head["ChecksumSHA256"].endswith("-3")
    assert head["ObjectLockMode"] == "GOVERNANCE"
    assert bucket.files("notes@1/") == local(release)
    assert fault is None or fault.times == 0
    proxy.faults.append(cut := Fault("cut", "GET", "notes%401/data/train.jsonl", times=2))
    fetch(open_place(f"s3://locked/{prefix}"), "notes@1", tmp_path / "got")
    assert cut.times == 0
    assert (tmp_path / "got" / "data" / "train.jsonl").read_bytes() == local(release)["data/train.jsonl"]


def test_memory_does_not_hold_a_shard(server, proxy, prefix, tmp_path, monkeypatch):
    """Sent in parts and read in pieces: no call returns or takes more than a part."""
    monkeypatch.setattr(s3, "PART", 5 << 20)
    path = tmp_path / "large"
    path.write_bytes(bytes(range(256)) * (11 << 12))  # 11 MiB
    place = open_place(f"s3://releases/{prefix}")
    place.stage("large", path)
    lengths = [int(each.headers["content-length"]) for each in proxy.requests if each.method == "PUT"]
    assert lengths == [5 << 20, 5 << 20, 1 << 20]
    pieces = list(place.read("large"))
    assert max(map(len, pieces)) <= 1 << 20
    assert hashlib.sha256(b"".join(pieces)).hexdigest() == hashlib.sha256(path.read_bytes()).hexdigest()
    assert place.digest("large") == hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_bucket_policy_of_the_page(server, proxy, tmp_path, monkeypatch, capsys):
    """Its commands, by identities that have what the policy gives them and nothing else."""
    from botocore.exceptions import ClientError

    page = (ROOT / "docs" / "how-to" / "publish.md").read_text(encoding="utf-8")
    (policy,) = re.findall(r"^```json\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    (commands,) = re.findall(r"^```sh s3\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    server.make_bucket("our-releases", lock=True)
    here = policy.replace("123456789012:role/", "000000000000:user/")
    server.client().put_bucket_policy(Bucket="our-releases", Policy=here)
    proxy.owner = OWNER
    monkeypatch.setenv("SM_OPS_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    release = ready(tmp_path / "home", policy=LOCKED)
    for identity, line in zip(seaweed.ROLES, commands.splitlines(), strict=True):
        act_as(monkeypatch, server, proxy, identity)
        done = call_cli(monkeypatch, capsys, *shlex.split(line)[1:])
        assert done.returncode == 0, (line, done.stderr)
    for identity, key in (("release-publisher", "other/x"), ("release-reader", "notes/x"), ("release-reader", "x")):
        with pytest.raises(ClientError, match="AccessDenied"):
            server.client(identity).put_object(Bucket="our-releases", Key=key, Body=b"")
    server.client().put_object(Bucket="our-releases", Key="other/y", Body=b"")
    for identity in seaweed.ROLES:
        with pytest.raises(ClientError, match="AccessDenied"):
            server.client(identity).get_object(Bucket="our-releases", Key="other/y")
    with pytest.raises(ClientError, match="AccessDenied"):
        server.client("release-publisher").list_objects_v2(Bucket="our-releases", Prefix="other/")
    act_as(monkeypatch, server, proxy, "release-publisher")
    revoke(release, signer("ben"), "a name was left in")
    assert Bucket(server, "our-releases", "notes").states() == {"notes@1": "revoked"}
