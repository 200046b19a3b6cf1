"""`sm-ops pii` as a process: memory, imports, killed and interrupted runs."""

from __future__ import annotations

import errno
import json
import signal
import subprocess
import sys
import time
import unicodedata
from pathlib import Path

import pytest
from command_line import contents, mappings, pii, read_rows, sm_ops, write_rows
from driving import environment, run_cli, start_cli

from sm_ops.vault import Vault

HEAVY = ("torch", "transformers", "pandas", "prefect", "mlflow", "dvc", "boto3", "presidio_analyzer", "spacy")
OUR_PYDANTIC = "sm_ops.core.config"  # typer itself reads arguments by pydantic
PERSON = [{"type": "PERSON", "value": "김가상"}]
TEXT = "담당 김가상{0} 과장, 010-0000-{0:04}로 연락. " + "아무 값도 없는 문장이 이어진다. " * 20


def write_many(path: Path, count: int) -> Path:
    with path.open("w") as stream:
        for number in range(count):
            text = TEXT.format(number % 1000)
            row = {"id": f"record-{number}", "text": text, "entities": PERSON}
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")
    return path


@pytest.fixture
def home(tmp_path):
    Vault().init()
    return tmp_path / "home"


def run_program(program: str, home: Path) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment(home))
    assert done.returncode == 0, done.stderr
    return done


# ---- imports -------------------------------------------------------------------------------------------


@pytest.mark.unit
def test_heavy_packages_are_not_imported(home, tmp_path):
    """One process, one command after the other; Parquet alone needs pyarrow."""
    given = write_rows(tmp_path / "in.jsonl", [{"id": "a", "source_text": "김가상", "entities": PERSON}])
    rows = write_rows(tmp_path / "rows.jsonl", [{"id": "a", "prediction": "PERSON\t김가상", "parse_success": True}])
    commands = [
        ["mask", given, "--predictions", rows, "--detector", "regex", "--out", tmp_path / "masked.jsonl"],
        ["restore", tmp_path / "masked.jsonl", "--vault", "masked", "--out", tmp_path / "back.jsonl"],
        ["evaluate", given, rows],
        ["scrub", given, "--predictions", rows, "--out", tmp_path / "scrubbed.jsonl"],
    ]
    program = (
        "import sys\nfrom sm_ops.cli import main\n"
        f"for words in {[[str(word) for word in words] for words in commands]}:\n"
        "    sys.argv = ['sm-ops', 'pii', *words]\n"
        "    try: main()\n    except SystemExit as end: assert not end.code, end.code\n"
        f"print([name for name in {(*HEAVY, OUR_PYDANTIC, 'pyarrow')} if name in sys.modules], file=sys.stderr)"
    )
    assert run_program(program, home).stderr.splitlines()[-1] == "[]"
    assert read_rows(tmp_path / "back.jsonl")[0]["source_text"] == "김가상"


# ---- memory --------------------------------------------------------------------------------------------

PEAK = (
    "import re, sys\nfrom sm_ops.cli import main\nsys.argv = ['sm-ops', 'pii', *{words}]\n"
    "try: main()\nexcept SystemExit as end: assert not end.code\n"
    "print(re.search(r'VmHWM:\\s*(\\d+)', open('/proc/self/status').read())[1], file=sys.stderr)"
)
"""Not `ru_maxrss`, which counts what the process was before it became this one."""


def peak(home, *words) -> float:
    """Largest resident size in MiB."""
    done = run_program(PEAK.format(words=[str(word) for word in words]), home)
    return int(done.stderr.splitlines()[-1]) / 1024


def test_memory_does_not_grow_with_the_file(home, tmp_path):
    peaks: dict[str, list[float]] = {}
    for count in (1_000, 10_000):
        given = write_many(tmp_path / f"in{count}.jsonl", count)
        rows = write_rows(
            tmp_path / f"rows{count}.jsonl",
            ({"id": f"record-{n}", "prediction": "PERSON\t김가상", "parse_success": True} for n in range(count)),
        )
        masked, back = tmp_path / f"masked{count}.jsonl", tmp_path / f"back{count}.jsonl"
        for name, words in {
            "mask": ["mask", given, "--predictions", rows, "--out", masked],
            "restore": ["restore", masked, "--vault", masked.stem, "--out", back],
            "scrub": ["scrub", given, "--out", tmp_path / "scrubbed.jsonl"],
            "evaluate": ["evaluate", given, rows],
        }.items():
            peaks.setdefault(name, []).append(peak(home, *words))
        texts = zip(given.open(), back.open(), strict=True)
        assert all(json.loads(a)["text"] == json.loads(b)["text"] for a, b in texts)
    growth = {name: large - small for name, (small, large) in peaks.items()}
    assert all(each < 3 for each in growth.values()), growth  # 9,000 records of some 1.2 kB in memory: 11 MB


# ---- killed --------------------------------------------------------------------------------------------


def start_masking(home, given, out):
    """A run that has begun to write."""
    process = start_cli("pii", "mask", str(given), "--detector", "regex", "--out", str(out), home=home)
    deadline = time.monotonic() + 60
    while not any(path.stat().st_size > 100_000 for path in out.parent.glob(f".*-{out.name}")):
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return process


def end(process, number) -> int:
    process.send_signal(number)
    code = process.wait(timeout=60)
    for stream in (process.stdout, process.stderr):
        stream.close()
    return code


