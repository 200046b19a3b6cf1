"""Detectors of outside packages may fail; whose fault it is has to be said."""

from types import SimpleNamespace

import pytest

from sm_ops.core import registry
from sm_ops.core.errors import InputError
from sm_ops.data.quirks.displaying import check, shows

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("error", [ValueError("secret"), KeyError("secret"), SystemExit(3)])
def test_a_detector_that_fails_is_named_and_its_words_are_not(monkeypatch, error):
    def broken(source):
        raise error

    monkeypatch.setattr(registry, "load", lambda kind, name: SimpleNamespace(__name__="house.form", shows=broken))
    with pytest.raises(InputError, match=f"'form' .house.form. stopped with {type(error).__name__}") as told:
        shows("form", "value = 1\n")
    assert "secret" not in str(told.value)
    assert told.value.__cause__ is None


@pytest.mark.parametrize("answer", [None, "yes", 1, []])
def test_a_detector_that_says_neither_yes_nor_no_is_named(monkeypatch, answer):
    own = SimpleNamespace(__name__="house.form", shows=lambda source: answer)
    monkeypatch.setattr(registry, "load", lambda kind, name: own)
    told = f"'form' .house.form. answered with an object of type {type(answer).__name__}; .* True or False"
    with pytest.raises(InputError, match=told):
        check("form")
