"""Planting: every place, in hosts of every make, keeps the program whole and the span exact."""

from __future__ import annotations

import ast
from random import Random

import pytest

from sm_ops.data.planting import PLACES, plant, unplanted

pytestmark = pytest.mark.unit

VALUE = "mkowalski_a1b2c3"
NAMES = ("username", "owner")
HOSTS = {
    "function": "def f(a, b=(1), *, c=None):\n    'Doc.'\n    x = a\n    for y in b:\n        x += y\n    return x\n",
    "no arguments": "@d\n@e(1)\nasync def f():\n    await g()\n    return 1\n",
    "keywords only": "def f(**k):\n    return k\n",
    "variadic": "def f(*a, **k):\n    return a, k",
    "positional only": "def f(a, /):\n    return a\n",
    "keyword without default": "def f(*, a):\n    return a\n",
    "annotated": "def f(\n    a: int = 1,  # one\n) -> int:\n    return a\n",
    "one line": "def f(a): return a\n",
    "wide characters": "def f(a='é𝔘', ü='ß'):\n    é = '''\n𝔘'''\n    return é\n",
    "tabs and CRLF": "def f(a):\r\n\tb = a\r\n\tif b:\r\n\t\treturn 1\r\n",
    "module": "'''Doc.'''\nfrom __future__ import annotations\nimport x\n\n@d\nclass C:\n    pass\n\nv = C()\n",
    "imports alone": "import a\nimport b",
    "form feed": "x = 1\n\x0c\ndef f(a):\n    return a\n\ny = 2\n",
    "its own names": "def f(username, owner, settings):\n    return username\n",
}


@pytest.mark.parametrize("host", HOSTS.values(), ids=HOSTS)
@pytest.mark.parametrize("place", PLACES)
def test_planted_programs_are_whole_and_exact(place, host):
    for seed in range(25):
        planted = plant(host, VALUE, NAMES, [place], Random(seed))
        if planted is None:
            assert place == "default"
            continue
        assert planted.place == place
        assert planted.text[planted.start : planted.end] == VALUE
        assert planted.text.count(VALUE) == 1
        assert unplanted(planted.text, [planted.inserted]) == host
        compile(planted.text, "planted", "exec")
        assert ("\r\n" in host) == ("\r\n" in planted.text)
        assert planted.text.replace("\r\n", "").count("\r") == 0


DEFAULTS = {
    "function": ", c=None, {}='",
    "no arguments": "f({}='",
    "variadic": "*a, {}='",
    "positional only": "a, {}='",
    "keyword without default": "*, a, {}='",
    "annotated": "a: int = 1, {}: str = '",
    "wide characters": "ü='ß', {}='",
}


@pytest.mark.parametrize(("host", "expected"), DEFAULTS.items())
def test_a_default_stands_behind_the_last_parameter_that_takes_one(host, expected):
    found = plant(HOSTS[host], VALUE, ["owner"], ["default"], Random(1))
    assert found is not None
    assert expected.format("owner") in found.text.replace('"', "'").replace("''Doc.''", "")


@pytest.mark.parametrize("host", ["keywords only", "module", "imports alone"])
def test_hosts_without_room_for_a_default_take_the_next_place(host):
    assert plant(HOSTS[host], VALUE, NAMES, ["default"], Random(0)) is None
    planted = plant(HOSTS[host], VALUE, NAMES, ["default", "comment"], Random(0))
    assert planted is not None
    assert planted.place == "comment"


def test_a_default_that_would_land_in_brackets_is_given_up():
    assert plant("def f(a=(1)):\n    return a\n", VALUE, NAMES, ["default"], Random(0)) is None


def evaluated(place, seed):
    planted = plant(HOSTS["function"], VALUE, ["owner"], [place], Random(seed))
    assert planted is not None
    tree = ast.parse(planted.text)
    constants = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    return planted, tree, [value for value in constants if isinstance(value, str) and VALUE in value]


@pytest.mark.parametrize("seed", range(8))
def test_literals_are_what_their_place_says(seed):
    import configparser
    import json
    import tomllib

    for place in ("assignment", "default", "dict", "call", "attribute"):
        assert evaluated(place, seed)[2] == [VALUE]
    assert evaluated("comment", seed)[2] == []
    _, _, (text,) = evaluated("json", seed)
    assert json.loads(text)["owner"] == VALUE
    _, _, (text,) = evaluated("toml", seed)
    assert next(iter(tomllib.loads(text).values()))["owner"] == VALUE
    _, _, (text,) = evaluated("ini", seed)
    parser = configparser.ConfigParser()
    parser.read_string(text)
    assert parser[parser.sections()[0]]["owner"] == VALUE
    yaml = pytest.importorskip("yaml")
    _, _, (text,) = evaluated("yaml", seed)
    assert next(iter(yaml.safe_load(text).values()))["owner"] == VALUE
    _, tree, _ = evaluated("attribute", seed)
    assert any(isinstance(node, ast.ClassDef) for node in tree.body)


def test_positions_vary():
    texts = {plant(HOSTS["function"], VALUE, NAMES, ["assignment"], Random(seed)).inserted[0] for seed in range(60)}
    assert len(texts) >= 4


def test_names_that_the_host_uses_are_avoided():
    planted = plant(HOSTS["its own names"], VALUE, NAMES, ["assignment"], Random(0))
    assert planted is not None
    assert "username_value = " in planted.text
