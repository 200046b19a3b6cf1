"""Keys of people, and the list of who may approve: a passphrase guards each, signatures guard the list."""

from __future__ import annotations

import base64
import json
import sys

import made_release as made
import pytest
import yaml
from calling import call_cli

from sm_ops.core.errors import ApprovalError, InputError, IntegrityError
from sm_ops.release import approvers, clock, envelopes, keys, people, proposals

pytestmark = pytest.mark.unit

PASSPHRASE = b"three plain words"


@pytest.fixture
def quick(monkeypatch):
    """Few rounds, for tests that make keys in passing."""
    monkeypatch.setattr(people, "_ROUNDS", 2)


@pytest.fixture
def cli(monkeypatch, capsys):
    return lambda *words: call_cli(monkeypatch, capsys, *map(str, words))


@pytest.fixture
def home(tmp_path):
    """Ada (engineer), Ben (privacy) and Cleo (data) are listed; two have to sign, the role privacy among them."""
    home = tmp_path / "home"
    made.make_approvers(home)
    return home


def public(name):
    return keys.public_of(made.signer(name))


def sign(home, *names):
    """Sign the open proposal in the name of each."""
    for name in names:
        proposal = proposals.sign(home, proposals.opened(home).digest, made.signer(name))
    return proposal


# ---- key files -----------------------------------------------------------------------------------------


def test_a_new_key_is_encrypted_and_its_public_half_can_be_sent_around(tmp_path):
    from cryptography.hazmat.primitives.serialization import load_ssh_private_key

    path = tmp_path / "ada.pem"
    people.new("ada", path, PASSPHRASE)
    private = load_ssh_private_key(path.read_bytes(), PASSPHRASE)
    raw = private.public_key().public_bytes_raw().hex()
    assert (tmp_path / "ada.pub").read_text() == f"sm-ops-ed25519 {raw} ada\n"
    assert path.stat().st_mode & 0o777 == 0o600
    content = base64.b64decode("".join(path.read_text().splitlines()[1:-1]))
    assert content.startswith(b"openssh-key-v1\0\0\0\0\x0aaes256-ctr\0\0\0\x06bcrypt\0\0\0\x18\0\0\0\x10")
    assert content[63:67] == (100).to_bytes(4, "big")  # rounds, behind the salt's 16 bytes
    assert keys.public_of(people.load_signer(path, PASSPHRASE)) == raw
    assert people.read_public(tmp_path / "ada.pub") == ("ada", raw)


def test_what_is_no_key_of_a_person_is_refused_in_words(tmp_path, quick, home):
    path, public_file = tmp_path / "ada.pem", tmp_path / "ada.pub"
    people.new("ada", path, PASSPHRASE)
    whole = path.read_text()
    keys.builder(home)

    def refusal(change=None, file=path, passphrase=PASSPHRASE):
        if change is not None:
            file = tmp_path / "changed.pem"
            file.write_text(change)
            file.chmod(0o600)
        with pytest.raises(InputError) as refused:
            people.load_signer(file, passphrase)
        assert "three plain words" not in str(refused.value)
        assert refused.value.__cause__ is None
        return refused.value.code

    assert refusal(passphrase=b"three plain word") == "wrong-passphrase"
    assert refusal(passphrase=b"") == "wrong-passphrase"
    assert refusal(file=public_file) == "public-key"
    assert refusal(file=tmp_path / "absent.pem") == "no-file"
    assert refusal((home / "keys" / "builder.pem").read_text()) == "plain-key"
    for damaged in ("", "x", whole[:120], whole.replace("\n", "", 1), whole[:-60] + whole[-55:], whole + "more"):
        assert refusal(damaged) == "bad-key", damaged
    letter = whole[150]
    assert refusal(whole[:150] + ("A" if letter != "A" else "B") + whole[151:]) in ("wrong-passphrase", "bad-key")
    path.chmod(0o640)
    assert refusal() == "open-key"


def test_a_public_file_is_read_and_a_private_one_is_not(tmp_path, quick):
    people.new("ada", tmp_path / "ada.pem", PASSPHRASE)
    with pytest.raises(InputError, match="is a private key"):
        people.read_public(tmp_path / "ada.pem")
    for text in ("", "ada", f"sm-ops-ed25519 {'A' * 64} ada", f"sm-ops-ed25519 {'a' * 63} ada", f"ssh {'a' * 64} ada"):
        (tmp_path / "other.pub").write_text(text)
        with pytest.raises(InputError, match="is no public key"):
            people.read_public(tmp_path / "other.pub")


