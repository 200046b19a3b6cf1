"""verify: revoked first, then every byte, then who approved; with exit codes that a program can rely on."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import made_release as made
import pytest
import rfc8785
from calling import call_cli

from sm_ops.core import fs
from sm_ops.core.errors import ApprovalError, IntegrityError
from sm_ops.release import approvers, clock, envelopes, keys, ledger, verification
from sm_ops.release.folder import Release
from sm_ops.release.reading import FolderReader
from sm_ops.release.verbs.verify import verify

UNIT = pytest.mark.unit


@pytest.fixture
def home(tmp_path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def cli(monkeypatch, capsys):
    """Call `sm-ops release ...`."""
    return lambda *arguments: call_cli(monkeypatch, capsys, "release", *map(str, arguments))


@pytest.fixture(scope="module")
def published_home(tmp_path_factory) -> Path:
    home = tmp_path_factory.mktemp("published") / "home"
    made.add_publication(made.approved(home))
    return home


@pytest.fixture
def outside(home, published_home, tmp_path, monkeypatch) -> Path:
    """A published release as an outsider has it: the bundle and a list of approvers, no home."""
    shutil.copytree(published_home, home)
    shutil.copytree(home / "releases" / "notes@1", tmp_path / "got" / "notes@1")
    shutil.copy(approvers.path_of(home), tmp_path / "got" / "approvers.yaml")
    monkeypatch.setenv("SM_OPS_HOME", str(tmp_path / "nowhere"))
    return tmp_path / "got" / "notes@1"


def put_index(folder: Path, of: Release, state: str, signer=None, **fields: object) -> None:
    """index.json beside a bundle."""
    by = signer or keys.builder(of.home)
    entry = {
        "release": str(of),
        "name": of.name,
        "version": of.version,
        "state": state,
        "manifest": fs.file_hash(of.folder / "manifest.json"),
        "path": f"{of}/",
        "published": "2026-01-01T00:00:00Z",
        "expires": "2027-01-01T00:00:00Z",
        "revocation": None,
    }
    said = {"serial": 1, "previous": None, "builder": keys.public_of(by), "releases": [entry | fields]}
    (folder / "index.json").write_bytes(envelopes.signed(envelopes.statement("index", {}, said), [by]))


# ---- states and exit codes ------------------------------------------------------------------------------


@UNIT
def test_every_state_of_a_release(home):
    release = made.make_bundle(home)
    seen = [verify(home, "notes@1")]
    made.add_checks(release)
    seen.append(verify(home, "notes@1"))
    made.request(release)
    made.approve(release, "cleo")
    seen.append(verify(home, "notes@1"))
    made.approve(release, "ben")
    seen.append(verify(home, "notes@1"))
    made.add_publication(release)
    seen.append(verify(home, str(release.folder)))
    assert [(each.state, each.approved_by, bool(each.missing)) for each in seen] == [
        ("built", [], True),
        ("checked", [], True),
        ("requested", ["cleo"], True),
        ("approved", ["ben", "cleo"], False),
        ("published", ["ben", "cleo"], False),
    ]
    assert "role privacy" in " ".join(seen[2].missing)
    made.revoke(release)
    with pytest.raises(IntegrityError, match=r"REVOKED: notes@1, on .* by ben: a name was found"):
        verify(home, "notes@1")


def test_what_is_over_or_was_refused_is_not_approved(home):
    failed = made.make_bundle(home, version="failed")
    made.add_checks(failed, verdict="fail")
    made.request(failed)
    made.approve(failed, "ben", "cleo")
    assert verify(home, "notes@failed").missing == ["Its checks failed."]
    late = made.make_bundle(home, version="late")
    made.add_checks(late)
    made.request(late, requested=clock.now() - timedelta(days=15))
    made.approve(late, "ben", "cleo")
    assert verify(home, "notes@late").state == "expired"
    assert verify(home, "notes@late").missing
    rejected = made.approved(home, version="rejected")
    made.reject(rejected)
    verdict = verify(home, "notes@rejected")
    assert verdict.state == "rejected"
    assert verdict.missing == ["It was rejected by ben."]
    with pytest.raises(ApprovalError, match=r"notes@rejected is not approved. It was rejected by ben"):
        verdict.require_approved()


@UNIT
def test_a_published_release_expires_but_not_its_approvals(home):
    release = made.approved(home)
    made.add_publication(release, days=100)
    reader, trusted = FolderReader(release.folder), approvers.of(home)
    assert not verification.verify(reader, trusted, clock.now() + timedelta(days=99)).missing
    over = verification.verify(reader, trusted, clock.now() + timedelta(days=101))
    assert (over.state, over.approved_by) == ("expired", ["ben", "cleo"])
    assert over.missing == [f"It was published and expired on {over.expires}."]


def test_a_later_version_supersedes(home):
    for version, ago in (("1", 2), ("2", 1)):
        release = made.approved(home, version=version)
        made.add_publication(release, published=clock.now() - timedelta(days=ago))
    states = {version: verify(home, f"notes@{version}") for version in ("1", "2")}
    assert {version: verdict.state for version, verdict in states.items()} == {"1": "superseded", "2": "published"}
    assert not states["1"].missing, "what was approved stays so"


def test_waivers_are_told_and_need_the_role(home):
    release = made.make_bundle(home)
    made.add_checks(release, waived={"licence": "the owner has agreed"})
    made.request(release)
    made.approve(release, "ben", "cleo")
    verdict = verify(home, "notes@1")
    assert [(each.check, each.by, each.reason) for each in verdict.waived] == [
        ("licence", "ben", "the owner has agreed")
    ]
    assert (verdict.missing, verdict.checks) == ([], {"fail": 1, "pass": 1})
    other = home.parent / "other"
    made.make_approvers(other, roles={"ada": ["privacy"], "ben": ["legal"], "cleo": ["privacy"]})
    judged = verify(home, "notes@1", approvers.path_of(other))
    assert judged.missing == ["waivers/licence.dsse.json is not signed by a key that had the role privacy."]


# ---- the command ----------------------------------------------------------------------------------------


@UNIT
def test_the_command_says_all_in_words_and_exit_codes(home, cli):
    release = made.make_bundle(home)
    made.add_checks(release, waived={"licence": "the owner has agreed"})
    made.request(release)
    early = cli("verify", "notes@1")
    assert early.returncode == 4
    assert "notes@1 is not approved. 2 more signatures are needed." in early.stderr
    assert "Next: sm-ops release approve notes@1 --key FILE" in early.stderr
    made.approve(release, "ben", "cleo")
    done = cli("verify", "notes@1")
    assert (done.returncode, done.stderr) == (0, "next: sm-ops release publish notes@1 --to PLACE\n")
    for words in ("notes@1: every byte is what was signed", "ben, cleo", "WAIVED       licence, by ben: the owner"):
        assert words in done.stdout
    told = json.loads(cli("verify", "notes@1", "--json").stdout)
    assert (told["state"], told["approved_by"], told["missing"]) == ("approved", ["ben", "cleo"], [])
    assert told["manifest"] == fs.file_hash(release.folder / "manifest.json")
    (release.folder / "data" / "train.jsonl").write_text("Zoe\n")
    changed = cli("verify", "notes@1")
    assert changed.returncode == 5
    assert "data/train.jsonl" in changed.stderr
    assert "Zoe" not in changed.stderr


@UNIT
def test_what_is_no_release(home, cli, tmp_path):
    made.make_bundle(home)
    for place in ("notes@2", "nothing", tmp_path, "UPPER@1"):
        done = cli("verify", place)
        assert (done.returncode, done.stdout) == (2, ""), place
        assert "Traceback" not in done.stderr


# ---- outsiders ------------------------------------------------------------------------------------------


@UNIT
def test_an_outsider_has_the_bundle_and_a_list_of_approvers(outside, cli, tmp_path):
    done = cli("verify", outside, "--approvers", outside.parent / "approvers.yaml")
    assert done.returncode == 0, done.stderr
    assert "published" in done.stdout
    assert not (tmp_path / "nowhere").exists(), "nothing was written"


@UNIT
def test_without_a_list_of_approvers_nobody_has_approved(outside, cli):
    done = cli("verify", outside)
    assert done.returncode == 4
    assert "every byte is what was signed" in done.stdout
    assert "could not be checked" in done.stderr or "could be checked without a list" in done.stderr
    (outside / "README.md").write_text("# Other\n")
    assert cli("verify", outside).returncode == 5


@UNIT
def test_a_list_in_the_bundle_is_a_file_too_many(outside, cli):
    shutil.copy(outside.parent / "approvers.yaml", outside / "approvers.yaml")
    done = cli("verify", outside)
    assert done.returncode == 5
    assert "approvers.yaml is no file of the release" in done.stderr


@UNIT
def test_approvers_of_another_house_have_approved_nothing(outside, cli, tmp_path):
    people = {name: ["privacy"] for name in ("dora", "emil", "fay")}
    path = made.make_approvers(tmp_path / "other", roles=people)
    done = cli("verify", outside, "--approvers", path)
    assert done.returncode == 4
    assert "is not in the list of approvers" in done.stderr


@UNIT
def test_a_changed_list_of_approvers_is_refused(outside, cli):
    path = outside.parent / "approvers.yaml"
    path.write_text(path.read_text().replace("threshold: 2", "threshold: 1"))
    done = cli("verify", outside, "--approvers", path)
    assert done.returncode == 5
    assert "approvers.yaml" in done.stderr


# ---- revoked --------------------------------------------------------------------------------------------


@UNIT
def test_revoked_is_said_before_anything_else(home, cli):
    release = made.approved(home)
    made.add_publication(release)
    made.revoke(release)
    for path in ("data/train.jsonl", "checks.json", "README.md", "decision.dsse.json"):
        (release.folder / path).unlink()
    done = cli("verify", "notes@1", "--json")
    assert done.returncode == 5
    assert "REVOKED: notes@1" in done.stderr
    told = json.loads(done.stdout)
    assert (told["state"], "a name was found" in told["problem"]) == ("revoked", True)
    (release.folder / "manifest.json").unlink()
    assert "REVOKED: notes@1" in cli("verify", release.folder).stderr
    (release.folder / "manifest.json").write_text("{}\n")
    other = cli("verify", "notes@1", "--json")
    assert (other.returncode, json.loads(other.stdout)["state"]) == (5, "changed")


@UNIT
def test_a_tombstone_in_the_index_beside_it(outside, home, cli):
    release = Release(home, "notes", "1")
    put_index(outside.parent, release, "revoked")
    done = cli("verify", outside)
    assert done.returncode == 5
    assert "REVOKED: notes@1, as the index.json beside it says" in done.stderr


@UNIT
def test_what_else_the_index_beside_it_says(outside, home):
    release, trusted = Release(home, "notes", "1"), approvers.of(home)

    def judged():
        return verification.verify(FolderReader(outside), trusted)

    put_index(outside.parent, release, "published")
    assert (judged().state, judged().notices) == ("published", [])
    put_index(outside.parent, release, "superseded")
    assert (judged().state, judged().missing) == ("superseded", [])
    put_index(outside.parent, release, "published", release="notes@0", version="0", path="notes@0/")
    assert judged().notices == ["The index.json beside it does not list it."]
    put_index(outside.parent, release, "published", made.signer("ada"))
    assert judged().notices == ["The index.json beside it was last signed by another builder."]
    put_index(outside.parent, release, "published", manifest="0" * 64)
    with pytest.raises(IntegrityError, match=r"manifest.json is not the one that the index.json beside it lists"):
        judged()


@UNIT
def test_a_changed_index_beside_it(outside, home):
    put_index(outside.parent, Release(home, "notes", "1"), "revoked")
    index = outside.parent / "index.json"
    whole = index.read_bytes()
    for changed in (whole[:-1], b"{}", whole.replace(b'"sig":"', b'"sig":"A', 1), whole.replace(b":[{", b":[ {")):
        index.write_bytes(changed)
        with pytest.raises(IntegrityError, match=r"index.json"):
            verification.verify(FolderReader(outside), None)


# ---- what does not belong together ----------------------------------------------------------------------


@UNIT
def test_a_whole_bundle_under_another_name(outside, cli):
    moved = outside.rename(outside.with_name("notes@2"))
    done = cli("verify", moved)
    assert done.returncode == 5
    assert "is named as one release and is another" in done.stderr
    assert cli("verify", moved.rename(moved.with_name("renamed"))).returncode == 4, "a folder may be called anything"


def test_a_bundle_of_another_builder(home, tmp_path, cli):
    release = made.approved(tmp_path / "elsewhere")
    made.make_bundle(home, version="own")
    shutil.copytree(release.folder, home / "releases" / "notes@1")
    done = cli("verify", "notes@1")
    assert done.returncode == 5
    assert "another builder" in done.stderr
    shutil.move(home / "releases" / "notes@1", tmp_path / "notes@1")
    noticed = cli("verify", tmp_path / "notes@1")
    assert noticed.returncode == 0, "the approvers are the same people"
    assert "It was built by another builder than this home's." in noticed.stdout


def said(release: Release, path: str, by: tuple[str, ...], change: Callable[[dict], object]) -> bytes:
    """A statement of a release, changed and signed again by these people, or by the builder for nobody."""
    payload = json.loads(base64.b64decode(json.loads((release.folder / path).read_bytes())["payload"]))
    if "log" in payload["predicate"]:  # right, unless it is what is changed
        payload["predicate"]["log"] = fs.sha256((release.folder / "log.jsonl").read_bytes().splitlines(True)[-1])
    change(payload)
    signers = [made.signer(name) for name in by] or [keys.builder(release.home)]
    return envelopes.signed(rfc8785.dumps(payload), signers)


def of_another_file(payload: dict) -> None:
    payload["subject"][0]["digest"]["sha256"] = "0" * 64


def of_another_release(payload: dict) -> None:
    payload["predicate"]["release"] = "notes@2"


WRONG = {
    "a decision on another card": ("decision.dsse.json", ("ada", "ben", "cleo"), of_another_file),
    "a decision on one file less": ("decision.dsse.json", ("ada", "ben", "cleo"), lambda it: it["subject"].pop()),
    "a decision on another release": ("decision.dsse.json", ("ada", "ben", "cleo"), of_another_release),
    "a decision without its end": ("decision.dsse.json", ("ada",), lambda it: it["predicate"].pop("expires")),
    "a publication of another decision": ("publication.dsse.json", (), of_another_file),
    "a publication after another line": ("publication.dsse.json", (), lambda it: it["predicate"].update(log="0" * 64)),
    "a publication without its end": ("publication.dsse.json", (), lambda it: it["predicate"].update(expires="never")),
    "a publication by a person": ("publication.dsse.json", ("ben",), lambda it: None),
    "a waiver for another release": ("waivers/k.dsse.json", ("ben",), of_another_release),
    "a waiver for another manifest": ("waivers/k.dsse.json", ("ben",), of_another_file),
    "a waiver of another check": ("waivers/k.dsse.json", ("ben",), lambda it: it["predicate"].update(check="other")),
    "a statement of another kind": ("waivers/k.dsse.json", ("ben",), lambda it: it.update(predicateType="urn:other")),
    "a reason that is no text": ("waivers/k.dsse.json", ("ben",), lambda it: it["predicate"].update(reason=3)),
    "a field more": ("waivers/k.dsse.json", ("ben",), lambda it: it.update(note="")),
    "a digest more": ("waivers/k.dsse.json", ("ben",), lambda it: it["subject"][0]["digest"].update(sha1="0")),
}


@pytest.fixture(scope="module")
def waived_home(tmp_path_factory) -> Path:
    home = tmp_path_factory.mktemp("waived") / "home"
    release = made.make_bundle(home)
    made.add_checks(release, waived={"k": "none is needed"})
    made.request(release)
    made.approve(release, "ben", "cleo")
    made.add_publication(release)
    return home


@pytest.fixture
def waived(home, waived_home) -> Release:
    """A published release with a waived check."""
    shutil.copytree(waived_home, home)
    return Release(home, "notes", "1")


def test_a_statement_that_was_recorded_again_is_as_good(waived):
    for path, by in (("publication.dsse.json", ()), ("waivers/k.dsse.json", ("ben",))):
        made.put(waived, path, said(waived, path, by, lambda payload: None))
    assert not verify(waived.home, "notes@1").missing


@pytest.mark.parametrize("what", WRONG)
def test_statements_that_do_not_fit_are_refused_even_when_a_builder_recorded_them(waived, what):
    """A home's own commands would not; whoever has its key could, and readers compare."""
    path, by, change = WRONG[what]
    made.put(waived, path, said(waived, path, by, change))
    with pytest.raises(IntegrityError, match=path):
        verify(waived.home, "notes@1")


