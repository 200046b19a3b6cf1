"""Mappings and known values come back as they were given; what is wrong is refused in words without values."""

from __future__ import annotations

import random
import stat
import subprocess
import sys
import tracemalloc
from collections.abc import Callable

import pytest
from driving import environment
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from vault_samples import RECORDS, VALUES, fill, new_key

from sm_ops.core import fs
from sm_ops.core.errors import InputError
from sm_ops.vault import Vault
from sm_ops.vault.segment import FRAME

pytestmark = pytest.mark.unit


def test_mappings_come_back_in_order_and_by_id(vault):
    fill(vault)
    with vault.mappings("notes") as mappings:
        assert list(mappings.items()) == list(RECORDS.items())
        assert len(mappings) == len(RECORDS)
        for record_id in [*RECORDS, *reversed(RECORDS), "doc-2", "doc-2"]:
            assert mappings.get(record_id) == RECORDS[record_id]


def test_a_digest_comes_back_with_its_mapping_and_outlives_new_data_keys(vault):
    with vault.writer("notes") as writer:
        writer.add("a", {"[REL_1]": "딸"}, "5f00")
        writer.add("b", {})
    for _ in range(2):
        with vault.mappings("notes") as mappings:
            assert mappings.get_with_digest("b") == ({}, "")
            assert mappings.get_with_digest("a") == ({"[REL_1]": "딸"}, "5f00")
            assert mappings.get("a") == {"[REL_1]": "딸"}
        vault.rotate(data_keys=True)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.dictionaries(
        st.text(max_size=20),
        st.dictionaries(st.from_regex(r"\[[A-Z]+_[1-9][0-9]*\]", fullmatch=True), st.text(), max_size=3),
        max_size=12,
    )
)
def test_any_text_comes_back(vault, records):
    fill(vault, "any", records)
    with vault.mappings("any") as mappings:
        assert dict(mappings.items()) == records
        assert {record_id: mappings.get(record_id) for record_id in reversed(records)} == records


def test_half_a_character_comes_back_too(vault):
    records = {"\ud83d": {"[PERSON_1]": "a\udc00"}}
    fill(vault, "odd", records)
    assert dict(vault.mappings("odd").items()) == records
    assert vault.mappings("odd").get("\ud83d") == records["\ud83d"]


def test_many_records_over_many_frames(vault):
    """Records that cross frames, and one that is larger than several of them."""
    draw = random.Random(5)
    records = {f"{n}": {"[ADDRESS_1]": "가" * draw.randrange(900)} for n in range(2000)}
    records["large"] = {"[ADDRESS_1]": "x" * (3 * FRAME + 7)}
    fill(vault, "large", records)
    with vault.mappings("large") as mappings:
        assert list(mappings.items()) == list(records.items())
        for record_id in draw.sample(list(records), 300):
            assert mappings.get(record_id) == records[record_id]
    (state,) = vault.status(verify=True)["datasets"]
    assert (state["state"], state["records"]) == ("verified", 2001)


BESIDE = 8 + len("PERSON")  # bytes that an entry has beside its value


@pytest.mark.parametrize("size", [0, 1, FRAME - 1, FRAME, FRAME + 1, 2 * FRAME])
def test_every_size_about_a_frame(vault, size):
    pairs = [("PERSON", "x" * (size - BESIDE))] if size > BESIDE else []
    vault.add_values("sizes", pairs)
    assert list(vault.values("sizes")) == pairs
    assert vault.status(verify=True)["datasets"][0]["state"] == "verified"


def test_known_values_are_distinct_and_those_of_mappings_belong_to_them(vault):
    fill(vault)
    assert vault.add_values("notes", [*VALUES, VALUES[0], ("PERSON", "김가상1")]) == 3
    assert vault.add_values("notes", VALUES) == 0
    mapped = [(kind, RECORDS[r][f"[{kind}_1]"]) for r in RECORDS for kind in ("PERSON", "PHONE")]
    stored = [*VALUES, ("PERSON", "김가상1")]
    assert list(vault.values("notes")) == [*stored, *(pair for pair in mapped if pair not in stored)]
    fill(vault, "notes", {"other": {"[REL_1]": "어머니"}})
    assert list(vault.values("notes")) == [*stored, ("REL", "어머니")], "a writer replaces mappings, not known values"