def test_a_key_is_made_on_the_command_line(tmp_path, monkeypatch, quick, cli):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SM_OPS_KEY_PASSPHRASE", raising=False)
    assert cli("release", "key", "new", "ada").returncode == 2  # nobody can be asked
    (tmp_path / "words").write_bytes(PASSPHRASE + b"\r\n")
    done = cli("release", "key", "new", "ada", "--passphrase-file", "words")
    assert done.returncode == 0, done.stderr
    assert done.stdout == (tmp_path / "ada.pub").read_text()
    assert done.stderr.endswith("next: sm-ops release key add ada.pub --role ROLE\n")
    people.load_signer(tmp_path / "ada.pem", PASSPHRASE)
    again = cli("release", "key", "new", "ada", "--passphrase-file", "words")
    assert again.returncode == 2
    assert "is there already" in again.stderr

    monkeypatch.setenv("SM_OPS_KEY_PASSPHRASE", "")
    empty = cli("release", "key", "new", "ben")
    assert empty.returncode == 2
    assert "The passphrase is empty" in empty.stderr
    monkeypatch.setenv("SM_OPS_KEY_PASSPHRASE", "other words")
    assert cli("release", "key", "new", "ben", "--out", "b.pem").returncode == 0
    people.load_signer(tmp_path / "b.pem", b"other words")
    for name in ("Ben!", "b" * 61, "builder"):
        assert cli("release", "key", "new", name).returncode == 2
    assert sorted(path.name for path in tmp_path.glob("*.p*")) == ["ada.pem", "ada.pub", "b.pem", "b.pub"]


def test_the_passphrase_is_typed_twice(tmp_path, monkeypatch, quick, cli):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SM_OPS_KEY_PASSPHRASE", raising=False)
    typed = iter(["one", "two", "one", "one"])
    monkeypatch.setattr("getpass.getpass", lambda question: next(typed))
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    differ = cli("release", "key", "new", "ada")
    assert differ.returncode == 2
    assert "differ" in differ.stderr
    assert not (tmp_path / "ada.pem").exists()
    assert cli("release", "key", "new", "ada").returncode == 0
    people.load_signer(tmp_path / "ada.pem", b"one")


# ---- the list of approvers -----------------------------------------------------------------------------


def test_the_list_is_plain_yaml(home):
    value = yaml.safe_load(approvers.path_of(home).read_text())
    assert (value["format"], value["version"], value["threshold"], value["roles"]) == ("approvers/1", 4, 2, ["privacy"])
    since = "2026-01-01T00:00:00Z"
    assert value["keys"] == [
        {"name": "ben", "roles": ["privacy"], "public": public("ben"), "added": since},
        {"name": "ada", "roles": ["engineer"], "public": public("ada"), "added": since},
        {"name": "cleo", "roles": ["data"], "public": public("cleo"), "added": since},
    ]
    assert len(value["changes"]) == 4  # how many have to sign, and three keys


def test_keys_are_free_to_add_until_those_listed_can_decide(tmp_path):
    home = tmp_path / "home"
    assert proposals.add(home, "ada", public("ada"), ["engineer"]).lacks == []
    assert proposals.add(home, "dan", public("dan"), []).lacks == []  # two keys, but none of the role privacy
    assert proposals.add(home, "ben", public("ben"), ["privacy"]).lacks == []
    with pytest.raises(InputError, match="Changes need 2 signatures by now"):
        proposals.add(home, "eve", public("eve"), ["privacy"])
    assert [key.name for key in approvers.of(home).keys] == ["ada", "dan", "ben"]
    assert approvers.of(home).now.number == 3


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda home, by: proposals.add(home, "dan", public("dan"), ["data"], by), "of dan (data)"),
        (lambda home, by: proposals.add(home, "cleo", public("cleo"), ["legal"], by), "give cleo the roles: legal"),
        (lambda home, by: proposals.remove(home, "cleo", by), "remove the key of cleo"),
        (lambda home, by: proposals.require(home, 3, ["privacy"], by), "ask for 3 signatures, among them: privacy"),
    ],
    ids=["add", "roles", "remove", "threshold"],
)
def test_every_change_needs_the_signatures_and_roles(home, change, words):
    before = approvers.path_of(home).read_bytes()
    first = change(home, [made.signer("ada")])
    assert words in first.words
    assert first.lacks == ["1 more signature is needed", "nobody of the role privacy has signed"]
    assert change(home, [made.signer("ada")]).lacks == first.lacks  # the same key twice is one
    assert sign(home, "ada").lacks == first.lacks
    assert sign(home, "cleo").lacks == ["nobody of the role privacy has signed"]
    assert approvers.path_of(home).read_bytes() == before
    made_so = sign(home, "ben")
    assert (made_so.lacks, made_so.version) == ([], 5)
    assert approvers.of(home).now.number == 5
    assert proposals.opened(home) is None
    assert approvers.load(approvers.path_of(home)).follows(_loaded(home.parent / "old.yaml", before))