def test_a_payload_of_other_spelling(waived):
    payload = base64.b64decode(json.loads((waived.folder / "waivers" / "k.dsse.json").read_bytes())["payload"])
    made.put(waived, "waivers/k.dsse.json", envelopes.signed(payload.replace(b":", b": ", 1), [made.signer("ben")]))
    with pytest.raises(IntegrityError, match=r"waivers/k.dsse.json is no statement"):
        verify(waived.home, "notes@1")


@pytest.mark.parametrize(
    "change", [{"verdict": "maybe"}, {"release": "notes@2"}, {"checks": [{}]}, {"checks": None}, {"checks": "waived"}]
)
def test_checks_of_another_form(home, change):
    release = made.make_bundle(home)
    made.put(release, "checks.json", made.canonical({"release": "notes@1", "verdict": "pass", "checks": []} | change))
    with pytest.raises(IntegrityError, match=r"checks.json does not fit"):
        verify(home, "notes@1")


def test_a_check_that_was_waived_by_nobody(home):
    release = made.make_bundle(home)
    check = {"name": "k", "severity": "block", "status": "fail", "waived": {"by": "ben", "reason": "none"}}
    value = {"release": "notes@1", "verdict": "pass", "checks": [check]}
    made.put(release, "checks.json", made.canonical(value))
    with pytest.raises(IntegrityError, match=r"checks.json does not fit"):
        verify(home, "notes@1")


