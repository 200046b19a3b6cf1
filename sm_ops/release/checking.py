"""What a check gets and gives: a bundle with where its sources lie, and an outcome in one sentence with numbers.

A check is a file in `sm_ops/release/checks/` with `run(bundle: Bundle, settings: Settings) -> Outcome`; its name is
the file's. The same bundle and settings give the same outcome, so its sentence has no times and no paths outside of the
bundle; and it holds no value of the data. A module that sets `SEARCHES_RENDERED` runs after all others and finds in
`bundle.rendered` the card and the page with their outcomes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from sm_ops.core.errors import InputError
from sm_ops.core.settings import Settings
from sm_ops.core.types import Progress, unheard
from sm_ops.release.folder import DATA, EVIDENCE, MANIFEST, Release
from sm_ops.release.policy import policy_of

Json = dict[str, Any]
Status = Literal["pass", "fail", "unmeasured", "not applicable"]
ORIGIN_FORMAT = "origin/1"
_SHOWN = 5


@dataclass(frozen=True)
class Outcome:
    """What a check came to. `measured` holds numbers (null for an undefined one) by name."""

    status: Status
    sentence: str
    measured: Mapping[str, float | int | None] = field(default_factory=dict)


@dataclass(frozen=True)
class Origin:
    """Where what a release was made from lies on this machine, all of it restricted.

    By shard: its source records, and the intervals that were removed, where they were kept (`places`). `values` are
    files of known values, `vault` is the dataset of the mappings: one for all shards, or one for each.
    """

    sources: dict[str, Path]
    places: dict[str, Path]
    values: list[Path]
    vault: str | dict[str, str] | None

    @classmethod
    def load(cls, release: Release) -> Origin | None:
        """Of a release; None on a machine that does not have it. `InputError` for a damaged file."""
        try:
            value = json.loads(release.origin.read_bytes())
        except FileNotFoundError:
            return None
        except ValueError:
            raise _damaged(release) from None
        if not isinstance(value, dict) or value.get("format") != ORIGIN_FORMAT:
            raise _damaged(release)
        paths = {key: _paths(release.home, value.get(key)) for key in ("sources", "places")}
        values = [release.home / path for path in value.get("values") or ()]
        return cls(paths["sources"], paths["places"], values, value.get("vault"))

    @property
    def datasets(self) -> list[str]:
        """Every dataset of the vault that belongs to the release."""
        named = self.vault.values() if isinstance(self.vault, dict) else [self.vault]
        return sorted({name for name in named if name is not None})

    def dataset_of(self, shard: str) -> str | None:
        """The dataset with the mappings of a shard."""
        return self.vault.get(shard) if isinstance(self.vault, dict) else self.vault


@dataclass(frozen=True)
class Bundle:
    """A release as checks see it; `shards` by name below `data/`, `rendered` the files that `check` is about to write.

    `origin` is None where the sources are not on this machine. A check calls `progress` with (done, all) now and then.
    """

    release: Release
    folder: Path
    manifest: Json
    shards: dict[str, Path]
    policy: Settings
    origin: Origin | None
    rendered: Mapping[str, bytes] = field(default_factory=dict)
    progress: Progress = unheard

    @classmethod
    def of(cls, release: Release) -> Bundle:
        """The bundle of a release that was built."""
        manifest = json.loads((release.folder / MANIFEST).read_bytes())
        names = [each["path"] for each in manifest["files"] if each["path"].startswith(f"{DATA}/")]
        shards = {name.removeprefix(f"{DATA}/"): release.folder / name for name in names}
        return cls(release, release.folder, manifest, shards, policy_of(release), Origin.load(release))

    def evidence(self, name: str) -> Json | None:
        """`evidence/NAME.json`, or None where the build had no such evidence."""
        return self.json(f"{EVIDENCE}/{name}.json")

    def json(self, path: str) -> Json | None:
        """A JSON file of the bundle, or None where it is not there or holds no object."""
        try:
            value = json.loads((self.folder / path).read_bytes())
        except (FileNotFoundError, ValueError):
            return None
        return value if isinstance(value, dict) else None


def blocks(outcome: Json) -> bool:
    """Whether an outcome stops a release unless somebody waives it: failed, or not measured, where that blocks."""
    return outcome["severity"] == "block" and outcome["status"] in ("fail", "unmeasured")


def stopping(checks: Iterable[Json]) -> list[str]:
    """The names of the checks, as `checks.json` has them, that stop a release."""
    return [each["name"] for each in checks if blocks(each) and not each["waived"]]


def count(number: int, noun: str, plural: str | None = None) -> str:
    """`1 record`, `1,200 records`."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def listed(names: Sequence[str]) -> str:
    """The first five names, and how many more there are."""
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else "")


def rate(k: int, n: int, interval: tuple[float, float] | None) -> str:
    """`98.0 % (49 of 50) [89.5, 99.6]`; the interval in percent."""
    shown = "" if interval is None else f" [{100 * interval[0]:.1f}, {100 * interval[1]:.1f}]"
    return f"{100 * k / n:.1f} % ({k:,} of {n:,}){shown}"


NO_SOURCES = Outcome("unmeasured", "The sources of this release are not on this machine; check it where it was built.")


def _paths(home: Path, given: Mapping[str, str] | None) -> dict[str, Path]:
    return {shard: home / path for shard, path in (given or {}).items()}


def _damaged(release: Release) -> InputError:
    hint = f"{release.origin} is damaged or of another version; build the release again under a new version."
    return InputError("origin-damaged", hint)