def _loaded(path, data):
    path.write_bytes(data)
    return approvers.load(path)


def test_two_signatures_at_once_are_enough(home):
    assert proposals.require(home, 1, [], [made.signer("ada"), made.signer("ben")]).lacks == []
    assert (approvers.of(home).threshold, approvers.of(home).roles) == (1, ())
    assert proposals.remove(home, "ada", [made.signer("cleo")]).lacks == []


def test_who_is_not_listed_signs_nothing(home):
    proposals.add(home, "dan", public("dan"), ["privacy"], [made.signer("ada")])
    for stranger in ("dan", "eve"):
        with pytest.raises(ApprovalError, match=r"is not in approvers\.yaml"):
            sign(home, stranger)
        with pytest.raises(ApprovalError, match=r"is not in approvers\.yaml"):
            proposals.remove(home, "ben", [made.signer(stranger)])
    assert proposals.opened(home).signed == ["ada"]


def test_a_proposal_that_changed_meanwhile_is_not_signed(home):
    old = proposals.add(home, "dan", public("dan"), [], [made.signer("ada")])
    new = proposals.remove(home, "cleo", [made.signer("ada")])
    with pytest.raises(InputError, match=f"the open one has {new.digest}"):
        proposals.sign(home, old.digest, made.signer("ben"))
    assert sign(home, "ben").lacks == []
    with pytest.raises(InputError, match="none is open"):
        proposals.sign(home, new.digest, made.signer("ada"))


def test_no_change_may_leave_keys_that_cannot_decide(home):
    both = [made.signer("ada"), made.signer("ben")]
    for change in (
        lambda: proposals.remove(home, "ben", both),
        lambda: proposals.add(home, "ben", public("ben"), ["data"], both),
        lambda: proposals.require(home, 4, ["privacy"], both),
        lambda: proposals.require(home, 2, ["legal"], both),
    ):
        with pytest.raises(InputError, match="could decide nothing"):
            change()


def test_what_is_so_already_is_no_change(home):
    both = [made.signer("ada"), made.signer("ben")]
    proposals.remove(home, "cleo", both)
    before = approvers.path_of(home).read_bytes()
    assert proposals.remove(home, "cleo", both) is None
    assert proposals.add(home, "ada", public("ada"), ["engineer"]) is None
    assert proposals.require(home, 2, ["privacy"]) is None
    assert proposals.require(home, 2) is None
    assert proposals.require(home, 1, signers=both[:1]).words == "ask for 1 signature, among them: privacy"
    assert approvers.path_of(home).read_bytes() == before
    with pytest.raises(InputError, match="no key of 'bem'; the nearest is ben"):
        proposals.remove(home, "bem", both)


def test_one_key_is_one_person(home):
    both = [made.signer("ada"), made.signer("ben")]
    refused = [
        ("dan", public("cleo"), "listed as cleo's"),
        ("ben", public("dan"), "ben has another key"),
        ("dan", public("dan").upper(), "64 hexadecimal digits"),
        ("Dan", public("dan"), "lower-case letters"),
        ("builder", public("dan"), "of the machine"),
    ]
    for name, hexadecimal, words in refused:
        with pytest.raises(InputError, match=words):
            proposals.add(home, name, hexadecimal, [], both)
    proposals.remove(home, "cleo", both)
    for name in ("cleo", "dan"):
        with pytest.raises(InputError, match="does not come back"):
            proposals.add(home, name, public("cleo"), ["data"], both)
    assert proposals.add(home, "cleo", public("another cleo"), ["data"], both).lacks == []


def test_keys_count_between_added_and_removed(home):
    both = [made.signer("ada"), made.signer("ben")]
    proposals.remove(home, "cleo", both)
    found = approvers.of(home)
    assert {key.name for key in found.at("2025-12-31T23:59:59Z").values()} == set()
    assert {key.name for key in found.at("2026-01-01T00:00:00Z").values()} == {"ada", "ben", "cleo"}
    assert {key.name for key in found.at(found.now.time).values()} == {"ada", "ben"}
    with pytest.raises(ApprovalError, match="The key of cleo was removed on"):
        found.person(keys.key_id(public("cleo")))


