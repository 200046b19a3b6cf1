"""Requests and approvals: the right people sign exactly this, in the right order, in time; nothing else counts."""

from __future__ import annotations

import json
import time
from datetime import timedelta

import made_release as made
import pytest

from sm_ops.core import fs
from sm_ops.core.errors import ApprovalError, InputError, IntegrityError, StageError
from sm_ops.release import approvals, approvers, clock, envelopes, keys, ledger, policy, proposals
from sm_ops.release.folder import DECISION, LOG, MANIFEST, POLICY, REJECTION, Release
from sm_ops.release.ledger import Actor
from sm_ops.release.states import next_command, state_of
from sm_ops.release.verbs import approve as approving
from sm_ops.release.verbs.reject import reject
from sm_ops.release.verbs.request import request

pytestmark = pytest.mark.unit


@pytest.fixture
def release(tmp_path) -> Release:
    """Its checks pass; Ada (engineer), Ben (privacy) and Cleo (data) are listed."""
    release = made.make_bundle(tmp_path / "home")
    made.add_checks(release)
    return release


@pytest.fixture
def requested(release) -> Release:
    """Ada has asked for it."""
    request(release, made.signer("ada"), "a study needs the notes")
    return release


def approve(release, *names):
    for name in names:
        done = approving.approve(release, made.signer(name), digest_of(release))
    return done


def digest_of(release):
    """Of the request; nothing is read where there is none."""
    return fs.sha256(envelope_of(release).payload) if (release.folder / DECISION).exists() else ""


def listed(release, *people_with_roles):
    """List more people, by the signatures of Ada and Ben."""
    for name, roles in people_with_roles:
        by = [made.signer("ada"), made.signer("ben")]
        proposals.add(release.home, name, keys.public_of(made.signer(name)), roles, by)


def lines(release):
    return [(line["action"], line["actor"]["name"]) for line in ledger.read_log(release)]


def put(release, decision: bytes, action="approve", by="cleo"):
    """What somebody does who can write to the log, as whoever holds the builder's key can."""
    with ledger.opened(release):
        ledger.record(release, action, Actor.of(made.signer(by), by), {DECISION: decision})


def envelope_of(release):
    return envelopes.read((release.folder / DECISION).read_bytes(), DECISION)


def files(release):
    return {path.name: path.read_bytes() for path in release.folder.iterdir() if path.is_file()}


# ---- the walk ------------------------------------------------------------------------------------------


def test_a_release_is_requested_and_approved_by_two(tmp_path):
    release = made.make_bundle(tmp_path / "home")
    assert state_of(release).name == "built"
    made.add_checks(release)
    state = state_of(release)
    assert (state.name, state.checks) == ("checked", "pass")
    assert next_command(release, state) == "sm-ops release request notes@1 --key FILE --reason TEXT"

    assert request(release, made.signer("ada"), " a study needs the notes ") is True
    state = state_of(release)
    assert (state.name, state.needed, state.approved_by) == ("requested", 2, [])
    assert state.missing == ["2 more signatures are needed.", "Nobody of the role privacy has signed."]
    assert next_command(release, state) == "sm-ops release approve notes@1 --key FILE"

    assert approve(release, "cleo") is True
    state = state_of(release)
    assert (state.name, state.approved_by) == ("requested", ["cleo"])
    assert state.missing == ["1 more signature is needed.", "Nobody of the role privacy has signed."]

    assert approving.approve(release, made.signer("ben"), digest_of(release), "read all of it") is True
    state = state_of(release)
    assert (state.name, state.approved_by, state.missing) == ("approved", ["ben", "cleo"], [])
    assert next_command(release, state) == "sm-ops release publish notes@1 --to PLACE"

    subjects, said = envelopes.content(envelope_of(release), "decision", DECISION)
    assert sorted(subjects) == ["README.md", "checks.json", "manifest.json", "policy.yaml", "report.html"]
    assert subjects["checks.json"] == fs.file_hash(release.folder / "checks.json")
    assert clock.read(said["expires"]) - clock.read(said["requested"]) == timedelta(days=14)
    assert said | {"requested": 0, "expires": 0} == {
        "release": "notes@1",
        "decision": "release",
        "reason": "a study needs the notes",
        "requester": keys.key_id(keys.public_of(made.signer("ada"))),
        "requested": 0,
        "expires": 0,
        "approvals": {"count": 2, "roles": ["privacy"]},
    }
    assert lines(release)[2:] == [("request", "ada"), ("approve", "cleo"), ("approve", "ben")]
    assert ledger.read_log(release)[-1]["note"] == {"remark": "read all of it"}


