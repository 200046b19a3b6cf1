"""The verb check: one change, twice is once, waivers with their reason, and what was signed withdrawn or left alone."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import made_release
import pytest
from calling import call_cli
from made_release import POLICY, make_bundle, signer

from sm_ops.core import fs, registry
from sm_ops.core.errors import ApprovalError, InputError, IntegrityError
from sm_ops.release import approvers, envelopes, keys, ledger, people, proposals, states
from sm_ops.release.checking import Outcome
from sm_ops.release.folder import Release
from sm_ops.release.reading import FolderReader
from sm_ops.release.verbs.check import check, waive
from sm_ops.release.verification import verify
from sm_ops.vault import Vault

VALUE = "qx7k-edvz2-wjhp"
CHECKS = {"schema": {}, "provenance": {}, "remote": {"severity": "warn"}}
"""The about of a made release names no sources, so provenance fails."""
WRITTEN = ("checks.json", "README.md", "report.html")


def release(home: Path, checks: dict[str, Any] | None = None) -> Release:
    made = make_bundle(home, policy=POLICY | {"checks": CHECKS if checks is None else checks})
    canaries = home / "restricted" / "canaries.jsonl"
    fs.write_atomic(canaries, json.dumps({"id": "c", "value": VALUE}).encode())
    origin = fs.read_json(made.origin)
    fs.write_json(made.origin, origin | {"values": [str(canaries)]})
    return made


def by_name(checks: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {each["name"]: each for each in checks["checks"]}


def files(made: Release) -> dict[str, str]:
    return {name: fs.file_hash(path) for name, path in fs.files_below(made.folder)}


def intact(made: Release) -> None:
    verify(FolderReader(made.folder), approvers.of(made.home))


def test_three_files_in_one_line_and_twice_is_once(tmp_path):
    made = release(tmp_path)
    found = check(made)
    assert (found.written, found.passed) == (True, False)
    assert found.checks["verdict"] == "fail"
    assert [each["name"] for each in found.checks["checks"]] == ["schema", "provenance", "remote"]
    assert {name: each["status"] for name, each in by_name(found.checks).items()} == {
        "schema": "pass",
        "provenance": "fail",
        "remote": "unmeasured",
    }
    line = ledger.read_log(made)[-1]
    assert (line["action"], line["actor"]["name"], line["note"]) == ("check", "builder", {"verdict": "fail"})
    assert line["files"] == {path: fs.file_hash(made.folder / path) for path in WRITTEN}
    assert json.loads((made.folder / "checks.json").read_bytes()) == found.checks
    intact(made)
    before = files(made)
    again = check(made)
    assert (again.written, again.checks) == (False, found.checks)
    assert files(made) == before
    assert states.state_of(made).due == "check"


def test_equal_releases_have_equal_checks_wherever_they_are(tmp_path):
    one, other = (check(release(tmp_path / name)) for name in "ab")
    assert one.checks == other.checks
    told = json.dumps(one.checks)
    assert str(tmp_path) not in told


def test_a_warning_stops_nothing_and_a_blocking_check_that_was_not_measured_does(tmp_path):
    assert check(release(tmp_path / "a", {"remote": {"severity": "warn"}})).passed
    assert not check(release(tmp_path / "b", {"remote": {"severity": "block"}})).passed
    assert check(release(tmp_path / "c", {"round_trip": {}})).passed  # does not apply
    assert not check(release(tmp_path / "d", {"canaries": {}})).passed


@pytest.mark.parametrize("path", ["data/train.jsonl", "policy.yaml", "manifest.json", "README.md", "log.jsonl"])
def test_what_was_changed_is_named_and_not_checked(path, tmp_path):
    made = release(tmp_path)
    check(made)
    file = made.folder / path
    file.write_bytes(file.read_bytes()[:-2] + b" \n")
    with pytest.raises(IntegrityError, match=path.rpartition("/")[2].replace(".", r"\.")):
        check(made)


def test_a_bundle_that_another_builder_signed_is_not_checked(tmp_path):
    made = release(tmp_path)
    keys.builder(tmp_path / "elsewhere")
    (tmp_path / "elsewhere" / "keys" / "builder.pem").replace(tmp_path / "keys" / "builder.pem")
    with pytest.raises(IntegrityError, match="another builder"):
        check(made)


def test_a_check_that_is_not_on_this_machine_is_named(tmp_path):
    made = release(tmp_path, {"readable": {"grade": 8}})
    with pytest.raises(InputError, match="There is no check 'readable'"):
        check(made)
    assert not (made.folder / "checks.json").exists()


# ---- waivers -------------------------------------------------------------------------------------------


def test_privacy_waives_with_a_reason_that_everybody_reads(tmp_path):
    made = release(tmp_path)
    check(made)
    found = waive(made, "provenance", "we wrote  it ourselves", signer("ben"))
    assert found.passed
    assert by_name(found.checks)["provenance"]["waived"] == {"by": "ben", "reason": "we wrote  it ourselves"}
    assert by_name(found.checks)["provenance"]["status"] == "fail"
    assert by_name(found.checks)["remote"]["waived"] is None
    for path in ("README.md", "report.html"):
        assert "we wrote" in (made.folder / path).read_text()
    line = ledger.read_log(made)[-1]
    assert (line["action"], line["actor"]["name"]) == ("waive", "ben")
    assert set(line["files"]) == {*WRITTEN, "waivers/provenance.dsse.json"}
    intact(made)
    before = files(made)
    assert not waive(made, "provenance", "we wrote  it ourselves", signer("ben")).written
    assert not check(made).written
    assert files(made) == before
    assert states.state_of(made).due == "request"


def test_another_reason_replaces_the_waiver(tmp_path):
    made = release(tmp_path)
    check(made)
    waive(made, "provenance", "one", signer("ben"))
    found = waive(made, "provenance", "two", signer("ben"))
    assert by_name(found.checks)["provenance"]["waived"]["reason"] == "two"
    intact(made)


def test_nobody_else_waives_and_nothing_else_is_waived(tmp_path):
    made = release(tmp_path)
    with pytest.raises(InputError, match=r"is built.*sm-ops release check"):
        waive(made, "provenance", "why", signer("ben"))
    check(made)
    before = files(made)
    for who, error in (("cleo", "has not the role privacy"), ("ada", "has not the role privacy")):
        with pytest.raises(ApprovalError, match=error):
            waive(made, "provenance", "why", signer(who))
    with pytest.raises(ApprovalError, match=r"is not in approvers\.yaml"):
        waive(made, "provenance", "why", keys.builder(tmp_path))
    for name, error in (
        ("schema", "does not stop"),
        ("remote", "does not stop"),
        ("provenence", "the nearest is provenance"),
    ):
        with pytest.raises(InputError, match=error):
            waive(made, name, "why", signer("ben"))
    for reason in ("", "   ", "two\nlines"):
        with pytest.raises(InputError, match="one line"):
            waive(made, "provenance", reason, signer("ben"))
    with pytest.raises(InputError, match="holds a known value") as refused:
        waive(made, "provenance", f"only {VALUE.upper()} is in it", signer("ben"))
    assert VALUE not in str(refused.value)
    assert files(made) == before


def test_a_waiver_counts_only_while_its_key_has_the_role(tmp_path):
    made = release(tmp_path)
    check(made)
    waive(made, "provenance", "why", signer("ben"))
    found = approvers.of(tmp_path)
    from sm_ops.release import proposals

    proposals.add(
        tmp_path, "dora", keys.public_of(signer("dora")), ["privacy"], signers=[signer("ben"), signer("cleo")]
    )
    proposals.remove(tmp_path, "ben", signers=[signer("dora"), signer("cleo")])
    assert found.now.number < approvers.of(tmp_path).now.number
    again = check(made)
    assert (again.written, again.passed) == (True, False)
    assert by_name(again.checks)["provenance"]["waived"] is None


def test_a_forged_waiver_is_refused(tmp_path):
    made = release(tmp_path)
    check(made)
    said = {"release": str(made), "check": "provenance", "reason": "why", "time": "2026-01-01T00:00:00Z"}
    subjects = {"manifest.json": fs.file_hash(made.folder / "manifest.json")}
    for name, owner, error in (("cleo", "cleo", None), ("stranger", "builder", "unknown key")):
        file = envelopes.signed(envelopes.statement("waiver", subjects, said), [signer(name)])
        with ledger.opened(made):
            actor = ledger.Actor.of(keys.builder(tmp_path), owner)
            ledger.record(made, "waive", actor, {"waivers/provenance.dsse.json": file})
        if error is None:
            assert not check(made).passed
        else:
            with pytest.raises(IntegrityError, match=error):
                check(made)


# ---- what was signed -----------------------------------------------------------------------------------


def decided(made: Release) -> bool:
    return (made.folder / "decision.dsse.json").is_file()


def publish(made: Release) -> None:
    check(made)
    waive(made, "provenance", "why", signer("ben"))
    made_release.request(made)
    made_release.approve(made, "ben", "cleo")


def test_an_outcome_that_changed_withdraws_the_request(tmp_path):
    made = release(tmp_path, CHECKS | {"known_values": {}})
    publish(made)
    assert not check(made).withdrew
    assert decided(made)
    (tmp_path / "restricted" / "canaries.jsonl").write_text(json.dumps({"id": "c", "value": "note 1: call"}))
    found = check(made)
    assert (found.written, found.withdrew, found.passed) == (True, True, False)
    assert not decided(made)
    assert ledger.read_log(made)[-1]["note"] == {"verdict": "fail", "withdrawn": ["decision.dsse.json"]}
    intact(made)
    assert states.state_of(made).name == "checked"


def reworded(run):
    """The same check in a newer version."""
    return lambda *given: replace(run(*given), sentence="All is as it should be.")


def test_a_newer_version_that_says_the_same_in_other_words_withdraws_nothing(tmp_path, monkeypatch):
    made = release(tmp_path)
    publish(made)
    before = files(made)
    monkeypatch.setattr("sm_ops.release.verbs.check.card", lambda facts: "another card")
    schema = registry.load("check", "schema")
    monkeypatch.setattr(schema, "run", reworded(schema.run))
    found = check(made)
    assert (found.written, found.withdrew, found.passed) == (False, False, True)
    assert files(made) == before


def test_a_fuller_vault_withdraws_nothing_while_the_search_finds_nothing(tmp_path):
    made = release(tmp_path, CHECKS | {"known_values": {}})
    publish(made)
    before = files(made)
    vault = Vault(tmp_path / "vault")
    vault.init()
    vault.add_values("others", [("PERSON", "somebody else 4711")])
    assert not check(made).withdrew
    assert files(made) == before
    vault.add_values("others", [("PERSON", "note 1: call")])
    assert check(made).withdrew


def test_a_new_waiver_withdraws_the_request_too(tmp_path):
    made = release(tmp_path)
    publish(made)
    assert waive(made, "provenance", "another why", signer("ben")).withdrew
    assert not decided(made)


def test_what_was_published_stays_and_what_it_finds_now_is_told(tmp_path):
    made = release(tmp_path, CHECKS | {"known_values": {}})
    publish(made)
    made_release.add_publication(made)
    before = files(made)
    found = check(made)
    assert (found.written, found.contradicts) == (False, ())
    (tmp_path / "restricted" / "canaries.jsonl").write_text(json.dumps({"id": "c", "value": "note 1: call"}))
    found = check(made)
    assert (found.written, found.passed, found.contradicts) == (False, False, ("known_values",))
    with pytest.raises(InputError, match="is published"):
        waive(made, "provenance", "a third why", signer("ben"))
    assert files(made) == before
    made_release.revoke(made)
    with pytest.raises(IntegrityError, match="REVOKED"):
        check(made)


# ---- checks of other packages, and what they say -------------------------------------------------------


@pytest.fixture
def outsider(monkeypatch):
    """A check of another package, which gets its settings."""
    given: list[Any] = []

    class Outside:
        __name__ = "package.outside"

        @staticmethod
        def run(bundle, settings):
            given.append(settings.plain())
            return Outcome(settings.status, settings.sentence, {"n": 1})

    load = registry.load
    monkeypatch.setattr(registry, "load", lambda kind, name: Outside() if name == "outside" else load(kind, name))
    return given


def test_a_check_of_another_package_gets_its_settings_and_blocks(tmp_path, outsider):
    mine = {"status": "fail", "sentence": "No.", "grade": 8}
    found = check(release(tmp_path, {"outside": mine}))
    assert outsider == [mine | {"severity": "block"}]
    assert not found.passed


def test_a_status_that_is_none_is_refused(tmp_path, outsider):
    with pytest.raises(InputError, match="none of pass, fail, unmeasured, not applicable"):
        check(release(tmp_path, {"outside": {"status": "passed", "sentence": "Yes."}}))


def test_a_value_in_what_another_check_says_is_found(tmp_path, outsider):
    loud = {"status": "pass", "sentence": f"Looked for {VALUE}.", "severity": "warn"}
    found = by_name(check(release(tmp_path, {"known_values": {}, "outside": loud})).checks)
    assert found["known_values"]["status"] == "fail"
    assert "README.md" in found["known_values"]["sentence"]


# ---- the command ---------------------------------------------------------------------------------------


def test_the_command_tells_writes_and_exits_3_where_something_stops_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SM_OPS_HOME", str(tmp_path))
    monkeypatch.setenv("SM_OPS_KEY_PASSPHRASE", "a passphrase")
    release(tmp_path)
    done = call_cli(monkeypatch, capsys, "release", "check", "notes@1")
    assert done.returncode == 3
    assert "fail           provenance     Missing: its sources." in done.stdout
    assert done.stdout.splitlines()[-1] == "verdict: fail"
    assert "--waive CHECK --reason TEXT --key FILE" in done.stderr
    again = call_cli(monkeypatch, capsys, "release", "check", "notes@1", "--json")
    assert again.returncode == 3
    assert json.loads(again.stdout) == fs.read_json(tmp_path / "releases" / "notes@1" / "checks.json")
    assert "already checked" in again.stderr

    path = tmp_path / "eve.pem"
    public = people.read_public(people.new("eve", path, b"a passphrase"))[1]
    proposals.add(tmp_path, "eve", public, ["privacy"], signers=[signer("ben"), signer("cleo")])
    arguments = ("release", "check", "notes@1", "--waive", "provenance", "--reason", "ours", "--key", str(path))
    done = call_cli(monkeypatch, capsys, *arguments)
    assert done.returncode == 0
    assert "WAIVED" in done.stdout
    assert "waived by eve: ours" in done.stdout
    assert "next: sm-ops release request notes@1" in done.stderr


@pytest.mark.parametrize("given", [["--reason", "x"], ["--key", "x"], ["--waive", "schema"]])
def test_half_a_waiver_is_a_usage_error(given, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("SM_OPS_HOME", str(tmp_path))
    release(tmp_path)
    done = call_cli(monkeypatch, capsys, "release", "check", "notes@1", *given)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
