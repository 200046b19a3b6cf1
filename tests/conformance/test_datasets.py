"""Every data set reads those settings that it names, and `data` has no setting that nobody reads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from sm_ops.core import registry
from sm_ops.core.config.surprise import Data, read_by
from sm_ops.core.errors import InputError

SMALLEST = {
    "hosts": "nowhere", "identities": 1, "repetitions": 4, "clean": 0, "calibration_identities": 1,
    "calibration_repetitions": 4, "calibration_clean": 0, "utility": 0, "reference": 0, "form": "chat",
}  # fmt: skip


class Watched:
    """Settings that note what is read of them, by dotted name."""

    def __init__(self, values: dict[str, Any], read: set[str], path: str = "") -> None:
        self._values, self._read, self._path = values, read, path

    def __getattr__(self, name: str) -> Any:
        value, dotted = self._values[name], f"{self._path}{name}"
        if isinstance(value, dict):
            return Watched(value, self._read, f"{dotted}.")
        self._read.add(dotted)
        return value


def leaves(values: dict[str, Any], path: str = "") -> Iterator[str]:
    for name, value in values.items():
        yield from leaves(value, f"{path}{name}.") if isinstance(value, dict) else [f"{path}{name}"]


@pytest.mark.parametrize("name", registry.members("dataset"))
def test_what_a_data_set_reads_is_what_it_names(name):
    dataset, read = registry.load("dataset", name), set()
    values = Data().model_dump() | SMALLEST
    values["own"] |= {"quirk": "multiples_of_seven", "train": "nowhere", "calibration": "nowhere"}
    settings = Watched(values, read)
    for function in (dataset.expected, lambda given: dataset.generate(given, 0)):
        with suppress(InputError):  # nobody's files are there
            function(settings)
    named = read_by(name)
    assert named is not None
    assert read <= named
    assert named - read <= {"dataset", "seed", "hosts", "public_chars", "form"}


def test_every_setting_has_a_reader():
    read = frozenset().union(*(read_by(name) or () for name in registry.members("dataset")))
    assert set(leaves(Data().model_dump())) == read