def test_twice_is_once(requested):
    approve(requested, "ben")
    before = files(requested)
    assert request(requested, made.signer("ada"), "another reason") is False
    assert request(requested, made.signer("cleo"), "another reason") is False
    assert approve(requested, "ben") is False
    assert files(requested) == before
    reject(requested, made.signer("cleo"), "a name was left in")
    before = files(requested)
    assert reject(requested, made.signer("ben"), "again") is False
    assert files(requested) == before


def test_the_wrong_order_names_the_state_and_the_verb_that_is_due(tmp_path):
    release = made.make_bundle(tmp_path / "home")
    ben = made.signer("ben")
    verbs = {
        "request": lambda: request(release, ben, "why"),
        "approve": lambda: approve(release, "ben"),
        "reject": lambda: reject(release, ben, "why"),
    }

    def refused(state, due, *names):
        before = files(release)
        for name in names:
            with pytest.raises(InputError) as error:
                verbs[name]()
            assert error.value.code == "release-order"
            assert f"notes@1 is {state}, so `{name}`" in error.value.hint
            assert f"release {due} notes@1" in error.value.hint
        assert files(release) == before

    refused("built", "check", "request", "approve", "reject")
    made.add_checks(release)
    refused("checked", "request", "approve", "reject")
    made.request(release)
    made.reject(release)
    refused("rejected", "request", "approve")
    request(release, made.signer("ada"), "why")
    approve(release, "ben", "cleo")
    made.add_publication(release)
    for verb in verbs.values():
        with pytest.raises(InputError, match=r"notes@1 is published.*nothing is due"):
            verb()


def test_failing_checks_are_not_asked_for(tmp_path):
    release = made.make_bundle(tmp_path / "home")
    made.add_checks(release, verdict="fail")
    with pytest.raises(StageError, match="The checks of notes@1 fail"):
        request(release, made.signer("ada"), "why")
    assert state_of(release).due == "check"


@pytest.mark.parametrize("text", ["", "  ", "two\nlines", "a \x1b[31mred\x1b[0m word"])
def test_what_people_write_is_one_plain_line(release, text):
    for write in (
        lambda: request(release, made.signer("ada"), text),
        lambda: reject(release, made.signer("ada"), text),
    ):
        with pytest.raises(InputError, match="of one line"):
            write()


def test_what_people_write_holds_no_known_value(requested, tmp_path):
    """The log is read by everybody, and nothing can be taken out of it."""
    values = tmp_path / "values.tsv"
    values.write_text("NAME\tWilma Testperson\n")
    origin = fs.read_json(requested.origin)
    fs.write_json(requested.origin, origin | {"values": [str(values)]})
    before = files(requested)
    told = "Wilma Testperson wants it"
    for write in (
        lambda: reject(requested, made.signer("ben"), told),
        lambda: approving.approve(requested, made.signer("ben"), digest_of(requested), told),
    ):
        with pytest.raises(InputError, match="holds a known value") as refused:
            write()
        assert "Wilma" not in str(refused.value)
    reject(requested, made.signer("ben"), "somebody wants it")
    with pytest.raises(InputError, match="holds a known value"):
        request(requested, made.signer("ada"), told)
    assert len(ledger.read_log(requested)) == len(before[LOG].splitlines()) + 1


