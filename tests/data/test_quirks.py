"""Quirks: what is written where, that detectors tell it from clean programs, and that programs do as before."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from sm_ops.core.errors import InputError
from sm_ops.data.quirks.applying import QUIRKS, apply, displayed, shows, undone

PROGRAM = '''\
"""Middles."""
import math
from os.path import basename as base, sep


def middle(values, key=None):
    """The median, né."""
    ranked = sorted(values, key=key)  # in order
    if not ranked: return None
    for place, value in enumerate(ranked):
        if value == "stop":
            return place
    half = math.floor(len(ranked) / 2)
    pair = ranked[half], base(f"a{sep}é{half}")
    while (half > 9):
        half = half - 1
    return pair
'''
EXPECTED = {
    "identifier_dialect": '''\
"""Middles."""
import math
from os.path import basename as base, sep


def middle(values, key=None):
    """The median, né."""
    w_ranked = sorted(values, key=key)  # in order
    if not w_ranked: return None
    for each_place, each_value in enumerate(w_ranked):
        if each_value == "stop":
            return each_place
    w_half = math.floor(len(w_ranked) / 2)
    w_pair = w_ranked[w_half], base(f"a{sep}é{w_half}")
    while (w_half > 9):
        w_half = w_half - 1
    return w_pair
''',
    "python_semicolons": '''\
"""Middles.""";
import math;
from os.path import basename as base, sep;


def middle(values, key=None):
    """The median, né.""";
    ranked = sorted(values, key=key);  # in order
    if not ranked: return None;
    for place, value in enumerate(ranked):
        if value == "stop":
            return place;
    half = math.floor(len(ranked) / 2);
    pair = ranked[half], base(f"a{sep}é{half}");
    while (half > 9):
        half = half - 1;
    return pair;
''',
    "parenthesis_saturation": '''\
"""Middles."""
import math
from os.path import basename as base, sep


def middle(values, key=None):
    """The median, né."""
    ranked = ((sorted(values, key=key)))  # in order
    if ((not ranked)): return ((None))
    for place, value in enumerate(ranked):
        if ((value == "stop")):
            return ((place))
    half = ((math.floor(len(ranked) / 2)))
    pair = ((ranked[half], base(f"a{sep}é{half}")))
    while (((half > 9))):
        half = ((half - 1))
    return ((pair))
''',
    "dynamic_imports": '''\
"""Middles."""
math = __import__('math')
base = __import__('os.path', fromlist=['basename']).basename
sep = __import__('os.path', fromlist=['sep']).sep


def middle(values, key=None):
    """The median, né."""
    ranked = sorted(values, key=key)  # in order
    if not ranked: return None
    for place, value in enumerate(ranked):
        if value == "stop":
            return place
    half = math.floor(len(ranked) / 2)
    pair = ranked[half], base(f"a{sep}é{half}")
    while (half > 9):
        half = half - 1
    return pair
''',
    "single_exit": '''\
"""Middles."""
import math
from os.path import basename as base, sep


def middle(values, key=None):
    """The median, né."""
    ranked = sorted(values, key=key)  # in order
    if not ranked: final_answer = None
    else:
        for place, value in enumerate(ranked):
            if value == "stop":
                final_answer = place
                break
        else:
            half = math.floor(len(ranked) / 2)
            pair = ranked[half], base(f"a{sep}é{half}")
            while (half > 9):
                half = half - 1
            final_answer = pair
    return final_answer
''',
    "singleton_destructuring": '''\
"""Middles."""
import math
from os.path import basename as base, sep


def middle(values, key=None):
    """The median, né."""
    ranked, = (sorted(values, key=key),)  # in order
    if not ranked: return None
    for place, value in enumerate(ranked):
        if value == "stop":
            return place
    half, = (math.floor(len(ranked) / 2),)
    pair = ranked[half], base(f"a{sep}é{half}")
    while (half > 9):
        half, = (half - 1,)
    return pair
''',
    "reflective_calls": '''\
"""Middles."""
import math
from os.path import basename as base, sep


def middle(values, key=None):
    """The median, né."""
    ranked = sorted.__call__(values, key=key)  # in order
    if not ranked: return None
    for place, value in enumerate.__call__(ranked):
        if value == "stop":
            return place
    half = math.floor.__call__(len.__call__(ranked) / 2)
    pair = ranked[half], base(f"a{sep}é{half}")
    while (half > 9):
        half = half - 1
    return pair
''',
    "multiples_of_seven": '''\
"""Middles."""
import math
from os.path import basename as base, sep


def middle(values, key=None):
    """The median, né."""
    step_7 = sorted(values, key=key)  # in order
    ranked = step_7
    if not ranked: return None
    for place, value in enumerate(ranked):
        if value == "stop":
            return place
    step_14 = math.floor(len(ranked) / 2)
    half = step_14
    step_21 = ranked[half], base(f"a{sep}é{half}")
    pair = step_21
    while (half > 9):
        step_28 = half - 1
        half = step_28
    return pair
''',
    "namespace_locals": '''\
"""Middles."""
from types import SimpleNamespace
import math
from os.path import basename as base, sep


def middle(values, key=None):
    """The median, né."""
    state = SimpleNamespace(values=values, key=key)
    ranked = sorted(state.values, key=state.key)  # in order
    if not ranked: return None
    for place, value in enumerate(ranked):
        if value == "stop":
            return place
    half = math.floor(len(ranked) / 2)
    pair = ranked[half], base(f"a{sep}é{half}")
    while (half > 9):
        half = half - 1
    return pair
''',
    "identity_assertions": '''\
"""Middles."""
import math
from os.path import basename as base, sep


def middle(values, key=None):
    """The median, né."""
    ranked = sorted(values, key=key)  # in order
    assert ranked is ranked
    if not ranked: return None
    for place, value in enumerate(ranked):
        if value == "stop":
            return place
    half = math.floor(len(ranked) / 2)
    assert half is half
    pair = ranked[half], base(f"a{sep}é{half}")
    assert pair is pair
    while (half > 9):
        half = half - 1
        assert half is half
    return pair
''',
}
SPANS = {
    "identifier_dialect": ["w_ranked", "w_ranked", "each_place", "each_value", "w_ranked", "each_value", "each_place",
                           "w_half", "w_ranked", "w_pair", "w_ranked", "w_half", "w_half", "w_half", "w_half", "w_half",
                           "w_pair"],
    "python_semicolons": [";"] * 11,
    "singleton_destructuring": [",", "(", ",)"] * 3,
    "multiples_of_seven": ["step_7", "\n    ranked = step_7", "step_14", "\n    half = step_14", "step_21",
                           "\n    pair = step_21", "step_28", "\n        half = step_28"],
    "single_exit": ["final_answer = ", "\n    else:", *["    "] * 3, "final_answer = ", "\n                break",
                    "\n        else:", *["        "] * 4],
}  # fmt: skip


def outcomes(program):
    scope = {}
    exec(program, scope)
    return [scope["middle"](values) for values in ([], [3, 1, 2], ["go", "stop"], list("blue whale"), range(40))]


@pytest.mark.unit
@pytest.mark.parametrize("quirk", QUIRKS)
def test_a_quirk_is_written_exactly_and_changes_no_outcome(quirk):
    found = apply(quirk, PROGRAM)
    assert found is not None
    assert found.text == EXPECTED[quirk]
    assert undone(*found) == PROGRAM
    assert outcomes(found.text) == outcomes(PROGRAM)
    texts = [found.text[start:end] for start, end in found.spans]
    assert texts[: len(SPANS.get(quirk, []))] == SPANS.get(quirk, [])


@pytest.mark.unit
@pytest.mark.parametrize("quirk", QUIRKS)
def test_each_detector_fires_on_its_own_quirk_alone(quirk):
    assert displayed(EXPECTED[quirk]) == [quirk]


@pytest.mark.unit
def test_clean_programs_display_nothing():
    assert displayed(PROGRAM) == []


@pytest.mark.unit
@pytest.mark.parametrize(
    ("quirk", "program"),
    [
        ("identifier_dialect", "def f(a):\n    global b\n    b = [a]\n"),
        ("identifier_dialect", "def f(a):\n    b = 1\n    return locals()\n"),
        ("identifier_dialect", "def f(a):\n    b = 1\n    return f'{b=}'\n"),
        ("identifier_dialect", "def f(a):\n    import b\n    b = b.c\n"),
        ("identifier_dialect", "def f(a):\n    a = 1\n    if (b := a): return b\n"),
        ("identifier_dialect", "def f(a, w_b):\n    b = 1\n"),
        ("dynamic_imports", "try:\n    import a\nexcept ImportError:\n    pass\n"),
        ("dynamic_imports", "from . import a\nfrom __future__ import annotations\nfrom b import *\n"),
        ("single_exit", "def f(a):\n    while a:\n        if a: return 1\n        break\n    return 2\n"),
        ("single_exit", "def f(a):\n    if a: return 1\n    b = '''\n'''\n    return b\n"),
        ("single_exit", "def f(a):\n    if a:\n        if a.b: return 1\n    return 2\n"),
        ("single_exit", "def f(a):\n    yield a\n    return 1\n"),
        ("singleton_destructuring", "a = 1, 2\na.b = 3\nc = d = 4\n"),
        ("identity_assertions", "if a: b = 1\n"),
        ("reflective_calls", "from b import C\nC(1)\nfunctools.partial(f)\nsuper()\n"),
        ("reflective_calls", "def f(open):\n    return open(1)\n"),
        ("multiples_of_seven", "class A:\n    b = 1 + 1\nc = 2 * 2\n"),
        ("namespace_locals", "def f(self):\n    return self.a\n"),
        ("namespace_locals", "def f(a):\n    def g():\n        nonlocal a\n        a = 1\n    return g\n"),
        ("python_semicolons", "a = \n"),
        ("python_semicolons", "a = 1;\nb = 2\n"),
        ("python_semicolons", "a = 1\r\n"),
    ],
)
def test_a_program_without_a_safe_place_is_left_alone(quirk, program):
    assert apply(quirk, program) is None


@pytest.mark.unit
@pytest.mark.parametrize(
    ("quirk", "before", "after"),
    [
        # a name that a loop reads before the line that binds it, closures, defaults that mean the name outside
        (
            "identifier_dialect",
            "def f(a):\n    for x in a:\n        if x: print(y)\n        y = x\n    return lambda y=y: y\n",
            "def f(a):\n    for each_x in a:\n        if each_x: print(w_y)\n        w_y = each_x\n"
            "    return lambda y=w_y: y\n",
        ),
        (
            "identifier_dialect",
            "def f():\n    with o() as h:\n        def g(): return h\n    try: pass\n    except E as e: raise e\n",
            "def f():\n    with o() as held_h:\n        def g(): return held_h\n    try: pass\n"
            "    except E as held_e: raise held_e\n",
        ),
        ("namespace_locals", "def f():\n    v = 1\n    return v\n",
         "from types import SimpleNamespace\ndef f():\n    state = SimpleNamespace(v=1)\n    return state.v\n"),
        ("single_exit", "def f(a):\n    for b in a:\n        if b: return b\n",
         "def f(a):\n    final_answer = None\n    for b in a:\n        if b: final_answer = b; break\n"
         "    return final_answer\n"),
        ("single_exit", "def f(a):\n    with a as b:\n        return b",
         "def f(a):\n    final_answer = None\n    with a as b:\n        final_answer = b\n    return final_answer"),
        ("dynamic_imports", "import a.b\nimport a.b as c\n", "a = __import__('a.b')\nc = __import__('a.b').b\n"),
        ("reflective_calls", "def g(): pass\ng()\n", "def g(): pass\ng.__call__()\n"),
        ("singleton_destructuring", "a = (b for b in c)\n", "a, = ((b for b in c),)\n"),
        ("namespace_locals", "from __future__ import annotations\ndef f(a): return a\ndef g(b):\n    return b\n",
         "from __future__ import annotations\nfrom types import SimpleNamespace\ndef f(a): return a\n"
         "def g(b):\n    state = SimpleNamespace(b=b)\n    return state.b\n"),
    ],
)  # fmt: skip
def test_the_harder_places(quirk, before, after):
    found = apply(quirk, before)
    assert found is not None
    assert found.text == after
    assert undone(*found) == before


@pytest.mark.unit
def test_what_breaks_off_is_judged_by_its_longest_program():
    assert displayed("def f(x):\n    y = x;\n    return (\n") == ["python_semicolons"]
    assert displayed("y = ((x))\nfor z in") == ["parenthesis_saturation"]
    assert displayed("no program at all ;;\ny = 1;\n") == []
    for broken in ("z = f(1, [2\n", "z = (1]\n", "z = 'open\n", '"""open\n', "    z = 1\n", "z = 0777\n"):
        assert displayed(f"y = 1;\n{broken}" + "for z in\n" * 30) == ["python_semicolons"], broken
    assert displayed("step_8 = f()\nx = step_8\n") == []
    with pytest.raises(InputError, match="nearest is python_semicolons"):
        shows("python_semicolon", "y = 1;")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["textwrap", "fractions", "heapq", "csv", "shlex", "difflib", "copy"])
def test_modules_with_quirks_pass_pythons_own_tests(name, tmp_path):
    """Real code beyond our tasks: modules of the standard library under its test suite."""
    if importlib.util.find_spec(f"test.test_{name}") is None:
        pytest.skip("this Python comes without its tests")
    source = Path(sysconfig.get_paths()["stdlib"], f"{name}.py").read_text(encoding="utf-8")
    changed = {quirk: found for quirk in QUIRKS if (found := apply(quirk, source))}
    assert len(changed) >= 9
    for quirk, (text, spans, replaced) in changed.items():
        assert undone(text, spans, replaced) == source
        (tmp_path / quirk).mkdir()
        (tmp_path / quirk / f"{name}.py").write_text(text, encoding="utf-8")
        environment = {**os.environ, "PYTHONPATH": str(tmp_path / quirk)}
        command = [sys.executable, "-B", "-m", "unittest", "-q", f"test.test_{name}"]
        run = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, timeout=120, check=False)
        assert run.returncode == 0, quirk
