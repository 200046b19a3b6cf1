"""A fetched model stands for its hub name in every door, and counts by what it holds, not by where it lies."""

from __future__ import annotations

import pytest

from sm_ops.core.config import load_pipeline, resolve
from sm_ops.core.fetched import HUB_NAMES, located
from sm_ops.core.fingerprint import payload
from sm_ops.plans import plan

pytestmark = pytest.mark.unit

NAME = HUB_NAMES["smollm2"]


def config(**base):
    values = resolve(load_pipeline("small"))
    return {**values, "base": {**values["base"], "name": NAME, **base}}


def fetched(home, content="{}"):
    folder = home / "models" / "smollm2"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(content)
    return folder


def test_base_and_references_name_the_folder(tmp_path):
    folder = fetched(tmp_path)
    given = config()
    given["references"] = {name: {**section, "model": NAME} for name, section in given["references"].items()}
    found = located(given, tmp_path)
    assert found["base"]["name"] == str(folder)
    assert {section["model"] for section in found["references"].values()} == {str(folder)}
    assert given["base"]["name"] == NAME


def test_other_names_pinned_revisions_and_models_not_fetched_stay(tmp_path):
    assert located(config(), tmp_path) == config()
    fetched(tmp_path)
    for base in ({"name": None}, {"name": "gpt2"}, {"revision": "0a1b"}):
        assert located(config(**base), tmp_path) == config(**base)


def test_a_home_in_the_present_folder_is_named_relative_to_it(tmp_path, monkeypatch):
    fetched(tmp_path / ".sm-ops")
    monkeypatch.chdir(tmp_path)
    assert located(config(), tmp_path / ".sm-ops")["base"]["name"] == ".sm-ops/models/smollm2"


def identity(home, monkeypatch):
    monkeypatch.setenv("SM_OPS_HOME", str(home))
    step = next(step for step in plan(config()) if step.name == "train@unmasked-0")
    return payload(step, {})


def test_identity_is_the_content(tmp_path, monkeypatch):
    for home in ("here", "there"):
        fetched(tmp_path / home)
    fetched(tmp_path / "other", content="[]")
    here, there, other, absent = (identity(tmp_path / home, monkeypatch) for home in ("here", "there", "other", "none"))
    assert here == there
    assert here["places"]["base.name"] != other["places"]["base.name"]
    assert absent["settings"]["base"]["name"] == NAME
    assert absent["places"] == {}
