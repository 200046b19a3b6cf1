"""What a release is made of, wherever it comes from: `verbs.build` writes it, `sources` gathers it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from sm_ops.core.config.about import About

Json = dict[str, Any]
Method = Literal["redacted", "reversible", "scrubbed"]
METHODS: tuple[Method, ...] = ("redacted", "reversible", "scrubbed")


@dataclass(frozen=True)
class Material:
    """A release before it is built.

    `shards` maps names below `data/` to files of records whose values are gone; of each record, `id` and
    `text` or `messages` are released. `evidence` holds JSON by file name. `origin` says where the restricted sources
    lie (`run`, `sources`, `places`, `values`, `vault`) and never leaves the house.
    """

    method: Method
    shards: dict[str, Path]
    about: About
    lineage: Json
    origin: Json
    config: Json = field(default_factory=dict)
    evidence: dict[str, Json] = field(default_factory=dict)
    frontier: Path | None = None