def _swapped(text):
    *lines, first, second = text.splitlines(keepends=True)
    return "".join([*lines, second, first])


def edits():
    """Ways to edit the file by hand, each on the text or the parsed value."""
    yield "a blank", lambda text: text + "\n"
    yield "a remark", lambda text: text.replace("# Public", "# The public")
    yield "fewer signatures", lambda text: text.replace("threshold: 2", "threshold: 1")
    yield "no role", lambda text: text.replace('roles: ["privacy"]\nkeys', "roles: []\nkeys")
    yield "another role", lambda text: text.replace('["data"]', '["privacy"]')
    yield "another key", lambda text: text.replace(public("cleo"), public("eve"))
    yield "an unknown field", lambda text: text.replace("version:", "approved: true\nversion:", 1)
    yield "an unknown field of a key", lambda text: text.replace('{"name": "ada"', '{"admin": true, "name": "ada"')
    yield "a change less", lambda text: "".join(text.splitlines(keepends=True)[:-1])
    yield (
        "changes in another order",
        lambda text: "".join([*(lines := text.splitlines(keepends=True))[:-2], *lines[:-3:-1]]),
    )
    yield "no changes", lambda text: text.partition("changes:")[0]
    yield "another form of the same", lambda text: yaml.safe_dump(yaml.safe_load(text), sort_keys=False)
    yield "a list", lambda text: "- a\n"
    yield "no YAML", lambda text: "{"
    yield "a byte that is no text", lambda text: text + "\udcff"


@pytest.mark.parametrize("edit", [pytest.param(edit, id=name) for name, edit in edits()])
def test_a_file_that_was_edited_by_hand_is_noticed_and_named(home, edit):
    path = approvers.path_of(home)
    text = path.read_text()
    assert edit(text) != text
    path.write_bytes(edit(text).encode(errors="surrogateescape"))
    with pytest.raises(IntegrityError, match=r"approvers\.yaml"):
        approvers.load(path)


def forged(home, change, *names):
    """A well-formed file with one more change, signed by these alone."""
    found = approvers.load(approvers.path_of(home))
    payload = approvers.statement(found, change, clock.told(clock.now()))
    envelope = envelopes.read(envelopes.signed(payload, map(made.signer, names)), "forged")
    return approvers.next_after(found, envelope, "forged").file()


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ([], "not signed by enough"),
        (["ada"], "not signed by enough"),
        (["ada", "cleo"], "nobody of the role privacy"),
        (["ada", "eve"], "unknown key"),
        (["ada", "ben", "eve"], "unknown key"),
    ],
)
def test_a_change_without_its_signatures_is_refused_by_whoever_reads_it(home, names, words):
    """Eve cannot sign her own addition."""
    change = {"kind": "add", "name": "eve", "roles": ["privacy"], "public": public("eve")}
    path = approvers.path_of(home)
    path.write_bytes(forged(home, change, *names))
    with pytest.raises(IntegrityError, match=words):
        approvers.load(path)


def test_a_signature_of_another_change_does_not_fit(home):
    eve = {"kind": "add", "name": "eve", "roles": ["privacy"], "public": public("eve")}
    gone = {"kind": "remove", "name": "cleo"}
    found = approvers.load(approvers.path_of(home))
    time = clock.told(clock.now())
    honest = envelopes.read(envelopes.signed(approvers.statement(found, gone, time), [made.signer("ben")]), "honest")
    false = envelopes.read(envelopes.signed(approvers.statement(found, eve, time), [made.signer("ada")]), "false")
    false.signatures |= honest.signatures
    path = approvers.path_of(home)
    path.write_bytes(approvers.next_after(found, false, "false").file())
    with pytest.raises(IntegrityError, match="does not fit"):
        approvers.load(path)


@pytest.mark.parametrize("more", [{"until": "2027"}, {"roles": []}])
def test_a_change_with_an_unknown_field_is_none(home, more):
    with pytest.raises(ValueError):
        approvers.statement(approvers.of(home), {"kind": "remove", "name": "cleo"} | more, clock.told(clock.now()))


def test_a_signed_change_counts_once_and_in_its_place(home):
    """One signature was enough for a day; the signed change that made it so cannot be used again."""
    both = [made.signer("ada"), made.signer("ben")]
    proposals.require(home, 1, ["privacy"], both)
    proposals.require(home, 2, ["privacy"], both)
    found = approvers.of(home)
    weaker = {"kind": "require", "count": 1, "roles": ["privacy"]}
    again = (*found.versions, found.now.after(weaker, found.now.time)), (*found.changes, found.changes[-2])
    path = approvers.path_of(home)
    path.write_bytes(approvers.Approvers(*again).file())
    with pytest.raises(IntegrityError, match="the change after version 6 does not follow"):
        approvers.load(path)


