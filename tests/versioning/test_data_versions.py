"""Data of runs: versioned once, each class on its own remote, back byte for byte, mappings never."""

from __future__ import annotations

import base64
import json
import os
import re
import secrets
import shutil
import stat
import subprocess
from pathlib import Path

import pytest
from data_runs import MASKED, PUBLIC, ROW, files, holding, make_run
from driving import ROOT

from sm_ops.core import fs
from sm_ops.core.home import Run
from sm_ops.pii.mapping_file import writing_mappings
from sm_ops.stages import STAGES
from sm_ops.vault import Vault
from sm_ops.versioning.data.entries import DATA
from sm_ops.versioning.data.verbs import keep, remote_problems


def in_git(home: Path, *arguments: str) -> str:
    return subprocess.check_output(["git", "-C", str(home / "data"), *arguments], text=True).strip()


def commits(home: Path) -> int:
    return int(in_git(home, "rev-list", "--count", "HEAD"))


# ---- a version -----------------------------------------------------------------------------------------


@pytest.mark.unit
def test_data_comes_back_byte_for_byte_when_the_store_is_gone(home, sm_ops, tmp_path):
    run = make_run(home)
    assert sm_ops("data", "push").stdout == f"{run.id}\n"
    shutil.rmtree(home / "store")
    shutil.rmtree(home / "restricted" / "synthesize")
    out = tmp_path / "out"
    sm_ops("data", "checkout", run.id, "--out", str(out))
    found = {p.relative_to(out).as_posix(): p.read_bytes() for p in out.rglob("*") if p.is_file()}
    assert found == {
        "synthesize/train.jsonl": ROW,
        "mask/masks.parquet": b"PAR1 masks",
        "redact/redacted.jsonl": PUBLIC,
    }
    modes = {stat.S_IMODE(path.stat().st_mode) for path in out.rglob("*.jsonl")}
    assert modes == {0o600}
    assert stat.S_IMODE((out / "synthesize").stat().st_mode) == 0o700
    sm_ops("data", "checkout", run.id, "--out", str(out))
    (out / "redact" / "redacted.jsonl").write_bytes(MASKED)
    done = sm_ops("data", "checkout", run.id, "--out", str(out), code=2)
    assert "redacted.jsonl is there and is other data" in done.stderr
    assert (out / "redact" / "redacted.jsonl").read_bytes() == MASKED


def test_a_lost_or_damaged_cache_is_filled_from_the_remotes(home, sm_ops):
    run = make_run(home)
    sm_ops("data", "push")
    cache = home / "restricted" / "data-cache"
    (damaged,) = holding(cache, ROW)
    damaged.chmod(0o600)
    damaged.write_bytes(b"x" * len(ROW))
    (lost,) = holding(cache, PUBLIC)
    lost.unlink()
    (printed,) = sm_ops("data", "checkout", "small", "synthesize").stdout.splitlines()
    assert Path(printed).read_bytes() == ROW
    assert Path(printed).is_relative_to(home / "restricted")
    (printed,) = sm_ops("data", "checkout", run.links()["data"][:9], "redact/redacted.jsonl").stdout.splitlines()
    assert Path(printed).read_bytes() == PUBLIC
    for place in (cache, home / "restricted" / "data-remote"):
        for path in holding(place, ROW):
            path.unlink()
    done = sm_ops("data", "checkout", "small", "synthesize", "--out", str(home.parent / "other"), code=2)
    assert "small/synthesize/train.jsonl is neither in this home nor on the remote restricted" in done.stderr


@pytest.mark.unit
def test_each_class_lies_on_its_own_remote(home, sm_ops):
    make_run(home)
    sm_ops("data", "push")
    assert holding(home / "restricted" / "data-remote", ROW)
    assert all(path.is_relative_to(home / "restricted") for path in holding(home, ROW))
    assert stat.S_IMODE((home / "restricted" / "data-remote").stat().st_mode) == 0o700
    assert len(holding(home / "data-remote", PUBLIC)) == 1
    assert holding(home / "restricted" / "data-remote", PUBLIC) == []
    assert b"zq7" not in b"".join(p.read_bytes() for p in (home / "data").rglob("*") if p.is_file())


