"""`release build`: what is in a bundle, what never gets into one, and that it is whole or not there."""

from __future__ import annotations

import errno
import json
import stat
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from calling import Called, call_cli

from sm_ops.core import fs
from sm_ops.masking import mask_files
from sm_ops.masking.mask_files import MaskRow
from sm_ops.release import envelopes, ledger, packages, shards
from sm_ops.release.folder import Release
from sm_ops.training import masked

pytestmark = pytest.mark.unit

SOURCE = [
    {
        "id": "n1",
        "group": "g1",
        "text": "call Wilma Testperson at noon",
        "spans": [{"start": 5, "end": 21, "label": "name"}],
    },
    {
        "id": "n2",
        "messages": [
            {"role": "user", "content": "who?"},
            {"role": "assistant", "content": "Wilma Testperson, of course"},
        ],
        "spans": [{"start": 0, "end": 16, "label": "name", "message": 1}],
        "meta": {"note": "inside"},
    },
]
REDACTED = [
    {"id": "n1", "group": "g1", "text": "call [MASKED] at noon", "spans": [], "meta": {"note": "inside"}},
    {
        "id": "n2",
        "messages": [
            {"role": "user", "content": "who?"},
            {"role": "assistant", "content": "[MASKED], of course", "name": "inside"},
        ],
    },
]
RELEASED = [
    {"id": "n1", "text": "call [MASKED] at noon"},
    {
        "id": "n2",
        "messages": [{"role": "user", "content": "who?"}, {"role": "assistant", "content": "[MASKED], of course"}],
    },
]
ABOUT = "title: Notes\ndescription: Two notes.\nlicence: CC0-1.0\nsources: [{name: us, licence: CC0-1.0}]\n"


