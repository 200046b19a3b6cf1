"""The whole life of a release by the command line alone, as three people and an outsider live it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from calling import Called, call_cli

from sm_ops.core import fs

Tool = Callable[..., Called]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in: records without values, what they were made from, and what people say of them."""
    folder = tmp_path / "desk"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("SM_OPS_HOME", str(folder / "home"))
    monkeypatch.setenv("SM_OPS_KEY_PASSPHRASE", "three plain words")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    for number in ("1", "2"):
        rows = [{"id": f"n{row}", "text": f"note {number}.{row}: call [NAME] back"} for row in range(3)]
        write_rows(folder / f"notes{number}.jsonl", rows)
        write_rows(
            folder / f"source{number}.jsonl",
            [
                row | {"text": row["text"].replace("[NAME]", f"Zyx Quort{row['id']}"),
                       "spans": [{"start": 15, "end": 26, "label": "NAME"}]}
                for row in rows
            ],
        )  # fmt: skip
    fs.write_json(folder / "about.yaml", {"title": "Notes", "description": "Notes of calls.", "languages": ["en"]})
    checks = {"known_values": {}, "schema": {}, "provenance": {}}
    fs.write_json(folder / "policy.yaml", {"format": "policy/1", "checks": checks})
    return folder


def write_rows(path: Path, rows: list[dict]) -> None:
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


