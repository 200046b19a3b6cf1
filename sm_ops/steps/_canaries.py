"""Read the canaries that `synthesize` wrote; their values stay sensitive until they are used."""

from __future__ import annotations

import json
from pathlib import Path

from sm_ops.data.dataset import Canary


def read_canaries(path: Path) -> list[Canary]:
    """The canaries in the order of their numbers."""
    return [Canary(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
