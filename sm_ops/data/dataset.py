"""A dataset: named splits of records, the canaries planted in its training split, and counts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from sm_ops.core.records import Record
from sm_ops.core.sensitive import Sensitive

SPLITS = ("calibration", "train", "utility", "reference")
"""The splits of a dataset; a user's own may lack the last two."""
CLEAN_SPLITS = ("utility", "reference")
"""Splits that must hold no private value: one measures utility, one fits the reference model."""


@dataclass(frozen=True, slots=True)
class Canary:
    """A private value of the training split that an attack will try to extract; a restricted output.

    `id` is the kind and a number, so that reports can name a canary without its value.
    """

    id: str
    kind: str
    group: str | None
    value: Sensitive[str]


@dataclass(frozen=True, slots=True)
class Trial:
    """A program of a data set that is to be run: files by relative name, a command, and whether it should pass.

    `state` is a word that counts are kept by, such as `before` and `after` the planting of values. Datasets of programs
    that run offer `trials(dataset, settings, seed)`, which yields them for the splits that were written, and
    `tasks(records, settings, seed)`, the `Task` that each record of `utility` answers.
    """

    id: str
    state: str
    files: dict[str, bytes] = field(repr=False)
    command: tuple[str, ...] = ("python", "tests.py")
    passes: bool = True


@dataclass(frozen=True, slots=True)
class Dataset:
    """Splits by name (`SPLITS`), training canaries, and counts."""

    splits: dict[str, list[Record]]
    canaries: list[Canary] = field(repr=False)
    counts: dict[str, int]

    @property
    def records(self) -> Iterator[Record]:
        """Every record, split after split."""
        for records in self.splits.values():
            yield from records

    @property
    def host_files(self) -> set[str]:
        """The host files that the records' programs were taken from."""
        return {record.meta["host"] for record in self.records if "host" in record.meta}

    @property
    def shapes(self) -> set[str]:
        """The shapes of the records' host programs (see `hosts.shape`)."""
        return {record.meta["shape"] for record in self.records if "shape" in record.meta}