@pytest.fixture
def tool(desk: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Tool:
    """`sm-ops release WORDS`, which ends with an exit code that is asked for, and tells no value whatever it says."""

    def call(line: str, *more: str, code: int = 0) -> Called:
        done = call_cli(monkeypatch, capsys, "release", *line.split(), *more)
        assert done.returncode == code, (line, done)
        assert "Quort" not in done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done

    return call


def next_of(done: Called) -> str:
    (said,) = re.findall("^next: (.*)$", done.stderr, re.M)
    return said


def listed(tool: Tool) -> dict[str, str]:
    rows = json.loads(tool("ls --json").stdout)
    assert all({"name", "version", "state", "path"} <= row.keys() for row in rows)
    return {f"{row['name']}@{row['version']}": row["state"] for row in rows}


def people(tool: Tool) -> None:
    for name in ("ada", "ben", "cleo"):
        tool(f"key new {name}")
    tool("key add ben.pub --role privacy")
    tool("key add cleo.pub --role data")
    tool("key add ada.pub --role engineer --key ben.pem")
    digest = json.loads(tool("key ls --json").stdout)["proposal"]["digest"]
    tool(f"key sign --key cleo.pem --yes --digest {digest}")


def asked(tool: Tool, name: str) -> str:
    """The digest that is shown to who is to approve; where nobody can type an answer, nothing more happens."""
    shown = tool(f"approve {name} --key ben.pem", code=2)
    return re.findall("^digest ([0-9a-f]{64})$", shown.stdout, re.M)[0]


def build(tool: Tool, version: str) -> Called:
    return tool(
        f"build notes@{version} --data notes{version}.jsonl --source source{version}.jsonl --method redacted "
        "--about about.yaml --policy policy.yaml"
    )


def approved(tool: Tool, version: str) -> None:
    """From a build to its approval, each verb as the one before told."""
    name = f"notes@{version}"
    assert next_of(build(tool, version)) == f"sm-ops release check {name}"
    tool(f"request {name} --key ada.pem --reason early", code=2)  # wrong order
    failed = tool(f"check {name}", code=3)
    assert "provenance" in failed.stdout
    tool(f"check {name} --waive provenance --key ada.pem --reason ours", code=4)  # has not the role
    waived = tool(f"check {name} --waive provenance --key ben.pem --reason", "the notes are our own")
    assert next_of(waived).startswith(f"sm-ops release request {name} ")
    tool(f"publish {name} --to place", code=2)
    requested = tool(f"request {name} --key ada.pem --reason", "wanted outside")
    assert next_of(requested).startswith(f"sm-ops release approve {name} ")
    tool(f"verify {name}", code=4)
    digest = asked(tool, name)
    tool(f"approve {name} --key ada.pem --yes --digest {digest}", code=4)  # asked for it
    tool(f"approve {name} --key cleo.pem --yes --digest {'0' * 64}", code=2)
    tool(f"approve {name} --key cleo.pem --yes --digest {digest}")
    tool(f"publish {name} --to place", code=4)
    last = tool(f"approve {name} --key ben.pem --yes --digest {digest}")
    assert next_of(last).startswith(f"sm-ops release publish {name} ")


@pytest.mark.slow
def test_the_whole_life_of_a_release(tool: Tool, desk: Path) -> None:
    people(tool)
    assert listed(tool) == {}
    approved(tool, "1")
    tool("verify notes@1")
    assert listed(tool) == {"notes@1": "approved"}

    published = tool("publish notes@1 --to place")
    assert published.stdout.strip() == f"{desk}/place/notes@1"
    assert next_of(published).startswith("sm-ops release fetch ")
    assert "already" in tool("publish notes@1 --to place").stderr
    outsider_fetches(tool, "notes@1", "first")

    approved(tool, "2")
    tool("publish notes@2 --to place")
    assert listed(tool) == {"notes@1": "superseded", "notes@2": "published"}
    tool("expire")
    assert listed(tool) == {"notes@1": "superseded", "notes@2": "published"}

    tool("revoke notes@2 --key ben.pem --reason", "a name was found")
    assert listed(tool)["notes@2"] == "revoked"
    for refused in ("verify notes@2", f"verify {desk}/place/notes@2", "publish notes@2 --to place"):
        assert "REVOKED" in tool(refused, code=5).stderr
    tool("fetch place notes@2 --out second", code=5)
    assert not (desk / "second").exists()
    assert not (desk / "place" / "notes@2" / "data").exists()
    outsider_fetches(tool, "notes@1", "again")

    lines = json.loads(tool("log notes@2 --verify --json").stdout)
    assert [(line["action"], line["actor"]["name"]) for line in lines] == [
        ("build", "builder"),
        ("check", "builder"),
        ("waive", "ben"),
        ("request", "ada"),
        ("approve", "cleo"),
        ("approve", "ben"),
        ("publish", "builder"),
        ("revoke", "ben"),
    ]


def outsider_fetches(tool: Tool, name: str, out: str) -> None:
    """Somebody who was given the list of approvers, and has nothing else of the home."""
    tool(f"fetch place {name} --out {out}")
    Path("approvers.yaml").write_bytes(Path("home/releases/approvers.yaml").read_bytes())
    home = os.environ["SM_OPS_HOME"]
    os.environ["SM_OPS_HOME"] = str(Path("nowhere").absolute())
    try:
        assert "every byte is what was signed" in tool(f"verify {out} --approvers approvers.yaml").stdout
        shard = Path(out, "data", f"notes{name[-1]}.jsonl")
        whole = shard.read_bytes()
        shard.write_bytes(whole.replace(b"back", b"BACK", 1))
        assert shard.name in tool(f"verify {out} --approvers approvers.yaml", code=5).stderr
        shard.write_bytes(whole)
    finally:
        os.environ["SM_OPS_HOME"] = home


@pytest.mark.slow
def test_a_rejected_release_can_be_asked_for_again(tool: Tool) -> None:
    people(tool)
    approved(tool, "1")
    tool("reject notes@1 --key cleo.pem --reason", "not yet")
    assert listed(tool) == {"notes@1": "rejected"}
    tool("publish notes@1 --to place", code=4)
    tool("request notes@1 --key ada.pem --reason", "now it is time")
    tool("publish notes@1 --to place", code=4)
    digest = asked(tool, "notes@1")
    for name in ("ben", "cleo"):
        tool(f"approve notes@1 --key {name}.pem --yes --digest {digest}")
    tool("publish notes@1 --to place")
    assert listed(tool) == {"notes@1": "published"}


def test_other_content_needs_another_version(tool: Tool, desk: Path) -> None:
    build(tool, "1")
    assert "already" in build(tool, "1").stderr
    write_rows(desk / "notes1.jsonl", [{"id": "n1", "text": "something else"}])
    refused = tool(
        "build notes@1 --data notes1.jsonl --source source1.jsonl --method redacted "
        "--about about.yaml --policy policy.yaml",
        code=2,
    )
    assert "Build another version" in refused.stderr
    assert listed(tool) == {"notes@1": "built"}
