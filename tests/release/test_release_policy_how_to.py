"""The how-to of policies: its files are written, its commands run in order, and its check is a check."""

from __future__ import annotations

import json
import re
import shlex
from types import SimpleNamespace

from calling import call_cli
from driving import ROOT
from planted import bundle

from sm_ops.core import registry
from sm_ops.core.config.release import CHECKS

PAGE = (ROOT / "docs" / "how-to" / "release-policy.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.S | re.M)


def test_every_command_does_what_the_page_says(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SM_OPS_KEY_PASSPHRASE", "three plain words")
    for name, language in (("my_policy.yaml", "policy"), ("notes.jsonl", "jsonl"), ("about.yaml", "about")):
        (tmp_path / name).write_text(*blocks(language), encoding="utf-8")
    done = None
    for line in "".join(blocks("sh")).splitlines():
        command, _, expected = line.partition("  # exit code ")
        done = call_cli(monkeypatch, capsys, *shlex.split(command)[1:])
        assert done.returncode == int(expected or 0), (line, done.stderr)
        assert "Krollberg" not in done.stdout + done.stderr
    assert done is not None
    found = json.loads(done.stdout)
    statuses = {each["name"]: each["status"] for each in found["checks"]}
    assert statuses == dict.fromkeys(statuses, "pass") | {"canaries": "unmeasured"}
    assert found["checks"][2]["waived"] == {"by": "ben", "reason": "no model is trained on these notes"}


def test_every_check_and_setting_is_on_the_page():
    rows = dict(re.findall(r"^\| `(\w+)` \| .* \|(.*)\|$", PAGE, re.M))
    assert set(registry.members("check")) <= rows.keys()
    for name, section in CHECKS.items():
        for setting in section.model_fields.keys() - {"severity"}:
            assert f"`{setting}`" in rows[name], (name, setting)


def test_the_example_is_a_check(tmp_path):
    (block,) = blocks("python")
    example: dict = {}
    exec(compile(block, "example", "exec"), example)
    found = [example["run"](bundle(tmp_path), SimpleNamespace(characters=limit)) for limit in (48, 49, 50)]
    assert [each.status for each in found] == [
        "fail",
        "pass",
        "pass",
    ]