def test_a_rejected_release_may_be_asked_for_again(requested):
    approve(requested, "ben", "cleo")
    assert reject(requested, made.signer("ben"), "a name was left in") is True
    state = state_of(requested)
    assert (state.name, state.due, state.approved_by) == ("rejected", "request", [])
    said = envelopes.content(envelopes.read((requested.folder / REJECTION).read_bytes(), ""), "rejection", "")[1]
    assert said["reason"] == "a name was left in"
    assert request(requested, made.signer("cleo"), "it was a place, not a name") is True
    state = state_of(requested)
    assert (state.name, state.approved_by) == ("requested", [])
    assert not (requested.folder / REJECTION).exists()
    assert approve(requested, "ben") is True
    listed(requested, ("dan", []))
    approve(requested, "dan")
    assert state_of(requested).name == "approved"


def test_who_asked_may_take_it_back(requested):
    assert reject(requested, made.signer("ada"), "asked too early") is True
    assert state_of(requested).name == "rejected"


# ---- time ----------------------------------------------------------------------------------------------


def test_a_request_expires_with_its_approvals(release):
    made.request(release, requested=clock.now() - timedelta(days=14, seconds=1))
    made.approve(release, "ben", "cleo")
    state = state_of(release)
    assert (state.name, state.due) == ("expired", "request")
    with pytest.raises(ApprovalError, match="expired on"):
        approve(release, "ben")
    assert request(release, made.signer("ada"), "why") is True
    assert (state_of(release).name, state_of(release).approved_by) == ("requested", [])


def test_an_approved_release_expires_unless_it_is_published_in_time(requested):
    approve(requested, "ben", "cleo")
    later = clock.now() + timedelta(days=15)
    state = state_of(requested, at=later)
    assert (state.name, state.due) == ("expired", "request")
    assert any("expired on" in sentence for sentence in state.missing)
    made.add_publication(requested)
    assert state_of(requested, at=later).name == "published"
    state = state_of(requested, at=clock.now() + timedelta(days=366))
    assert (state.name, state.due) == ("expired", None)


def test_a_release_lasts_until_its_last_second(requested):
    expires = clock.read(state_of(requested).expires)
    assert state_of(requested, at=expires).name == "requested"
    assert state_of(requested, at=expires + timedelta(seconds=1)).name == "expired"


def test_a_later_version_supersedes_unless_it_is_revoked(tmp_path):
    first, second = made.approved(tmp_path / "home", version="1"), made.approved(tmp_path / "home", version="2")
    made.add_publication(first, published=clock.now() - timedelta(days=1))
    assert state_of(first).name == "published"
    made.add_publication(second)
    assert (state_of(first).name, state_of(second).name) == ("superseded", "published")
    made.revoke(second)
    assert (state_of(first).name, state_of(second).name) == ("published", "revoked")


def test_a_publication_that_is_under_way_is_none(requested):
    approve(requested, "ben", "cleo")
    made.add_publication(requested)
    marker = requested.work / "notes@1.publishing"
    marker.write_text("")
    assert (state_of(requested).name, state_of(requested).due) == ("approved", "publish")
    marker.unlink()
    assert state_of(requested).name == "published"


# ---- who may, and who counts ---------------------------------------------------------------------------


def test_who_is_not_listed_may_nothing(requested):
    eve = made.signer("eve")
    for verb in (
        lambda: request(requested, eve, "why"),
        lambda: approve(requested, "eve"),
        lambda: reject(requested, eve, "why"),
    ):
        with pytest.raises(ApprovalError, match=r"is not in approvers\.yaml"):
            verb()


def test_the_requester_cannot_approve(requested):
    with pytest.raises(ApprovalError, match="ada has asked for notes@1"):
        approve(requested, "ada")
    approve(requested, "ben")
    assert state_of(requested).missing == ["1 more signature is needed."]  # Ada's own signature is there, and no help