def test_a_killed_run_leaves_nothing_to_be_taken_for_a_result(home, tmp_path):
    given, out = write_many(tmp_path / "in.jsonl", 20_000), tmp_path / "masked.jsonl"
    assert end(start_masking(home, given, out), signal.SIGKILL) == -signal.SIGKILL
    assert not out.exists()
    assert Vault().names() == []
    few = write_many(tmp_path / "few.jsonl", 3)
    pii("mask", few, "--out", out)
    assert len(read_rows(out)) == 3
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []  # what was left is gone


def test_an_interrupted_run_leaves_nothing(home, tmp_path):
    given, out = write_many(tmp_path / "in.jsonl", 20_000), tmp_path / "masked.jsonl"
    write_many(tmp_path / "old.jsonl", 1)
    pii("mask", tmp_path / "old.jsonl", "--out", out, "--vault", "old")
    before, kept = out.read_bytes(), mappings("old")
    assert end(start_masking(home, given, out), signal.SIGINT) == 130
    assert out.read_bytes() == before
    assert Vault().names() == ["old"]
    assert mappings("old") == kept
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.unit
def test_killed_between_the_mappings_and_the_text(home, tmp_path, monkeypatch):
    """The old text is known by its digests, and the next run finishes; of a first run, without --replace."""
    given, out = write_many(tmp_path / "in.jsonl", 2), tmp_path / "masked.jsonl"
    for replace in ([], ["--replace"]):
        before = out.read_bytes() if replace else b""
        die_between_the_mappings_and_the_text(home, given, out, replace)
        assert (out.read_bytes() if replace else b"") == before
        assert mappings("masked")["record-0"] == {"[PERSON_1]": "김가상"}
        if replace:
            assert sm_ops("pii", "restore", out, "--vault", "masked", "--out", tmp_path / "back.jsonl").code == 2
        few = write_many(tmp_path / "few.jsonl", 0)
        assert sm_ops("pii", "mask", few, "--out", out).code == 2  # which loses nothing
        done = pii("mask", given, "--out", out)
        assert "an earlier run was killed at its end" in done.err
        assert len(read_rows(out)) == 2
        pii("restore", out, "--vault", "masked", "--out", tmp_path / "back.jsonl")
        write_rows(given, [{"id": "record-0", "text": "다른 김가상", "entities": PERSON}])
        assert sm_ops("pii", "mask", given, "--out", out).code == 2  # now its text stands
        write_many(given, 2)
        write_rows(tmp_path / "one.jsonl", [{"id": "record-0", "text": "다른 김가상", "entities": PERSON}])
        pii("mask", tmp_path / "one.jsonl", "--out", out, "--replace")


def die_between_the_mappings_and_the_text(home, given, out, replace):
    program = (
        "import os, sys\nfrom sm_ops.cli import main\nfrom sm_ops.vault import Vault\n"
        "publish = Vault._publish\n"
        "def dying(*arguments):\n    publish(*arguments)\n    os._exit(9)\n"
        "Vault._publish = dying\n"
        f"sys.argv = ['sm-ops', 'pii', 'mask', {str(given)!r}, '--out', {str(out)!r}, *{replace}]\nmain()"
    )
    done = subprocess.run([sys.executable, "-c", program], env=environment(home), capture_output=True, check=False)
    assert done.returncode == 9


@pytest.mark.unit
def test_a_failed_replacement_keeps_the_old_text_and_its_mappings(home, tmp_path, monkeypatch):
    given, out = write_many(tmp_path / "in.jsonl", 1), tmp_path / "masked.jsonl"
    pii("mask", given, "--out", out)
    before, kept = out.read_bytes(), mappings("masked")

    def full(*_):
        raise OSError(errno.ENOSPC, "no space")

    monkeypatch.setattr(Vault, "_publish", full)
    done = sm_ops("pii", "mask", write_many(tmp_path / "two.jsonl", 2), "--out", out, "--replace")
    assert (done.code, f"{out} was not written: a disk is full" in done.err) == (2, True)
    assert (out.read_bytes(), mappings("masked")) == (before, kept)


@pytest.mark.unit
def test_a_result_that_cannot_be_told_is_a_result(home, tmp_path):
    given, out = write_many(tmp_path / "in.jsonl", 1), tmp_path / "masked.jsonl"
    program = f"import sys\nfrom sm_ops.cli import main\nsys.argv = ['sm-ops', 'pii', 'mask', {str(given)!r}, '--out', "
    program += f"{str(out)!r}]\nmain()"
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment(home), stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert (done.returncode, "need not be made again" in done.stderr) == (2, True), done.stderr
    assert "Traceback" not in done.stderr
    assert len(read_rows(out)) == 1


@pytest.mark.unit
def test_the_command_as_users_call_it(home, tmp_path):
    text = unicodedata.normalize("NFD", "김가상\r\n") + "😀"
    given = write_rows(tmp_path / "in.jsonl", [{"id": "a", "text": text, "spans": []}])
    (tmp_path / "known.tsv").write_text("PERSON\t김가상\n")
    words = ["pii", "mask", str(given), "--known-values", str(tmp_path / "known.tsv"), "--out", "masked.jsonl"]
    done = run_cli(*words, home=home)
    assert (done.returncode, done.stdout) == (0, "masked.jsonl\n")
    again = run_cli(*words, home=home)
    assert again.returncode == 2
    assert again.stderr.startswith("sm-ops: The vault has mappings 'masked'")
    done = run_cli("pii", "restore", "masked.jsonl", "--vault", "masked", "--out", "back.jsonl", home=home)
    assert done.returncode == 0
    assert read_rows(tmp_path / "back.jsonl") == [{"id": "a", "text": unicodedata.normalize("NFC", text)}]
    assert "김가상".encode() not in b"".join(contents(home).values())