@pytest.mark.parametrize(
    "change",
    [
        {"format": "release/2"},
        {"version": "2"},
        {"files": []},
        {"files": [{"path": "../x", "sha256": "0" * 64, "size": 1}]},
        {"builder": {"key": "0" * 64, "public": "0" * 64}},
        None,
    ],
)
def test_manifests_of_another_form_though_signed(home, change):
    release = made.make_bundle(home)
    builder = keys.builder(home)
    value = json.loads((release.folder / "manifest.json").read_bytes())
    manifest = made.canonical(value | change) if change else json.dumps(value, indent=1).encode()
    built = {"release": "notes@1", "created": value["created"]}
    signed = envelopes.signed(envelopes.statement("build", {"manifest.json": fs.sha256(manifest)}, built), [builder])
    late = {"manifest.json": manifest, "manifest.dsse.json": signed}
    for path, data in (late | ledger.first_lines("notes@1", builder, late, value["created"])).items():
        (release.folder / path).write_bytes(data)
    with pytest.raises(IntegrityError, match=r"manifest.json is not as a build"):
        verify(home, "notes@1")


@pytest.mark.parametrize(
    ("of", "files", "named"),
    [
        ("notes@2", {}, "line 1: it is of notes@2"),
        ("notes@1", {"other.json": b""}, "may not name"),
        ("notes@1", {"data/train.jsonl": b""}, "may not name"),
        ("notes@1", {"waivers/../x.dsse.json": b""}, "may not name"),
        ("notes@1", {"manifest.json": b"{}"}, "manifest.json is not what was signed"),
        ("notes@1", None, "does not name manifest.dsse.json"),
    ],
)
def test_logs_that_are_of_something_else_though_signed(home, of, files, named):
    release = made.make_bundle(home)
    kept = {path: (release.folder / path).read_bytes() for path in ("manifest.json", "manifest.dsse.json")}
    recorded = {} if files is None else kept | files
    for path, data in ledger.first_lines(of, keys.builder(home), recorded, "2026-01-01T00:00:00Z").items():
        (release.folder / path).write_bytes(data)
    with pytest.raises(IntegrityError, match=named):
        verify(home, "notes@1")