def test_a_commit_a_change_and_a_tag_a_run(home, sm_ops):
    first = make_run(home)
    sm_ops("data", "push")
    before = commits(home)
    other = {**files(), ("train@SM95-0", "model", "restricted"): b"other weights"}
    same_data = make_run(home, other)
    sm_ops("data", "push")
    assert commits(home) == before
    assert same_data.links()["data"] == first.links()["data"]
    changed = make_run(home, files(ROW + ROW))
    make_run(home, name="else..where")
    sm_ops("data", "push")
    assert commits(home) == before + 2
    rows = {row["run"]: row for row in json.loads(sm_ops("data", "ls", "--json").stdout)}
    assert rows.keys() == {first.id, same_data.id, changed.id} | {r for r in rows if r.startswith("else..where-")}
    assert rows[changed.id]["bytes"] == rows[first.id]["bytes"] + len(ROW)
    assert in_git(home, "rev-parse", f"run/{changed.id}") == changed.links()["data"] == rows[changed.id]["revision"]
    (old,) = sm_ops("data", "checkout", first.id, "synthesize").stdout.splitlines()
    (new,) = sm_ops("data", "checkout", changed.id, "synthesize").stdout.splitlines()
    assert (Path(old).read_bytes(), Path(new).read_bytes()) == (ROW, ROW + ROW)


@pytest.mark.unit
def test_every_kind_of_data_is_one_that_a_stage_writes():
    outputs = {stage.name: [output.name for output in stage.outputs] for stage in STAGES}
    assert DATA.keys() <= outputs.keys()
    assert not any("model" in kind for kind in DATA.values())


# ---- refusals ------------------------------------------------------------------------------------------


def mapping_rows(folder: Path) -> bytes:
    with writing_mappings(folder / "mapping.jsonl", replace=False) as rows:
        rows.add("a", {"[NAME_1]": "Erika"}, "0" * 64)
    return (folder / "mapping.jsonl").read_bytes()


MAPPING_ROW = b'{"id": "a", "mapping": {"[NAME_1]": "Erika"}}\n'


def row_of(size: int) -> bytes:
    return b'{"id": "a", "text": "' + b"x" * (size - 24) + b'"}\n'


def of_the_vault(pattern: str):
    def planted(folder: Path) -> bytes:
        vault = Vault(folder / "vault")
        vault.ensure()
        with vault.writer("names") as writer:
            writer.add("a", {"[NAME_1]": "Erika"}, "0" * 64)
        return max((p for p in folder.rglob(pattern) if p.is_file()), key=lambda path: path.stat().st_size).read_bytes()

    return planted


PLANTED = {
    "a mapping file": mapping_rows,
    "a mapping across the end of a megabyte": lambda folder: row_of((1 << 20) - 16) + MAPPING_ROW,
    "rows with mappings": lambda folder: ROW + MAPPING_ROW,
    "a segment": lambda folder: b"SMVAULT\x01" + secrets.token_bytes(64),
    "a manifest": of_the_vault("manifest.json"),
    "the vault's head": of_the_vault("vault.json"),
    "a key": lambda folder: base64.b64encode(secrets.token_bytes(32)) + b"\n",
}


@pytest.mark.unit
@pytest.mark.parametrize("kind", PLANTED)
def test_a_mapping_is_never_versioned(kind, home, sm_ops, tmp_path):
    tmp_path.joinpath("planted").mkdir()
    planted = PLANTED[kind](tmp_path / "planted")
    run = make_run(home, files(planted))
    done = sm_ops("data", "push", code=2)
    assert "synthesize/train.jsonl holds a mapping or a key, which is never versioned" in done.stderr
    assert "Erika" not in done.stderr
    assert run.links()["data"] is None
    assert json.loads(sm_ops("data", "ls", "--json").stdout) == []
    store = home / "restricted" / "synthesize"
    assert all(path.is_relative_to(store) for path in holding(home, planted))


@pytest.mark.unit
def test_a_text_that_speaks_of_mappings_is_no_mapping(home, sm_ops):
    text = json.dumps({"id": "a", "text": 'rows are {"format": "pii-mapping/1", "mapping": {"a": "b"}}'}).encode()
    make_run(home, files(text + b"\n"))
    sm_ops("data", "push")


def test_a_store_that_leads_into_the_vault_is_refused(home, sm_ops):
    make_run(home)
    (output,) = (home / "restricted" / "synthesize").rglob("train.jsonl")
    (home / "vault").mkdir()
    shutil.copy2(output, home / "vault" / "train.jsonl")
    output.unlink()
    output.symlink_to(home / "vault" / "train.jsonl")
    assert "[mapping-refused]" in sm_ops("data", "push", code=2).stderr