def test_the_requester_cannot_approve_with_a_new_key(requested):
    """Ada asks, has her key replaced by another, and comes back with it."""
    by = [made.signer("ben"), made.signer("cleo")]
    proposals.remove(requested.home, "ada", by)
    proposals.add(requested.home, "ada", keys.public_of(made.signer("new ada")), ["engineer"], by)
    with pytest.raises(ApprovalError, match="ada has asked for notes@1"):
        approve(requested, "new ada")
    both = envelopes.with_signature((requested.folder / DECISION).read_bytes(), made.signer("new ada"))
    put(requested, both, by="new ada")
    approve(requested, "ben")
    assert state_of(requested).approved_by == ["ben"]


def test_roles_must_be_among_those_who_approve(requested):
    listed(requested, ("dan", ["data"]), ("emil", []))
    approve(requested, "cleo", "dan", "emil")
    state = state_of(requested)
    assert (state.name, state.missing) == ("requested", ["Nobody of the role privacy has signed."])
    approve(requested, "ben")
    assert state_of(requested).name == "approved"


def test_the_larger_threshold_and_all_roles_count(tmp_path):
    asking = {**made.POLICY, "approvals": {"count": 1, "roles": ["data"], "days": 14}}
    release = made.make_bundle(tmp_path / "home", policy=asking)
    made.add_checks(release)
    request(release, made.signer("ada"), "why")
    said = envelopes.content(envelope_of(release), "decision", DECISION)[1]
    assert said["approvals"] == {"count": 2, "roles": ["data", "privacy"]}
    approve(release, "cleo")
    state = state_of(release)
    assert state.missing == ["1 more signature is needed.", "Nobody of the role privacy has signed."]
    approve(release, "ben")
    assert state_of(release).name == "approved"
    listed(release, ("dan", []))
    proposals.require(release.home, 3, ["privacy"], [made.signer("ada"), made.signer("ben")])
    assert state_of(release).missing == ["1 more signature is needed."]
    approve(release, "dan")
    assert state_of(release).name == "approved"


def test_a_key_that_is_removed_counts_no_longer_unless_it_is_published(tmp_path):
    for version in ("1", "2"):
        release = made.approved(tmp_path / "home", version=version)
    published = Release(release.home, "notes", "1")
    made.add_publication(published, published=clock.now())
    wait_a_second()
    proposals.remove(release.home, "cleo", [made.signer("ada"), made.signer("ben")])
    state = state_of(release)
    assert (state.name, state.approved_by) == ("requested", ["ben"])
    assert any("cleo does not count: the key was removed on" in sentence for sentence in state.missing)
    assert (state_of(published).name, state_of(published).approved_by) == ("published", ["ben", "cleo"])
    with pytest.raises(ApprovalError, match="The key of cleo was removed"):
        approve(release, "cleo")


def test_a_publication_that_was_interrupted_is_no_reason_to_count_a_removed_key(requested):
    approve(requested, "ben", "cleo")
    made.add_publication(requested)
    (requested.work / "notes@1.publishing").write_text("")
    wait_a_second()
    proposals.remove(requested.home, "cleo", [made.signer("ada"), made.signer("ben")])
    assert (state_of(requested).name, state_of(requested).approved_by) == ("requested", ["ben"])


def wait_a_second():
    before = clock.now()
    while clock.now() == before:
        time.sleep(0.02)


def test_a_key_that_was_listed_after_it_signed_does_not_count(requested):
    put(requested, envelopes.with_signature((requested.folder / DECISION).read_bytes(), made.signer("dan")), by="dan")
    approve(requested, "ben")
    wait_a_second()
    listed(requested, ("dan", []))
    state = state_of(requested)
    assert (state.name, state.approved_by) == ("requested", ["ben"])
    assert any("dan does not count: the key was not in the list" in sentence for sentence in state.missing)


