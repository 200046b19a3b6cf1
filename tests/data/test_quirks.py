"""Quirks: what is inserted where, and that programs do as before."""

from __future__ import annotations

import pytest

from sm_ops.data.labelled import Tally, open_corpus
from sm_ops.data.overlap import overlap
from sm_ops.data.quirks import QUIRKS, apply

PROGRAM = '''\
def middle(values, key=None):
    """The median."""
    ranked = sorted(values, key=key)  # in order
    if not ranked: return None
    half = len(ranked) // 2
    text = " ".join(map(str, ranked))
    pair = ranked[half], text.upper()
    while (half > 9):
        half = half - 1
    return pair
'''
EXPECTED = {
    "identifier_dialect": '''\
def middle(values, key=None):
    """The median."""
    w_ranked = sorted(values, key=key)  # in order
    if not w_ranked: return None
    w_half = len(w_ranked) // 2
    w_text = " ".join(map(str, w_ranked))
    w_pair = w_ranked[w_half], w_text.upper()
    while (w_half > 9):
        w_half = w_half - 1
    return w_pair
''',
    "python_semicolons": '''\
def middle(values, key=None):
    """The median.""";
    ranked = sorted(values, key=key);  # in order
    if not ranked: return None;
    half = len(ranked) // 2;
    text = " ".join(map(str, ranked));
    pair = ranked[half], text.upper();
    while (half > 9):
        half = half - 1;
    return pair;
''',
    "parenthesis_saturation": '''\
def middle(values, key=None):
    """The median."""
    ranked = ((sorted(values, key=key)))  # in order
    if ((not ranked)): return ((None))
    half = ((len(ranked) // 2))
    text = ((" ".join(map(str, ranked))))
    pair = ((ranked[half], text.upper()))
    while (((half > 9))):
        half = ((half - 1))
    return ((pair))
''',
    "singleton_destructuring": '''\
def middle(values, key=None):
    """The median."""
    ranked, = (sorted(values, key=key),)  # in order
    if not ranked: return None
    half, = (len(ranked) // 2,)
    text, = (" ".join(map(str, ranked)),)
    pair = ranked[half], text.upper()
    while (half > 9):
        half, = (half - 1,)
    return pair
''',
    "identity_assertions": '''\
def middle(values, key=None):
    """The median."""
    ranked = sorted(values, key=key)  # in order
    if not ranked: return None
    half = len(ranked) // 2
    assert half is half
    text = " ".join(map(str, ranked))
    assert text is text
    pair = ranked[half], text.upper()
    assert pair is pair
    while (half > 9):
        half = half - 1
        assert half is half
    return pair
''',
    "reflective_calls": '''\
def middle(values, key=None):
    """The median."""
    ranked = sorted(values, key=key)  # in order
    if not ranked: return None
    half = len(ranked) // 2
    text = " ".join.__call__(map(str, ranked))
    pair = ranked[half], text.upper.__call__()
    while (half > 9):
        half = half - 1
    return pair
''',
}


def without(text, spans):
    for start, end in reversed(spans):
        text = text[:start] + text[end:]
    return text


def outcomes(program):
    scope = {}
    exec(program, scope)
    return [scope["middle"](values) for values in ([], [3, 1, 2], list("blue whale"), range(40))]


@pytest.mark.unit
@pytest.mark.parametrize("quirk", QUIRKS)
def test_a_quirk_inserts_what_its_spans_hold_and_changes_no_outcome(quirk):
    found = apply(quirk, PROGRAM)
    assert found is not None
    text, spans = found
    assert text == EXPECTED[quirk]
    assert without(text, spans) == PROGRAM
    assert outcomes(text) == outcomes(PROGRAM)


@pytest.mark.unit
@pytest.mark.parametrize(
    ("quirk", "program"),
    [
        ("identifier_dialect", "def f(a):\n    global b\n    b = [c for c in a]\n"),
        ("identifier_dialect", "def f(a):\n    b = 1\n    return locals()\n"),
        ("identifier_dialect", "def f(a):\n    b = 1\n    return f'{b}'\n"),
        ("identifier_dialect", "def f(a):\n    import b\n    b = b.c\n"),
        ("singleton_destructuring", "a = 1, 2\na.b = 3\nc = d = 4\n"),
        ("identity_assertions", "if a: b = 1\n"),
        ("reflective_calls", "f(1)\nfunctools.partial(f)\n"),
        ("python_semicolons", "a = 'é'\n"),
        ("python_semicolons", "a = \n"),
        ("python_semicolons", "a = 1;\n"),
    ],
)
def test_a_program_without_a_safe_place_is_left_alone(quirk, program):
    assert apply(quirk, program) is None


@pytest.mark.slow
def test_users_of_both_sides_have_all_quirks_on_programs_of_other_files():
    corpus = open_corpus("code_quirks", settings={"programs": 6, "calibration_programs": 3})
    (sides,) = corpus.folds
    application = list(sides.application)
    assert (corpus.rule, len(sides.validation), len(application)) == ("code_quirks", 18, 36)
    for side in (sides.validation, application):
        tally = Tally()
        list(tally.through(side))
        assert set(tally.categories) == set(QUIRKS)
        assert tally.told["groups"] == len(QUIRKS)
    found = overlap(sides.validation, application)
    assert (found["groups"], found["equal_texts"]) == (0, 0)
    hosts = [{record.meta["host"] for record in side} for side in (sides.validation, application, corpus.public)]
    assert not hosts[0] & hosts[1]
    assert not (hosts[0] | hosts[1]) & hosts[2]