@UNIT
def test_a_policy_that_cannot_be_read(home):
    made.make_bundle(home, policy=made.POLICY | {"approvers": 3})
    with pytest.raises(IntegrityError, match=r"policy.yaml.*approvers"):
        verify(home, "notes@1")


def test_a_link_instead_of_a_folder(home, tmp_path):
    release = made.approved(home)
    shutil.move(release.folder / "data", tmp_path / "data")
    (release.folder / "data").symlink_to(tmp_path / "data")
    with pytest.raises(IntegrityError, match="data is no file of the release"):
        verify(home, "notes@1")


# ---- what it needs --------------------------------------------------------------------------------------

_PROGRAM = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (350 << 20, 350 << 20))
sys.argv = ["sm-ops", "release", "verify", *sys.argv[1:]]
from sm_ops.cli import main
try:
    main()
finally:
    heavy = {"torch", "prefect", "mlflow", "numpy", "boto3", "botocore", "dvc", "pyarrow", "requests"}
    peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
    print(sorted(heavy & set(sys.modules)), int(peak) >> 10)
"""


def test_it_streams_and_imports_nothing_heavy(home, tmp_path):
    """More data than the process may have memory."""
    release = made.approved(home, zeros=400 << 20)
    command = [sys.executable, "-c", _PROGRAM, str(release.folder), "--approvers", str(approvers.path_of(home))]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "SM_OPS_HOME": str(tmp_path / "none")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    heavy, peak = done.stdout.splitlines()[-1].rsplit(" ", 1)
    assert heavy == "[]"
    assert int(peak) < 200, "MiB"