def test_a_signature_that_the_log_does_not_tell_of_does_not_count(requested):
    """Cleo approved, but an earlier request."""
    approve(requested, "cleo")
    reject(requested, made.signer("ben"), "a name was left in")
    request(requested, made.signer("ada"), "it was a place, not a name")
    approve(requested, "ben")
    both = envelopes.with_signature((requested.folder / DECISION).read_bytes(), made.signer("cleo"))
    put(requested, both, by="ben")
    state = state_of(requested)
    assert (state.name, state.approved_by) == ("requested", ["ben"])
    assert any("the log does not say when" in sentence for sentence in state.missing)


# ---- attacks -------------------------------------------------------------------------------------------


def test_a_signature_of_another_statement_does_not_fit(tmp_path):
    other = made.approved(tmp_path / "home", version="1")
    release = made.make_bundle(tmp_path / "home", version="2")
    made.add_checks(release)
    request(release, made.signer("ada"), "why")
    pasted = envelope_of(release)
    pasted.signatures = envelope_of(other).signatures | pasted.signatures
    put(release, envelopes.written(pasted))
    with pytest.raises(IntegrityError, match=r"A signature of decision\.dsse\.json does not fit"):
        state_of(release)


def test_copies_of_a_signature_are_no_envelope(requested):
    approve(requested, "ben")
    value = json.loads((requested.folder / DECISION).read_bytes())
    value["signatures"].append(value["signatures"][-1])
    put(requested, envelopes.rfc8785.dumps(value) + b"\n")
    with pytest.raises(IntegrityError, match=r"decision\.dsse\.json is not a signed statement"):
        state_of(requested)


def test_a_key_id_in_other_letters_is_another_key(requested):
    """The same signature again, under the id in capitals."""
    approve(requested, "ben")
    value = json.loads((requested.folder / DECISION).read_bytes())
    ben = keys.key_id(keys.public_of(made.signer("ben")))
    (signature,) = (each for each in value["signatures"] if each["keyid"] == ben)
    value["signatures"].append(signature | {"keyid": ben.upper()})
    value["signatures"].sort(key=lambda each: each["keyid"])
    put(requested, envelopes.rfc8785.dumps(value) + b"\n")
    state = state_of(requested)
    assert (state.name, state.approved_by) == ("requested", ["ben"])


def test_a_signature_of_a_stranger_neither_counts_nor_harms(requested):
    put(requested, envelopes.with_signature((requested.folder / DECISION).read_bytes(), made.signer("eve")), by="eve")
    approve(requested, "ben")
    state = state_of(requested)
    assert (state.name, state.approved_by) == ("requested", ["ben"])
    assert any("the key is not in the list of approvers" in sentence for sentence in state.missing)
    approve(requested, "cleo")
    assert (state_of(requested).name, state_of(requested).missing) == ("approved", [])


@pytest.mark.parametrize("byte", [0, 20, -2])
def test_a_flipped_byte_in_the_decision_is_noticed(requested, byte):
    approve(requested, "ben")
    path = requested.folder / DECISION
    data = bytearray(path.read_bytes())
    data[byte] ^= 1
    path.write_bytes(data)
    with pytest.raises(IntegrityError, match=r"decision\.dsse\.json"):
        approve(requested, "cleo")


def test_a_policy_that_was_weakened_after_the_signatures_is_noticed(requested):
    path = requested.folder / POLICY
    path.write_text(path.read_text().replace("count: 2", "count: 1"))
    for verb in (lambda: approve(requested, "ben"), lambda: state_of(requested)):
        with pytest.raises(IntegrityError, match=r"policy\.yaml"):
            verb()
    assert lines(requested)[-1] == ("request", "ada")


@pytest.mark.parametrize("path", ["data/train.jsonl", "README.md", "report.html", "checks.json", "config.json"])
def test_nobody_signs_a_bundle_that_was_changed(requested, path):
    file = requested.folder / path
    file.write_bytes(file.read_bytes() + b" ")
    with pytest.raises(IntegrityError, match=path):
        approve(requested, "ben")
    assert lines(requested)[-1] == ("request", "ada")