def test_a_home_notices_a_list_that_was_replaced_set_back_or_removed(home, tmp_path):
    path = approvers.path_of(home)
    old = path.read_bytes()
    proposals.remove(home, "cleo", [made.signer("ada"), made.signer("ben")])
    own = tmp_path / "own"
    for name in ("eve", "mallory"):
        proposals.add(own, name, public(name), ["privacy"])
    for replacement in (approvers.path_of(own).read_bytes(), old):
        path.write_bytes(replacement)
        approvers.load(path)  # well-formed in itself
        with pytest.raises(IntegrityError, match=r"approvers\.yaml does not follow from version 5"):
            approvers.of(home)
    path.unlink()
    with pytest.raises(IntegrityError, match=r"approvers\.yaml"):
        approvers.of(home)


def test_a_clock_that_was_set_back_changes_nothing(home, monkeypatch):
    monkeypatch.setattr(clock, "now", lambda: clock.read("2025-06-01T00:00:00Z"))
    with pytest.raises(InputError, match="set the clock right"):
        proposals.remove(home, "cleo", [made.signer("ada"), made.signer("ben")])
    with pytest.raises(InputError, match="set the clock right"):
        approvers.statement(approvers.of(home), {"kind": "remove", "name": "cleo"}, "2025-12-31T23:59:59Z")


def test_the_list_is_kept_on_the_command_line(tmp_path, monkeypatch, quick, cli):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SM_OPS_KEY_PASSPHRASE", "words")
    for name in ("ada", "ben", "cleo"):
        people.new(name, tmp_path / f"{name}.pem", b"words")
    first = cli("release", "key", "add", "ada.pub", "--role", "engineer")
    assert first.returncode == 0
    assert "of ada (engineer)" in first.stdout
    again = cli("release", "key", "add", "ada.pub", "--role", "engineer")
    assert (again.returncode, again.stdout) == (0, "already so\n")
    assert "free to add" in cli("release", "key", "ls").stderr
    cli("release", "key", "add", "ben.pub", "--role", "privacy")
    (tmp_path / "trusted.yaml").write_bytes((tmp_path / "home/releases/approvers.yaml").read_bytes())
    assert cli("release", "key", "add", "cleo.pub").returncode == 2
    proposed = cli("release", "key", "add", "cleo.pub", "--key", "ada.pem")
    assert proposed.returncode == 0
    assert "of cleo (no role)" in proposed.stdout
    assert proposed.stderr.endswith("next: sm-ops release key sign --key FILE\n")
    replaced = cli("release", "key", "add", "cleo.pub", "--role", "data", "--key", "ada.pem")
    assert "takes the place of what was proposed before" in replaced.stderr
    assert "what ada signed is void" in replaced.stderr

    told = json.loads(cli("release", "key", "ls", "--json").stdout)
    assert told["version"] == 2
    assert [key["name"] for key in told["keys"]] == ["ada", "ben"]
    digest = told["proposal"]["digest"]
    assert f"\ndigest {digest}\n" in cli("release", "key", "ls").stdout
    assert cli("release", "key", "sign", "--key", "ben.pem").returncode == 2  # nobody can be asked
    assert cli("release", "key", "sign", "--key", "ben.pem", "--yes").returncode == 2
    assert cli("release", "key", "sign", "--key", "ben.pem", "--yes", "--digest", "0" * 64).returncode == 2
    assert cli("release", "key", "sign", "--key", "cleo.pem", "--yes", "--digest", digest).returncode == 4
    signed = cli("release", "key", "sign", "--key", "ben.pem", "--yes", "--digest", digest)
    assert signed.returncode == 0
    assert signed.stdout.splitlines()[-1].startswith("version 3: add the key")
    assert [key["name"] for key in json.loads(cli("release", "key", "ls", "--json").stdout)["keys"]] == [
        "ada",
        "ben",
        "cleo",
    ]
    listed = "home/releases/approvers.yaml"
    assert cli("release", "key", "ls", listed, "--since", "trusted.yaml").returncode == 0
    for words in ((listed, "--since", "absent.yaml"), ("absent.yaml",)):
        absent = cli("release", "key", "ls", *words)
        assert (absent.returncode, "There is no file absent.yaml" in absent.stderr) == (2, True)
    assert cli("release", "key", "ls", "trusted.yaml", "--since", listed).returncode == 5
