"""The registry lists without importing, imports on use, and answers in words."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint

import pytest

from sm_ops.core import registry
from sm_ops.core.errors import InputError

pytestmark = pytest.mark.unit


@pytest.fixture
def fresh():
    registry.members.cache_clear()
    yield
    registry.members.cache_clear()


def test_listing_imports_no_member():
    code = (
        "import sys; from sm_ops.core import registry\n"
        "for kind in registry.KINDS: assert registry.members(kind), kind\n"
        "packages = tuple(k.package + '.' for k in registry.KINDS.values())\n"
        "print([m for m in sys.modules if m.startswith(packages) or m in ('torch', 'numpy')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_file_names_are_public_names():
    assert registry.members("rule")["global"] == "sm_ops.masking.rules.global_"
    assert {"hf", "ngram", "file"} <= registry.members("reference").keys()
    assert not any(name.startswith("_") for kind in registry.KINDS for name in registry.members(kind))


@pytest.mark.parametrize("kind", registry.KINDS)
def test_every_member_offers_what_its_kind_requires(kind):
    for name in registry.members(kind):
        assert registry.load(kind, name)


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(InputError, match=r"There is no dataset 'code_pi'; the nearest is code_pii"):
        registry.load("dataset", "code_pi")
    with pytest.raises(InputError, match=r"no rule 'zzzz'; known are global"):
        registry.load("rule", "zzzz")


def outsider(monkeypatch, folder, text: str, name: str = "mine") -> None:
    (folder / f"{name}_rule.py").write_text(text)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, f"{name}_rule", raising=False)
    point = EntryPoint(name, f"{name}_rule", "sm_ops.rule")
    monkeypatch.setattr(registry, "entry_points", lambda group: [point] if group == "sm_ops.rule" else [])


def test_an_incomplete_member_is_refused(tmp_path, monkeypatch, fresh):
    outsider(monkeypatch, tmp_path, "select = 3\ndef levels(): ...\ndef at(): ...")
    with pytest.raises(InputError, match=r"'mine' in mine_rule lacks select"):
        registry.load("rule", "mine")


def test_an_outside_member_is_found_by_its_entry_point(tmp_path, monkeypatch, fresh):
    outsider(monkeypatch, tmp_path, "def select(): ...\ndef levels(): ...\ndef at(): ...")
    assert registry.load("rule", "mine").__name__ == "mine_rule"


def test_an_outside_member_replaces_none_of_ours(tmp_path, monkeypatch, fresh):
    outsider(monkeypatch, tmp_path, "", name="global")
    assert registry.members("rule")["global"] == "sm_ops.masking.rules.global_"


def test_a_missing_package_is_named(tmp_path, monkeypatch, fresh):
    outsider(monkeypatch, tmp_path, "import not_installed_here")
    with pytest.raises(InputError, match="'mine' needs the package not_installed_here"):
        registry.load("rule", "mine")
