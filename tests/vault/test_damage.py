"""No byte of a dataset can be flipped, cut, added, moved or taken from elsewhere without a refusal in clear words."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from vault_samples import RECORDS, VALUES, fill, new_key

from sm_ops.core.errors import InputError
from sm_ops.vault import Vault
from sm_ops.vault.segment import FRAME, Owner, SegmentReader, SegmentWriter

pytestmark = pytest.mark.unit

SECRETS = ("김가상", "010-0000", "doc-", "김견본", "secret.person")


def read_all(vault: Vault, name: str = "notes") -> object:
    """Everything that can be read of a dataset."""
    with vault.mappings(name) as mappings:
        by_id = {record_id: mappings.get(record_id) for record_id in reversed(RECORDS)}
        return list(mappings.items()), by_id, list(vault.values(name))


def refusal(vault: Vault) -> InputError | None:
    """How the vault refuses to be read, or nothing when all reads as it was written."""
    try:
        assert read_all(vault) == EXPECTED
    except InputError as error:
        return error
    return None


EXPECTED = (
    list(RECORDS.items()),
    dict(reversed(RECORDS.items())),
    [*VALUES, *((token[1:-3], text) for mapping in RECORDS.values() for token, text in mapping.items())],
)
SENTENCES = ("is damaged", "has format", "is not the one that", "is not there", "not what was written", "key source")


def check(error: InputError | None, what: str) -> None:
    assert error is not None, f"{what} was not noticed"
    assert any(sentence in error.hint for sentence in SENTENCES), (what, error.hint)
    assert not any(secret in str(error) for secret in SECRETS)
    assert error.__cause__ is None


@pytest.fixture
def full(vault) -> Vault:
    fill(vault)
    vault.add_values("notes", VALUES)
    assert refusal(vault) is None
    return vault


def files(vault: Vault) -> Iterator[Path]:
    yield vault.folder / "vault.json"
    yield from sorted((vault.folder / "datasets" / "notes").iterdir())


def damage(vault: Vault, step: int) -> int:
    """Flip a bit of every `step`-th byte of every file, and cut the file there; how often that was done."""
    done = 0
    for path in files(vault):
        sound = path.read_bytes()
        for place in range(0, len(sound), step):
            broken = bytearray(sound)
            broken[place] ^= 1 << (place % 8)
            path.write_bytes(broken)
            check(refusal(vault), f"byte {place} of {path.suffix}")
            path.write_bytes(sound[:place])
            check(refusal(vault), f"{path.suffix} cut to {place} bytes")
            done += 1
        path.write_bytes(sound)
    assert refusal(vault) is None
    return done


def test_a_flipped_byte_and_a_cut_are_refused(full):
    assert damage(full, step=13) > 100


def test_added_bytes_and_missing_files_are_refused(full):
    for path in files(full):
        sound = path.read_bytes()
        path.write_bytes(sound + b"\n")
        check(refusal(full), f"a byte after {path.suffix}")
        path.unlink()
        if path.name != "vault.json":
            check(refusal(full), f"{path.suffix} missing")
            assert "is missing" in str(refusal(full))
        path.write_bytes(sound)
    assert refusal(full) is None


def test_frames_cannot_be_moved_or_left_out(vault):
    """Whole frames of equal length: swapped, doubled over one another, and the last one dropped or put first."""
    fill(vault, "long", {"a": {"[ADDRESS_1]": "x" * (4 * FRAME)}})
    folder = vault.folder / "datasets" / "long"
    path = max(folder.glob("*.segment"), key=lambda path: path.stat().st_size)
    sound, head, step = path.read_bytes(), 24, 4 + FRAME + 16
    frames = [sound[head + n * step : head + (n + 1) * step] for n in range(5)]
    for order in ([1, 0, 2, 3, 4], [0, 0, 2, 3, 4], [0, 1, 2, 4], [0, 1, 2, 3], [4, 1, 2, 3, 0]):
        path.write_bytes(sound[:head] + b"".join(frames[n] for n in order))
        with pytest.raises(InputError, match="is damaged"):
            vault.mappings("long").get("a")
    path.write_bytes(sound)
    assert len(vault.mappings("long").get("a")["[ADDRESS_1]"]) == 4 * FRAME


def test_a_frame_that_is_not_the_last_cannot_pass_for_it(tmp_path):
    """Not even where the size that the manifest tells were that of the shortened file, or of the lengthened one."""
    owner = Owner("vault", "dataset")
    writer = SegmentWriter(tmp_path, owner, "records")
    writer.write(b"x" * (3 * FRAME))
    whole = writer.finish()
    path = tmp_path / whole.file
    sound = path.read_bytes()
    for frames in (1, 2, 4):
        other = dataclasses.replace(whole, size=frames * FRAME)
        path.write_bytes((sound + sound[-(4 + FRAME + 16) :])[: other.file_size])
        with pytest.raises(InputError, match="is not what was written"):
            SegmentReader(path, other, owner, "records").whole()
    path.write_bytes(sound)
    assert SegmentReader(path, whole, owner, "records").whole() == b"x" * (3 * FRAME)


def test_nothing_can_be_taken_from_another_dataset_or_vault(full, tmp_path, monkeypatch):
    """Not even where the very same master key wraps both."""
    fill(full, "other")
    elsewhere = Vault(tmp_path / "elsewhere" / "vault")
    elsewhere.init(f"file:{full.key_file}")
    fill(elsewhere)
    elsewhere.add_values("notes", VALUES)
    folder = full.folder / "datasets" / "notes"
    for source in (full.folder / "datasets" / "other", elsewhere.folder / "datasets" / "notes"):
        for theirs in source.iterdir():
            for ours in folder.iterdir():
                sound = ours.read_bytes()
                ours.write_bytes(theirs.read_bytes())
                check(refusal(full), f"{theirs.suffix} in the place of {ours.suffix}")
                ours.write_bytes(sound)
        kept = folder.rename(tmp_path / "kept")
        shutil.copytree(source, folder)
        check(refusal(full), "a whole folder under another name")
        shutil.rmtree(folder)
        kept.rename(folder)
    assert refusal(full) is None


def test_an_older_segment_is_noticed(full, tmp_path):
    folder = full.folder / "datasets" / "notes"
    kept = shutil.copytree(folder, tmp_path / "older")
    full.add_values("notes", [("PERSON", "later")])
    present = {path.name for path in folder.iterdir()}
    (gone,) = {path.name for path in kept.iterdir()} - present
    (newer,) = present - {path.name for path in kept.iterdir()}
    shutil.copy(kept / gone, folder / newer)
    with pytest.raises(InputError, match="is damaged"):
        list(full.values("notes"))


def test_verify_finds_what_reading_elsewhere_would_not(vault):
    """A flipped byte in the last frame: `status` opens the dataset, `--verify` reads on to the damage."""
    fill(vault, "long", {str(n): {"[ADDRESS_1]": "x" * 1000} for n in range(300)})
    fill(vault)
    path = max((vault.folder / "datasets" / "long").glob("*.segment"), key=lambda path: path.stat().st_size)
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    assert vault.mappings("long").get("3")
    assert [state["state"] for state in vault.status()["datasets"]] == ["opened", "opened"]
    states = {state["name"]: state for state in vault.status(verify=True)["datasets"]}
    assert states["notes"]["state"] == "verified"
    assert states["long"]["state"] == "damaged"
    assert "frame 5 of 5 of its records" in states["long"]["detail"]


def test_wrong_missing_invalid_and_public_keys_are_told_apart(full, monkeypatch):
    def told(words: str) -> None:
        for ask in (lambda: full.mappings("notes"), lambda: full.values("notes"), lambda: fill(full, "fresh")):
            with pytest.raises(InputError, match=words) as refused:
                ask()
            assert key not in str(refused.value)

    key = full.key_file.read_text().strip()
    full.key_file.chmod(0o640)
    told("may be read by others .mode 0640.; run: chmod 600")
    full.key_file.chmod(0o600)
    full.key_file.write_text(new_key())
    told("is not the one")
    full.key_file.write_text("5" + key)
    told("does not hold base64 of 32 bytes")
    full.key_file.unlink()
    told("The vault's key is not there")
    monkeypatch.setenv("SM_OPS_VAULT_KEY", new_key())
    told("is not the one")
    monkeypatch.setenv("SM_OPS_VAULT_KEY", key)
    assert refusal(full) is None, "the right key is recognised wherever it is"


@pytest.mark.parametrize("source", ["", "envy", "file:", "kms:", "vault.key"])
def test_a_key_source_that_is_none_is_refused(tmp_path, source):
    with pytest.raises(InputError, match="env, file:PATH or kms:KEY_ID"):
        Vault(tmp_path / "new").init(source or "?")
    assert not Vault(tmp_path / "new").exists()


def test_a_key_inside_the_vault_and_an_absent_variable_are_refused(tmp_path):
    new = Vault(tmp_path / "new")
    with pytest.raises(InputError, match="choose a place outside"):
        new.init(f"file:{tmp_path}/new/inside/my.key")
    with pytest.raises(InputError, match="SM_OPS_VAULT_KEY holds no key; make one with"):
        new.init("env")
    assert not new.exists()