def test_a_later_writer_replaces_the_mappings(vault):
    fill(vault)
    fill(vault, "notes", {"only": {"[DOB_1]": "1985-03-12"}})
    assert dict(vault.mappings("notes").items()) == {"only": {"[DOB_1]": "1985-03-12"}}
    assert vault.names() == ["notes"]
    files = sorted(path.suffix for path in (vault.folder / "datasets" / "notes").iterdir())
    assert files == [".json", ".json", ".segment", ".segment"], "nothing is left of the earlier ones"


def test_a_failed_writer_leaves_what_was_there(vault):
    with pytest.raises(ZeroDivisionError):
        fail_in_between(vault, "new")
    assert vault.names() == []
    fill(vault)
    with pytest.raises(ZeroDivisionError):
        fail_in_between(vault, "notes")
    assert dict(vault.mappings("notes").items()) == RECORDS
    assert list((vault.folder / "writing").iterdir()) == []


def fail_in_between(vault: Vault, name: str) -> None:
    with vault.writer(name) as writer:
        writer.add("a", {})
        raise ZeroDivisionError


def test_a_repeated_record_id_is_refused_by_its_number(vault):
    with pytest.raises(InputError, match="Record 5 has the id of an earlier one") as refused:
        fill_twice(vault)
    assert "doc-1" not in str(refused.value)
    assert vault.names() == []


def fill_twice(vault: Vault) -> None:
    with vault.writer("notes") as writer:
        for record_id, mapping in [*RECORDS.items(), ("doc-1", {})]:
            writer.add(record_id, mapping)


@pytest.mark.parametrize("mapping", [{"PERSON_1": "x"}, {"[PERSON_01]": "x"}, {"[PERSON_1]": 5}, {"[person_1]": "x"}])
def test_a_mapping_that_is_none_is_refused(vault, mapping):
    with pytest.raises(InputError, match="Record 0: its mapping is not"), vault.writer("notes") as writer:
        writer.add("a", mapping)
    assert vault.names() == []


@pytest.mark.parametrize("name", ["", "..", "a/b", ".a", "가상", "x" * 101, "a\0b"])
def test_a_name_that_is_none_is_refused(vault, name):
    with pytest.raises(InputError, match="name has 1 to 100"):
        fill(vault, name)
    for read in (vault.mappings, vault.shred, vault.values):
        with pytest.raises(InputError, match="no dataset"):
            read(name)


def test_an_unknown_record_and_an_unknown_dataset_are_refused(vault):
    fill(vault)
    with vault.mappings("notes") as mappings, pytest.raises(InputError, match="no record of that id") as refused:
        mappings.get("김가상-absent")
    assert "absent" not in str(refused.value)
    with pytest.raises(InputError, match="nearest is notes"):
        vault.mappings("note")
    vault.add_values("known", VALUES)
    with pytest.raises(InputError, match="known values alone"):
        vault.mappings("known")


def test_records_whose_hashes_are_equal_are_not_taken_for_each_other(vault, monkeypatch):
    monkeypatch.setattr("sm_ops.vault.entries._hash", lambda record, key: 7)
    fill(vault, "notes", {"a": {"[REL_1]": "딸"}})
    with vault.mappings("notes") as mappings:
        assert mappings.get("a") == {"[REL_1]": "딸"}
        with pytest.raises(InputError, match="no record of that id"):
            mappings.get("b")
    monkeypatch.undo()
    (state,) = vault.status(verify=True)["datasets"]
    assert state["state"] == "damaged", "an index that does not lead to its records is noticed"
    assert "its index and its records differ" in state["detail"]


def test_no_vault_is_told_with_what_to_do(tmp_path):
    absent = Vault(tmp_path / "absent")
    for ask in (
        absent.names,
        absent.status,
        lambda: absent.values("x"),
        lambda: fill(absent),
        lambda: absent.shred("x"),
    ):
        with pytest.raises(InputError, match="sm-ops vault init"):
            ask()
    assert not absent.folder.exists()


def test_datasets_whose_vault_file_is_lost_are_not_taken_for_no_vault(vault):
    fill(vault)
    sound = (vault.folder / "vault.json").read_bytes()
    (vault.folder / "vault.json").unlink()
    for ask in (
        vault.names,
        vault.status,
        vault.init,
        vault.ensure,
        lambda: vault.mappings("notes"),
        lambda: fill(vault),
    ):
        with pytest.raises(InputError, match=r"vault\.json is missing, and datasets are there; put back"):
            ask()
    (vault.folder / "vault.json").write_bytes(sound)
    assert dict(vault.mappings("notes").items()) == RECORDS


