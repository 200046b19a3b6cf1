"""A sensitive value cannot be printed, formatted, logged, pickled, copied or serialised by accident."""

from __future__ import annotations

import copy
import json
import logging
import pickle
import pprint
from dataclasses import asdict, dataclass

import pytest
from driving import ROOT

from sm_ops.core.sensitive import MASK, Sensitive

pytestmark = pytest.mark.unit

VALUE = "zq7-canary-value"
MAY_REVEAL = {
    "sm_ops.attacks.members.exposure",
    "sm_ops.attacks.members.prefix_extraction",
    "sm_ops.data.audit",
    "sm_ops.stack.postgres",
    "sm_ops.stack.s3",
    "sm_ops.stack.services",
    "sm_ops.steps.mask",
    "sm_ops.steps._splits",
}
"""Modules that may call `.reveal()`: writing, counting, seeking or attacking canaries, giving servers passwords."""


@dataclass
class Holder:
    name: str
    key: Sensitive[str]


@pytest.mark.parametrize(
    "show",
    [
        str,
        repr,
        lambda s: f"{s}",
        lambda s: f"{s!r:>40}",
        lambda s: f"{s:>40}",
        lambda s: f"{s:.3}",
        lambda s: format(s, "d"),
        lambda s: "%s" % s,  # noqa: UP031
        lambda s: "{}".format(s),  # noqa: UP032
        lambda s: str([s]) + str({"key": s}) + str((s,)),
        lambda s: repr(Holder("x", s)),
        lambda s: pprint.pformat({"key": s}),
        lambda s: json.dumps({"key": s}, default=str),
        lambda s: str(ValueError(s)),
    ],
)
def test_showing_gives_the_mask(show):
    shown = show(Sensitive(VALUE))
    assert "[sen" in shown
    assert VALUE not in shown


@pytest.mark.parametrize(
    "serialise",
    [
        lambda s: json.dumps(s),
        lambda s: json.dumps({"key": s}),
        *(lambda s, p=p: pickle.dumps(s, protocol=p) for p in range(pickle.HIGHEST_PROTOCOL + 1)),
        copy.copy,
        copy.deepcopy,
        lambda s: asdict(Holder("x", s)),
        lambda s: s.__getstate__(),
        lambda s: s.__reduce__(),
        bytes,
    ],
)
def test_serialising_is_refused_without_the_value(serialise):
    with pytest.raises(TypeError) as caught:
        serialise(Sensitive(VALUE))
    assert VALUE not in str(caught.value)


def test_logging_shows_the_mask(caplog):
    caplog.set_level(logging.INFO)
    logging.getLogger("x").info("key %s %r", Sensitive(VALUE), [Sensitive(VALUE)])
    assert caplog.messages == [f"key {MASK} [{MASK}]"]


def test_it_reveals_compares_and_hashes():
    assert Sensitive(VALUE).reveal() == VALUE
    assert Sensitive(VALUE) == Sensitive(VALUE) != Sensitive("other")
    assert Sensitive(VALUE) != VALUE
    assert len({Sensitive(VALUE), Sensitive(VALUE)}) == 1
    assert not hasattr(Sensitive(VALUE), "__dict__")


def test_only_listed_modules_reveal():
    own = "sm_ops.core.sensitive"
    calling = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for folder in ("sm_ops", "flows")
        for path in (ROOT / folder).rglob("*.py")
        if ".reveal(" in path.read_text(encoding="utf-8")
    }
    assert calling - {own} == MAY_REVEAL