@pytest.fixture
def own(tmp_path, monkeypatch, capsys):
    """Own files in a folder, a home, and `call`, which runs a command."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "about.yaml").write_text(ABOUT)
    write(tmp_path / "source.jsonl", SOURCE)
    write(tmp_path / "redacted.jsonl", REDACTED)
    monkeypatch.setattr(packages, "_installed", lambda: [("some-package", "1.0")])  # reading all takes a while
    rows = [MaskRow("n1", "SM95", [5], [21], [], None), MaskRow("n2", "SM95", [5], [21], [], None)]
    mask_files.write(tmp_path / "masks.parquet", rows, {})

    def call(*arguments: object) -> Called:
        return call_cli(monkeypatch, capsys, *map(str, arguments))

    def build(*arguments: object, name: str = "notes@1") -> Called:
        return call("release", "build", name, *arguments)

    return SimpleNamespace(folder=tmp_path, home=tmp_path / "home", call=call, build=build)


REDACTION = ("--data", "redacted.jsonl", "--method", "redacted", "--about", "about.yaml")
COMPLETE = (*REDACTION, "--source", "source.jsonl", "--places", "masks.parquet")


def write(path: Path, rows: list[dict]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def read(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def bundle(own, name: str = "notes@1") -> Path:
    return own.home / "releases" / name


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def nothing_is_built(own) -> bool:
    """No bundle, nothing unfinished, nothing that another command could take for a release."""
    return contents(own.home / "releases") == {}


# ---- what is built -------------------------------------------------------------------------------------


def test_ids_and_texts_alone_are_released(own):
    done = own.build(*COMPLETE)
    assert (done.returncode, done.stdout) == (0, f"{bundle(own)}\n"), done.stderr
    assert done.stderr.splitlines()[-1] == "next: sm-ops release check notes@1"
    assert read(bundle(own) / "data/redacted.jsonl") == RELEASED
    assert not any(b"Testperson" in data or b"inside" in data for data in contents(bundle(own)).values())


def test_the_manifest_lists_every_file_of_the_build_with_digest_size_and_rows(own):
    own.build(*COMPLETE)
    found = contents(bundle(own))
    manifest = json.loads(found.pop("manifest.json"))
    late = {path: found.pop(path) for path in ("manifest.dsse.json", "log.jsonl", "log.head.dsse.json")}
    assert {file["path"]: (file["sha256"], file["size"]) for file in manifest["files"]} == {
        path: (fs.sha256(data), len(data)) for path, data in found.items()
    }
    assert [file["path"] for file in manifest["files"]] == sorted(found)
    assert [file["rows"] for file in manifest["files"] if "rows" in file] == [2]
    assert (manifest["format"], manifest["release"], manifest["method"]) == ("release/1", "notes@1", "redacted")

    envelope = envelopes.read(late["manifest.dsse.json"], "here")
    subjects, said = envelopes.content(envelope, "build", "here")
    builder = manifest["builder"]
    assert envelopes.valid_signers(envelope, [builder["public"]], "here") == [builder["key"]]
    assert subjects == {"manifest.json": fs.sha256((bundle(own) / "manifest.json").read_bytes())}
    assert said == {"release": "notes@1", "created": manifest["created"]}
    (line,) = ledger.entries(late["log.jsonl"])
    assert (line["action"], set(line["files"])) == ("build", {"manifest.json", "manifest.dsse.json"})
    ledger.check_head(late["log.jsonl"], late["log.head.dsse.json"], builder["public"])


def test_what_was_removed_is_counted_and_where_it_lies_stays_restricted(own):
    own.build(*COMPLETE)
    counts = json.loads((bundle(own) / "evidence/redaction.json").read_text())
    assert counts["point"] == "SM95"
    assert (counts["records"], counts["intervals"], counts["characters"]) == (2, 2, {"removed": 32, "all": 61})
    assert counts["by_label"] == {"name": {"k": 2, "n": 2, "low": None, "high": None}}
    path = own.home / "restricted/releases/notes@1.json"
    origin = json.loads(path.read_text())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert origin["sources"] == {"redacted.jsonl": str(own.folder / "source.jsonl")}
    assert not Path(origin["places"]["redacted.jsonl"]).is_absolute(), "what lies in the home moves with it"
    places = own.home / origin["places"]["redacted.jsonl"]
    assert places.is_relative_to(own.home / "restricted")
    assert stat.S_IMODE(places.stat().st_mode) == 0o600
    assert read(places) == [{"id": "n1", "intervals": [[5, 21]]}, {"id": "n2", "intervals": [[5, 21]]}]
    assert not any(str(own.folder).encode() in data for data in contents(bundle(own)).values())


def test_the_lineage_goes_from_the_sources_digest_to_the_shard(own):
    own.build(*COMPLETE)
    steps = json.loads((bundle(own) / "lineage.json").read_text())["steps"]
    assert [step["step"] for step in steps] == ["source", "redacted", "release"]
    assert steps[0]["outputs"] == {"source": fs.file_hash(own.folder / "source.jsonl")} == steps[1]["inputs"]
    assert steps[1]["outputs"] == {"file": fs.file_hash(own.folder / "redacted.jsonl")} == steps[2]["inputs"]


def test_a_shard_that_is_too_large_is_split_and_each_part_has_its_source(own, monkeypatch):
    rows = [{"id": f"r{number}", "text": "x" * 60} for number in range(5)]  # a line has 91 or so bytes
    write(own.folder / "redacted.jsonl", rows)
    write(own.folder / "source.jsonl", [{**row, "text": "y" * 60} for row in rows])
    monkeypatch.setattr(shards, "PART_BYTES", 200)
    done = own.build(*REDACTION, "--source", "source.jsonl")
    assert done.returncode == 0, done.stderr
    parts = [f"redacted-0000{number}.jsonl" for number in (1, 2, 3)]
    assert sorted(path.name for path in (bundle(own) / "data").iterdir()) == parts
    assert [len(read(bundle(own) / "data" / part)) for part in parts] == [2, 2, 1]
    assert [row for part in parts for row in read(bundle(own) / "data" / part)] == rows
    origin = json.loads((own.home / "restricted/releases/notes@1.json").read_text())
    assert origin["sources"] == dict.fromkeys(parts, str(own.folder / "source.jsonl"))


def test_reversibly_masked_records_and_what_their_vault_says_of_them(own):
    write(own.folder / "notes.jsonl", [{"id": "a", "text": "Wilma Testperson, w@example.org; Wilma Testperson"}])
    (own.folder / "values.tsv").write_text("PERSON\tWilma Testperson\nEMAIL\tw@example.org\n")
    own.call("vault", "init")
    words = ("--out", "masked.jsonl", "--known-values", "values.tsv", "--vault", "own")
    done = own.call("pii", "mask", "notes.jsonl", *words)
    assert done.returncode == 0, done.stderr
    arguments = ("--data", "masked.jsonl", "--method", "reversible", "--about", "about.yaml")
    refused = own.build(*arguments)
    assert (refused.returncode, nothing_is_built(own)) == (2, True)
    assert "--vault NAME" in refused.stderr
    done = own.build(*arguments, "--vault", "own", "--source", "notes.jsonl")
    assert done.returncode == 0, done.stderr
    assert read(bundle(own) / "data/masked.jsonl") == [{"id": "a", "text": "[PERSON_1], [EMAIL_1]; [PERSON_1]"}]
    assert json.loads((bundle(own) / "evidence/restoration.json").read_text()) == {
        "records": 1,
        "mapped": {"k": 1, "n": 1, "low": None, "high": None},
        "placeholders": 3,
        "by_label": {"EMAIL": 1, "PERSON": 2},
    }
    assert json.loads((own.home / "restricted/releases/notes@1.json").read_text())["vault"] == "own"


def test_splits_that_were_masked_apart_have_a_dataset_each(own, monkeypatch):
    monkeypatch.setattr(shards, "PART_BYTES", 1)
    own.call("vault", "init")
    arguments = ["--method", "reversible", "--about", "about.yaml"]
    for split, name in (("train", "Wilma Testperson"), ("test", "Orla Nobodyson")):
        span = {"start": 5, "end": 5 + len(name), "label": "PERSON"}
        rows = [{"id": f"{split}-{number}", "text": f"call {name} at noon", "spans": [span]} for number in (1, 2)]
        write(own.folder / f"{split}.jsonl", rows)
        assert own.call("pii", "mask", f"{split}.jsonl", "--vault", split, "--out", f"{split}ed.jsonl").returncode == 0
        arguments += ["--data", f"{split}ed.jsonl", "--source", f"{split}.jsonl"]
    swapped = own.build(*arguments, "--vault", "test", "--vault", "train")
    three = own.build(*arguments, "--vault", "train", "--vault", "test", "--vault", "train")
    assert (swapped.returncode, three.returncode, nothing_is_built(own)) == (2, 2, True)
    assert "is it the right dataset?" in swapped.stderr
    assert "2 of --data and 3 of --vault" in three.stderr

    done = own.build(*arguments, "--vault", "train", "--vault", "test")
    assert done.returncode == 0, done.stderr
    evidence = json.loads((bundle(own) / "evidence/restoration.json").read_text())
    assert (evidence["records"], evidence["mapped"]["k"], evidence["by_label"]) == (4, 4, {"PERSON": 4})
    origin = json.loads((own.home / "restricted/releases/notes@1.json").read_text())
    assert origin["vault"] == {
        "trained-00001.jsonl": "train",
        "trained-00002.jsonl": "train",
        "tested-00001.jsonl": "test",
        "tested-00002.jsonl": "test",
    }
    told = json.loads(own.call("release", "check", "notes@1", "--json").stdout)
    checks = {each["name"]: each for each in told["checks"]}
    assert checks["round_trip"]["measured"] == {"records": 4, "not_restored": 0}
    assert checks["known_values"]["measured"]["values"] == 2


@pytest.mark.parametrize("suffix", [".jsonl", ".txt"])
def test_scrubbed_records(own, suffix):
    if suffix == ".txt":
        (own.folder / "notes.txt").write_text("mail w@example.org\n\nbye\n")
    else:
        write(own.folder / "notes.jsonl", [{"id": "paragraph-0", "text": "mail w@example.org\n\n"}])
    own.call("pii", "scrub", f"notes{suffix}", "--out", f"scrubbed{suffix}", "--detector", "regex")
    done = own.build("--data", f"scrubbed{suffix}", "--method", "scrubbed", "--about", "about.yaml")
    assert done.returncode == 0, done.stderr
    first = {"id": "paragraph-0", "text": "mail [EMAIL]\n\n"}
    others = [{"id": "paragraph-1", "text": "bye\n"}] if suffix == ".txt" else []
    assert read(bundle(own) / "data/scrubbed.jsonl") == [first, *others]


def test_quasi_identifiers_that_the_policy_looks_at_are_released_and_counted(own):
    write(own.folder / "redacted.jsonl", [{"id": f"r{n}", "text": "x", "year": 1980 + n % 2, "x": 1} for n in range(4)])
    (own.folder / "policy.yaml").write_text("checks: {k_anonymity: {columns: [year], k: 2}}\n")
    assert own.build(*REDACTION, "--policy", "policy.yaml").returncode == 0
    assert read(bundle(own) / "data/redacted.jsonl")[3] == {"id": "r3", "text": "x", "year": 1981}
    done = own.call("release", "check", "notes@1")
    assert done.returncode == 0, done.stdout
    assert "2 records or more" in done.stdout
    write(own.folder / "redacted.jsonl", [{"id": "r", "text": "x", "year": ["inside"]}])
    done = own.build(*REDACTION, "--policy", "policy.yaml", name="notes@2")
    assert (done.returncode, bundle(own, "notes@2").exists()) == (2, False)
    assert "no single value" in done.stderr
    assert "inside" not in done.stderr


def test_what_calibration_said_of_the_rule_is_evidence(own):
    verdict = {"decision": "suitable", "advice": "use it", "reason": "It separates well."}
    counts = {"auroc": 0.9, "target_tokens": 3, "other_tokens": 7, "independent_units": 2}
    report = {"verdict": verdict, **counts, "reference": {"name": "/models/own-model"}, "points": {}}
    (own.folder / "calibration.json").write_text(json.dumps(report))
    assert own.build(*REDACTION, "--calibration", "calibration.json").returncode == 0
    said = json.loads((bundle(own) / "evidence/suitability.json").read_text())
    assert said == {**verdict, **counts, "reference": "own-model"}
    (own.folder / "calibration.json").write_text("{}")
    done = own.build(*REDACTION, "--calibration", "calibration.json", name="notes@2")
    assert (done.returncode, bundle(own, "notes@2").exists()) == (2, False)
    assert "sm-ops calibrate" in done.stderr


# ---- twice, and otherwise ------------------------------------------------------------------------------


def test_twice_is_once(own):
    own.build(*COMPLETE)
    before = contents(own.home)
    done = own.build(*COMPLETE)
    assert (done.returncode, done.stdout) == (0, f"{bundle(own)}\n")
    assert "already built" in done.stderr
    assert contents(own.home) == before


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ("redacted.jsonl", "lineage.json"),
        ("source.jsonl", "lineage.json"),
        ("about.yaml", "config.json"),
        ("policy.yaml", "policy.yaml"),
    ],
)
def test_another_content_under_the_same_version_is_refused(own, changed, named):
    policy = own.folder / "policy.yaml"
    policy.write_text("format: policy/1\n")
    own.build(*COMPLETE, "--policy", policy)
    before = contents(own.home)
    path = own.folder / changed
    path.write_text(path.read_text().replace("noon", "night").replace("Two", "Some") + "# \n" * (path == policy))
    done = own.build(*COMPLETE, "--policy", policy)
    assert done.returncode == 2
    assert named in done.stderr
    assert "Build another version" in done.stderr
    assert contents(own.home) == before


# ---- what is never built -------------------------------------------------------------------------------


def restricted_output(own) -> Path:
    return write(fs.private_folder(own.home / "restricted") / "rows.jsonl", REDACTED)


def linked_output(own) -> Path:
    restricted_output(own)
    (own.folder / "linked.jsonl").symlink_to(own.home / "restricted" / "rows.jsonl")
    return own.folder / "linked.jsonl"


def training_set(own) -> Path:
    example = masked.Example("a", np.array([1, 2]), np.array([-100, 2]), np.array([False, False]))
    masked.write(own.folder / "train.parquet", [example])
    return own.folder / "train.parquet"


def renamed_training_set(own) -> Path:
    import pyarrow.parquet as pq

    table = pq.read_table(training_set(own)).replace_schema_metadata(None)
    pq.write_table(table, own.folder / "other.parquet")
    return own.folder / "other.parquet"


def canaries(own) -> Path:
    return write(own.folder / "canaries.jsonl", [{"id": "name-1", "kind": "name", "value": "Wilma Testperson"}])


def own_source(own) -> Path:
    return own.folder / "source.jsonl"


def empty(own) -> Path:
    return write(own.folder / "empty.jsonl", [])


def absent(own) -> Path:
    return own.folder / "absent.jsonl"


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (restricted_output, "is a restricted output"),
        (linked_output, "is a restricted output"),
        (training_set, "loss-masked training set"),
        (renamed_training_set, "loss-masked training set"),
        (canaries, "line 1, record 0: it has no text"),
        (own_source, "is its own source"),
        (empty, "holds no records"),
        (absent, "There is no file"),
    ],
)
def test_what_must_not_leave_is_refused_in_words(own, made, told):
    path = made(own)
    done = own.build("--data", path, "--method", "redacted", "--about", "about.yaml", "--source", "source.jsonl")
    assert done.returncode == 2
    assert told in done.stderr
    assert "Wilma" not in done.stderr
    assert nothing_is_built(own)


def test_a_mask_file_of_two_conditions_does_not_tell_what_was_removed(own):
    rows = [MaskRow(id_, point, [5], [21], [], None) for id_ in ("n1", "n2") for point in ("SM90", "SM95")]
    mask_files.write(own.folder / "masks.parquet", rows, {})
    done = own.build(*COMPLETE)
    assert (done.returncode, nothing_is_built(own)) == (2, True)
    assert "2 conditions" in done.stderr


def test_places_that_lack_a_record_are_refused(own):
    mask_files.write(own.folder / "masks.parquet", [MaskRow("n1", "SM95", [5], [21], [], None)], {})
    done = own.build(*COMPLETE)
    assert (done.returncode, nothing_is_built(own)) == (2, True)
    assert "does not tell of every record" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("--data", "redacted.jsonl", "--about", "about.yaml"),
        ("--data", "redacted.jsonl", "--method", "redacted"),
        ("--data", "redacted.jsonl", "--method", "erased", "--about", "about.yaml"),
        (*REDACTION, "--run", "tiny"),
        (*REDACTION, "--vault", "customers"),
        ("--data", "redacted.jsonl", "--method", "reversible", "--about", "about.yaml", "--vault", "a", "--vault", "b"),
        (*REDACTION, "--source", "source.jsonl", "--source", "source.jsonl"),
        ("--source", "source.jsonl"),
        (*REDACTION, "--orchestrate"),
        (),
    ],
)
def test_options_that_do_not_fit_are_refused(own, arguments):
    done = own.build(*arguments)
    assert (done.returncode, nothing_is_built(own)) == (2, True)
    assert done.stderr.startswith("sm-ops: ")


@pytest.mark.parametrize("name", ["notes", "Notes@1", "notes@", "@1", "../notes@1", "notes@1/2", ".notes@1"])
def test_a_name_that_is_none_is_refused(own, name):
    done = own.build(*REDACTION, name=name)
    assert (done.returncode, nothing_is_built(own)) == (2, True)
    assert "NAME@VERSION" in done.stderr


def test_a_full_disk_leaves_nothing_wherever_it_strikes(own, monkeypatch):
    writes, renames = fs.write_atomic, fs.fsync
    count = {"left": 10**9}

    def filling(real):
        def call(path, *rest, **more):
            if "releases" in str(path):
                count["left"] -= 1
                if count["left"] < 0:
                    raise OSError(errno.ENOSPC, "No space left on device", str(path))
            return real(path, *rest, **more)

        return call

    monkeypatch.setattr(fs, "write_atomic", filling(writes))
    monkeypatch.setattr(fs, "fsync", filling(renames))
    done = own.build(*COMPLETE, name="first@1")
    assert done.returncode == 0
    operations = 10**9 - count["left"]
    assert operations > 20
    for left in range(0, operations - 1, 3):
        count["left"] = left
        done = own.build(*COMPLETE)
        assert done.returncode == 2, left
        assert "No space left" in done.stderr
        assert "free some space" in done.stderr
        assert not bundle(own).exists()
        assert list((own.home / "releases/.work").iterdir()) == []
    count["left"] = 10**9
    assert own.build(*COMPLETE).returncode == 0


def test_what_a_killed_build_left_is_swept_by_the_next(own):
    own.build(*COMPLETE, name="other@1")
    left = ledger.unfinished_folder(Release(own.home, "notes", "1"))
    (left / "data").mkdir()
    (left / "data/part.jsonl").write_text("half")
    assert [row["name"] for row in json.loads(own.call("release", "ls", "--json").stdout)] == ["other"]
    assert own.build(*COMPLETE).returncode == 0
    assert not left.exists()
