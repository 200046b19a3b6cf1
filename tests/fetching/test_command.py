"""`sm-ops init --model`: where the model is, and what to type next."""

from __future__ import annotations

import json

import pytest
from driving import run_cli

pytestmark = pytest.mark.unit


def test_the_folder_is_printed_and_the_next_command_told(tmp_path):
    folder = tmp_path / "models" / "smollm2"
    folder.mkdir(parents=True)
    (folder / "origin.json").write_text(json.dumps({"source": "the hub, revision 0a1b"}))
    done = run_cli("init", "--model", "smollm2", home=tmp_path)
    assert (done.returncode, done.stdout) == (0, f"{folder}\n")
    assert done.stderr.splitlines() == [
        "HuggingFaceTB/SmolLM2-135M-Instruct: was here already, from the hub, revision 0a1b",
        "next: sm-ops run small",
    ]


def test_an_unknown_model_is_refused_with_the_nearest(tmp_path):
    done = run_cli("init", "--model", "smolm", home=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "'smolm'" in done.stderr
    assert "nearest is smollm2" in done.stderr
    assert not (tmp_path / "models").exists()
