"""What card, page and metadata of a release are made from: one reading of the bundle's own files."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sm_ops.core import fs
from sm_ops.core.settings import Settings
from sm_ops.release.about import About, read_about
from sm_ops.release.folder import CONFIG, CROISSANT, DATA, EVIDENCE, FRONTIER, LINEAGE, MANIFEST, POLICY
from sm_ops.release.policy import parse
from sm_ops.release.unmeasured import not_measured

Json = dict[str, Any]


@dataclass(frozen=True)
class Facts:
    """A release as its files tell it. `checks` is None before they ran, `frontier` the picture's SVG, if there is one.

    `evidence` holds the files below `evidence/` by their names without ending, `columns` the names of each shard's
    columns by its path, as far as metadata was written.
    """

    manifest: Json
    about: About
    config: Json
    policy: Settings
    evidence: dict[str, Json]
    lineage: Json
    columns: dict[str, tuple[str, ...]]
    frontier: str | None
    checks: Json | None

    @property
    def shards(self) -> list[Json]:
        """The manifest's entries of data files."""
        return [file for file in self.manifest["files"] if file["path"].startswith(f"{DATA}/")]

    @property
    def rows(self) -> int:
        """Released records."""
        return sum(shard["rows"] for shard in self.shards)

    @cached_property
    def not_measured(self) -> list[str]:
        """Sentences on what the evidence does not show."""
        checks = (self.checks or {}).get("checks", [])
        return not_measured(self.manifest["method"], self.about, self.evidence, self.policy.checks.plain(), checks)


def facts_of(folder: Path, checks: Json | None = None, manifest: Json | None = None) -> Facts:
    """What a bundle tells. `checks` is what the checks found just now, `manifest` a draft where none is written yet."""
    config = fs.read_json(folder / CONFIG)
    frontier = folder / FRONTIER
    return Facts(
        manifest=fs.read_json(folder / MANIFEST) if manifest is None else manifest,
        about=read_about(config["about"]),
        config=config,
        policy=parse((folder / POLICY).read_bytes()),
        evidence={path.stem: fs.read_json(path) for path in sorted((folder / EVIDENCE).glob("*.json"))},
        lineage=fs.read_json(folder / LINEAGE),
        columns=_columns(folder / CROISSANT),
        frontier=frontier.read_text(encoding="utf-8") if frontier.is_file() else None,
        checks=checks,
    )


def _columns(path: Path) -> dict[str, tuple[str, ...]]:
    """Names of columns by shard, from the bundle's metadata."""
    if not path.is_file():
        return {}
    found: dict[str, tuple[str, ...]] = {}
    for records in fs.read_json(path).get("recordSet", []):
        first = records["field"][0]
        leaf = first.get("subField", [first])[0]
        found[leaf["source"]["fileObject"]["@id"]] = tuple(field["name"] for field in records["field"])
    return found