def test_a_vault_is_made_once(vault):
    with pytest.raises(InputError, match="already"):
        vault.init()
    assert vault.ensure() is False


def test_pipelines_get_a_vault_of_their_own(tmp_path, monkeypatch):
    first = Vault(tmp_path / "a" / "vault")
    assert first.ensure() is True
    assert first.key_file == tmp_path / "a" / "vault.key"
    assert first.key_file.is_file()
    monkeypatch.setenv("SM_OPS_VAULT_KEY", new_key())
    second = Vault(tmp_path / "b" / "vault")
    second.ensure()
    assert second.status()["key"] == "env"
    assert not second.key_file.exists()


def test_the_default_place_is_in_the_home_folder(tmp_path):
    assert Vault().folder == tmp_path / "home" / "vault"


def test_everything_is_its_owners_alone(vault):
    fill(vault)
    vault.add_values("known", VALUES)
    vault.add_values("gone", VALUES)
    vault.shred("gone")
    paths = [vault.folder, vault.key_file, *vault.folder.rglob("*")]
    modes = {path: stat.S_IMODE(path.stat().st_mode) for path in paths}
    assert all(mode == (0o700 if path.is_dir() else 0o600) for path, mode in modes.items()), modes


def test_no_value_and_no_record_id_stands_in_the_folder(vault):
    fill(vault)
    vault.add_values("notes", VALUES)
    everything = b"\0".join(path.read_bytes() for path in vault.folder.rglob("*") if path.is_file())
    for value in ("김가상1", "010-0000", "doc-1", "secret.person", "[PERSON_1]", "EMAIL"):
        assert value.encode() not in everything


def test_a_status_without_the_key_says_what_it_could_not_check(vault):
    fill(vault)
    vault.add_values("notes", VALUES)
    vault.key_file.rename(vault.key_file.with_name("elsewhere"))
    found = vault.status(verify=True)
    assert "not there" in found["key_problem"]
    (state,) = found["datasets"]
    assert (state["state"], state["records"], state["values"]) == ("sealed", 5, 2)
    assert "not there" in state["detail"]
    assert fs.canonical_json(found), "it is plain JSON"


def test_other_format_versions_are_refused_in_words(vault):
    fill(vault)
    for path in [vault.folder / "vault.json", *(vault.folder / "datasets" / "notes").glob("*.json")]:
        sound = path.read_bytes()
        path.write_bytes(sound.replace(b"vault/2", b"vault/1"))
        with pytest.raises(InputError, match=r"has format 'vault/1', this version reads 'vault/2'"):
            vault.mappings("notes")
        path.write_bytes(sound)
    (segment, _) = sorted((vault.folder / "datasets" / "notes").glob("*.segment"))
    data = bytearray(segment.read_bytes())
    data[7] = 2
    segment.write_bytes(data)
    with pytest.raises(InputError, match="another format version"):
        list(vault.mappings("notes").items())


def test_memory_a_record_is_small(vault):
    """At most 24 bytes a record to read them by id, and 40 to write them, beside frames that are in memory anyway."""
    count, frames = 20_000, 12 * FRAME

    def write() -> None:
        with vault.writer("many") as writer:
            for number in range(count):
                writer.add(str(number), {})

    def read() -> list[object]:
        mappings = vault.mappings("many")
        return [mappings, mappings.get("17"), mappings.get(str(count - 1))]

    assert peak(write) < 40 * count + frames
    assert peak(read) < 24 * count + frames


def peak(work: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        kept = work()
        del kept
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_nothing_heavy_is_imported(tmp_path):
    program = (
        "import sys; from sm_ops.vault import Vault; v = Vault(); v.init(); v.add_values('a', [('REL', 'x')])\n"
        "assert list(v.values('a')) == [('REL', 'x')]\n"
        "print([m for m in ('torch', 'pandas', 'boto3', 'pydantic', 'mlflow', 'prefect', 'dvc') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment(tmp_path / "h"), check=False
    )
    assert done.stdout == "[]\n", done.stderr