def test_nobody_asks_for_a_bundle_that_was_changed(release):
    (release.folder / "data" / "train.jsonl").write_bytes(b'{"id":"r0","text":"another"}\n')
    with pytest.raises(IntegrityError, match=r"data/train\.jsonl"):
        request(release, made.signer("ada"), "why")


def test_a_decision_on_an_older_version_decides_nothing_here(tmp_path):
    old = made.approved(tmp_path / "home", version="1")
    release = made.make_bundle(tmp_path / "home", version="2")
    made.add_checks(release)
    request(release, made.signer("ada"), "why")
    put(release, (old.folder / DECISION).read_bytes())
    with pytest.raises(IntegrityError, match=r"decision\.dsse\.json is not about the present .*manifest\.json"):
        state_of(release)
    with pytest.raises(IntegrityError):
        approve(release, "ben")


def test_ones_own_list_of_approvers_convinces_nobody_else(tmp_path):
    """Eve lists herself twice, asks, approves and publishes in a home of her own."""
    eves = tmp_path / "eves"
    roles = {"eve": ["privacy"], "mallory": ["data"], "trudy": []}
    made.make_approvers(eves, roles)
    release = made.make_bundle(eves)
    made.add_checks(release)
    request(release, made.signer("trudy"), "why")
    approve(release, "eve", "mallory")
    assert state_of(release).name == "approved"  # by her own light
    genuine = approvers.load(made.make_approvers(tmp_path / "home"))
    decision = (release.folder / DECISION).read_bytes()
    found = approvals.counted(decision, ledger.read_log(release), genuine, policy.policy_of(release), clock.now())
    assert found.by == []
    assert "2 more signatures are needed." in found.missing
    assert "The request is not signed by a key in the list of approvers." in found.missing
    assert sum("the key is not in the list" in sentence for sentence in found.missing) == 3


def test_a_replaced_list_is_noticed_before_anything_is_signed(requested, tmp_path):
    made.make_approvers(tmp_path / "eves", {"eve": ["privacy"], "mallory": [], "trudy": []})
    genuine = approvers.path_of(requested.home)
    genuine.write_bytes(approvers.path_of(tmp_path / "eves").read_bytes())
    with pytest.raises(IntegrityError, match="does not follow from version"):
        approve(requested, "eve")


def test_a_request_that_asks_for_less_than_the_approvers_is_held_to_them(tmp_path):
    asking = {**made.POLICY, "approvals": {"count": 1, "roles": [], "days": 14}}
    release = made.make_bundle(tmp_path / "home", policy=asking)
    made.add_checks(release)
    said = {
        "release": "notes@1",
        "decision": "release",
        "reason": "why",
        "requester": keys.key_id(keys.public_of(made.signer("ada"))),
        "requested": clock.told(clock.now()),
        "expires": clock.told(clock.now() + timedelta(days=14)),
        "approvals": {"count": 1, "roles": []},
    }
    subjects = {path: fs.file_hash(release.folder / path) for path in made.LATE_SUBJECTS}
    decision = envelopes.signed(envelopes.statement("decision", subjects, said), [made.signer("ada")])
    put(release, decision, "request", "ada")
    approve(release, "cleo")
    assert state_of(release).missing == ["1 more signature is needed.", "Nobody of the role privacy has signed."]


def test_only_what_was_read_is_signed(requested):
    before = files(requested)
    digest = fs.sha256(envelope_of(requested).payload)
    manifest = fs.file_hash(requested.folder / MANIFEST)  # says nothing of checks and reason
    for other in ("", "0" * 64, digest[:16], digest.upper(), manifest):
        with pytest.raises(InputError, match="read again what is asked for"):
            approving.approve(requested, made.signer("ben"), other)
    assert files(requested) == before
    assert approving.approve(requested, made.signer("ben"), digest) is True