def test_damaged_results_are_not_versioned(home, sm_ops):
    make_run(home)
    (output,) = (home / "restricted" / "synthesize").rglob("train.jsonl")
    times = output.stat()
    output.write_bytes(b"x" * len(ROW))
    os.utime(output, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert "synthesize/train.jsonl is not what its step wrote" in sm_ops("data", "push", code=2).stderr


# ---- remotes -------------------------------------------------------------------------------------------


def test_remotes_are_marked_and_take_no_other_class(home, sm_ops, tmp_path):
    make_run(home)
    shared, secret = tmp_path / "shared", tmp_path / "secret"
    assert sm_ops("data", "remote", str(shared)).stdout == f"{shared}\n"
    sm_ops("data", "remote", "--restricted", str(secret))
    sm_ops("data", "push")
    assert holding(secret, ROW)
    assert holding(shared, ROW) == []
    assert stat.S_IMODE(secret.stat().st_mode) == 0o700
    assert sm_ops("data", "remote").stdout.split() == ["default", str(shared), "restricted", str(secret)]
    refused = {
        (str(secret),): "lie in one another",
        (str(secret / "part"),): "lie in one another",
        ("--restricted", str(tmp_path)): "lie in one another",
        ("https://data.example.org",): "s3://BUCKET/PREFIX",
        ("s3://user:word@bucket",): "s3://BUCKET/PREFIX",
    }
    for arguments, words in refused.items():
        assert words in sm_ops("data", "remote", *arguments, code=2).stderr
    sm_ops("data", "remote", str(tmp_path / "third"))
    done = sm_ops("data", "remote", "--restricted", str(shared), code=2)
    assert "marked as the remote default" in done.stderr


def test_a_folder_that_others_may_enter_takes_no_restricted_data(home, sm_ops, tmp_path):
    make_run(home)
    place = tmp_path / "shared"
    place.mkdir(mode=0o755)
    (place / "file").touch()
    done = sm_ops("data", "remote", "--restricted", str(place), code=2)
    assert f"Others may enter {place}" in done.stderr
    assert stat.S_IMODE(place.stat().st_mode) == 0o755
    place.chmod(0o700)
    sm_ops("data", "remote", "--restricted", str(place))
    place.chmod(0o750)
    assert "[remote-open]" in sm_ops("data", "push", code=2).stderr
    assert holding(place, ROW) == []


@pytest.mark.parametrize("change", [("data/1", "data/0"), ("md5: ", "md5: ../../../"), ("outs", "out")])
def test_files_of_another_format_or_from_elsewhere_are_refused(change, home, sm_ops):
    make_run(home)
    sm_ops("data", "push")
    path = home / "data" / "small" / "synthesize" / "train.jsonl.dvc"
    path.write_text(path.read_text().replace(*change))
    in_git(home, "-c", "user.name=a", "-c", "user.email=b", "commit", "-qam", "by hand")
    done = sm_ops("data", "checkout", "HEAD", code=2)
    assert "small/synthesize/train.jsonl.dvc is not of format 'data/1'" in done.stderr


def test_settings_by_hand_send_no_restricted_data_to_an_unmarked_place(home, sm_ops, tmp_path):
    make_run(home)
    sm_ops("data", "push")
    run = make_run(home, files(ROW + ROW))
    config = home / "data" / ".dvc" / "config"
    config.write_text(config.read_text().replace("../../restricted/data-remote", str(tmp_path / "open")))
    in_git(home, "-c", "user.name=a", "-c", "user.email=b", "commit", "-qam", "by hand")
    assert f"{tmp_path / 'open'}, is not there; mount it" in sm_ops("data", "push", code=2).stderr
    (tmp_path / "open").mkdir()
    done = sm_ops("data", "push", code=2)
    assert "is not marked as the remote restricted; mark it with: sm-ops data remote --restricted" in done.stderr
    assert not (tmp_path / "open" / "files").exists()
    assert run.links()["data"], "what was versioned stays so"
    sm_ops("data", "remote", "--restricted", str(tmp_path / "open"))
    sm_ops("data", "push")
    assert holding(tmp_path / "open", ROW)
    assert holding(tmp_path / "open", ROW + ROW)


def test_what_git_says_and_a_remote_lacks(home, sm_ops):
    assert remote_problems(home) == []
    make_run(home)
    assert remote_problems(home) == ["the data of 1 runs is not versioned; version it with: sm-ops data push"]
    sm_ops("data", "push")
    assert remote_problems(home) == []
    (gone,) = holding(home / "restricted" / "data-remote", ROW)
    (short,) = holding(home / "data-remote", PUBLIC)
    gone.unlink()
    short.chmod(0o600)
    short.write_bytes(PUBLIC[:-1])
    problems = remote_problems(home)
    assert [re.sub(r" \(.*\)", "", problem) for problem in problems] == [
        "the remote default lacks 1 of 2 data files; send them with: sm-ops data push",
        "the remote restricted lacks 1 of 1 data files; send them with: sm-ops data push",
    ]
    assert "small/synthesize/train.jsonl" in problems[1]
    assert "2 files sent" in sm_ops("data", "push").stderr
    assert remote_problems(home) == []


# ---- faults --------------------------------------------------------------------------------------------


def test_a_lost_repository_is_noticed_and_made_again(home, sm_ops):
    run = make_run(home)
    sm_ops("data", "push")
    shutil.rmtree(home / "data")
    assert remote_problems(home) == ["the data of 1 runs is not versioned; version it with: sm-ops data push"]
    assert run.id in sm_ops("data", "push").stdout
    assert remote_problems(home) == []


def test_what_a_killed_process_left_is_discarded(home, sm_ops):
    make_run(home)
    sm_ops("data", "push")
    (home / "data" / "small" / "synthesize" / "train.jsonl.dvc").write_text("half")
    (home / "data" / "other").mkdir()
    (home / "data" / "other" / "x.dvc").write_text("half")
    for lock in ("index.lock", "HEAD.lock", "refs/heads/main.lock"):
        (home / "data" / ".git" / lock).touch()
    make_run(home, files(ROW + ROW))
    sm_ops("data", "push")
    assert in_git(home, "status", "--porcelain") == ""
    assert "other" not in in_git(home, "ls-files")
    sm_ops("data", "ls", "small")


def test_a_repository_around_the_home_is_left_alone(home, sm_ops):
    around = home.parent
    for words in (
        ["init", "-q"],
        ["add", "mine.txt"],
        ["-c", "user.name=a", "-c", "user.email=b", "commit", "-qm", "x"],
    ):
        (around / "mine.txt").write_text("saved")
        subprocess.run(["git", "-C", str(around), *words], check=True)
    (around / "mine.txt").write_text("unsaved")
    make_run(home)
    sm_ops("data", "push")
    make_run(home, files(ROW + ROW))
    head = home / "data" / ".git" / "HEAD"
    head.rename(head.with_name("LOST"))
    assert "[git-failed]" in sm_ops("data", "push", code=2).stderr
    assert (around / "mine.txt").read_text() == "unsaved"
    head.with_name("LOST").rename(head)
    sm_ops("data", "push")
    assert (around / "mine.txt").read_text() == "unsaved"


def test_without_git_one_sentence(home, sm_ops, monkeypatch):
    run = make_run(home)
    monkeypatch.setenv("PATH", str(home))
    done = sm_ops("data", "push", code=2)
    assert done.stderr.startswith("sm-ops: There is no program git")
    assert run.links()["data"] is None


def test_runs_whose_data_is_gone_are_left(home, sm_ops):
    run = make_run(home)
    shutil.rmtree(home / "store" / "mask")
    assert sm_ops("data", "push").stderr.startswith("0 runs versioned")
    assert run.links()["data"] is None


# ---- the chain -----------------------------------------------------------------------------------------


@pytest.mark.unit
def test_show_prints_the_chain_and_finds_the_run_by_each_of_its_links(home, sm_ops):
    run = make_run(home)
    keep(run, home)
    run.link(mlflow={"d1ge57": "0123456789abcdef0123456789abcdef"})
    head = subprocess.check_output(["git", "-C", str(ROOT), "rev-parse", "HEAD"], text=True).strip()
    chain = json.loads(sm_ops("show", run.id, "--json").stdout)
    assert chain.pop("git").removesuffix("-dirty") == head
    assert chain == {
        "run": run.id,
        "data": in_git(home, "rev-parse", "HEAD"),
        "mlflow": "0123456789abcdef0123456789abcdef",
    }
    for name in (run.id[:7], head[:12], chain["data"][:12], chain["mlflow"]):
        assert f"run     {run.id}" in sm_ops("show", name).stdout
    message = in_git(home, "log", "-1", "--format=%B")
    assert f"Run: {run.id}" in message
    assert f"Code: {head}" in message


@pytest.mark.unit
def test_links_are_kept_one_by_one(home):
    run = make_run(home)
    run.link(git="c0ffee", data="abc")
    run.link(mlflow={"one": "1"})
    run.link(mlflow={"two": "2"}, data="def")
    expected = {"git": "c0ffee", "data": "def", "mlflow": {"one": "1", "two": "2"}}
    assert Run.load(run.folder).links() == expected
    assert fs.read_json(run.folder / "links.json") == expected
