"""Gitleaks' adapter over a stand-in program that writes reports as gitleaks does (its columns count bytes)."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from look_alikes import token

from sm_ops.core import registry
from sm_ops.core.errors import InputError

pytestmark = pytest.mark.unit

STAND_IN = r"""#!{python} -SE
import json, pathlib, re, sys
assert sys.argv[1] == "dir" and "--exit-code=0" in sys.argv and "--ignore-gitleaks-allow" in sys.argv
report = next(a.partition("=")[2] for a in sys.argv if a.startswith("--report-path="))
leaks = []
for path in pathlib.Path(sys.argv[2]).iterdir():
    text = path.read_bytes()
    for match in re.finditer(rb'token = "(?P<s>[^"]+)"|(?P<k>-----BEGIN.*?-----END[^\n]*-----)', text, re.S):
        secret = match["s"] or match["k"]
        before = text[: match.start()]
        start, line = 1 + before.count(b"\n"), before.rpartition(b"\n")[0]
        leaks.append({{
            "RuleID": "generic-api-key", "StartLine": start, "EndLine": start + match[0].count(b"\n"),
            "StartColumn": match.start() - len(line) + 1, "EndColumn": match.end() - len(line),
            "Match": match[0].decode(), "Secret": secret.decode(), "File": str(path), "Entropy": 4.0,
        }})
pathlib.Path(report).write_text({answer})
sys.exit({code})
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Put the stand-in on the path: what it writes and with which code it ends may be chosen."""

    def install(answer="json.dumps(leaks)", code="0", **settings):
        path = tmp_path / "gitleaks"
        path.write_text(STAND_IN.format(python=sys.executable, answer=answer, code=code))
        path.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))
        return registry.load("detector", "gitleaks").load(settings)

    return install


def values(text, detections):
    return [text[each.start : each.end] for each in detections]


def test_secrets_are_code_points_of_their_own_texts(program):
    one, two = token(1), token(2)
    texts = [
        f'😀 token = "{one}" # 가상\ntoken = "{two}"',
        "nothing",
        f'x\r\n\r\ny = "{two}"\r\ntoken = "{two}"',
    ]
    first, none, last = program().detect(texts)
    assert (values(texts[0], first), none) == ([one, two], [])
    assert values(texts[2], last) == [two]
    assert texts[2][: last[0].start].count("\n") == 3  # the one of its line, not the one two lines above
    assert {(each.label, each.score) for each in [*first, *last]} == {("secret", 1.0)}


def test_a_secret_over_several_lines_is_one_span(program):
    key = f"-----BEGIN X-----\n{token(3)}\n{token(4)}\n-----END X-----"
    text = f"é\n{key}\nrest"
    (found,) = program().detect([text])
    assert values(text, found) == [key]


def test_a_secret_that_was_decoded_first_masks_its_lines(program):
    leak = '{"File": "0.txt", "Secret": "decoded", "StartLine": 2, "EndLine": 2}'
    text = "first\nZGVjb2RlZA==\nlast"
    (found,) = program(f"json.dumps([{leak}])").detect([text])
    assert values(text, found) == ["ZGVjb2RlZA==\n"]


def test_rules_come_from_the_setting_alone(program, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITLEAKS_CONFIG", "other.toml")
    Path("rules.toml").touch()
    told = 'next(a.partition("=")[2] for a in [*sys.argv, "--config=none"] if a.startswith("--config="))'
    reported = f'{{"File": "0.txt", "Secret": {told}, "StartLine": 1, "EndLine": 1}}'
    unseen = f'json.dumps([{reported}] if "GITLEAKS_CONFIG" not in __import__("os").environ else [])'
    text = f"none {tmp_path / 'rules.toml'}"
    for settings, used in (({}, "none"), ({"config": "rules.toml"}, str(tmp_path / "rules.toml"))):
        assert values(text, program(unseen, **settings).detect([text])[0]) == [used]
    with pytest.raises(InputError, match=r"no file of rules at 'none.toml'"):
        program(config="none.toml")


def test_nothing_found_is_an_empty_or_a_null_report(program):
    assert program().detect(["a", "b"]) == [[], []]
    assert program(answer="'null'").detect(["a"]) == [[]]


@pytest.mark.parametrize(
    ("answer", "code", "what"),
    [
        ("'{'", "0", "wrote a report that cannot be read"),
        ('json.dumps([{"File": "0.txt"}])', "0", "wrote a report that cannot be read"),
        ('json.dumps([{"File": "7.txt", "Secret": "x", "StartLine": 1, "EndLine": 1}])', "0", "cannot be read"),
        ("'[]'", "126", "ended with code 126"),
    ],
)
def test_a_program_that_fails_is_one_sentence(program, answer, code, what):
    with pytest.raises(InputError, match=rf"gitleaks .*{what}.*; the detector needs version 8\.19") as caught:
        program(answer, code).detect(["text"])
    assert caught.value.__cause__ is None


def test_no_program_is_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match=r"not on the path; install version 8\.19") as caught:
        registry.load("detector", "gitleaks").load({})
    assert caught.value.code == "missing-program"
