"""Models that `sm-ops init --model` puts into the home folder, where they stand for their name on the hub."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

HUB_NAMES = {"smollm2": "HuggingFaceTB/SmolLM2-135M-Instruct"}
"""What `--model` calls each model, which is also its folder's name, and what the hub calls it."""


def folder(home: Path, model: str) -> Path:
    """Where a fetched model lies."""
    return home / "models" / model


def located(config: Mapping[str, Any], home: Path) -> dict[str, Any]:
    """A resolved config whose base and references, where it has them, name a fetched model's folder, not its hub name.

    A section that pins a revision means the hub's own files and is left as it is.
    """

    def placed(section: Mapping[str, Any], field: str) -> dict[str, Any]:
        name, pinned = section[field], section["revision"] is not None
        return {**section, field: name if name is None or pinned else place(name, home)}

    found = dict(config)
    if "base" in config:
        found["base"] = placed(config["base"], "name")
    if "references" in config:
        found["references"] = {name: placed(section, "model") for name, section in config["references"].items()}
    return found


def place(name: str, home: Path) -> str:
    """The folder of a fetched model by its hub name, or else the name as it is.

    A folder counts by its content, wherever it lies; below the present folder it is named relative to it.
    """
    found = next((folder(home, model) for model, hub_name in HUB_NAMES.items() if hub_name == name), None)
    if found is None or not found.is_dir():
        return name
    here = Path.cwd()
    return str(found.relative_to(here) if found.is_relative_to(here) else found)


def advice(name: str) -> str:
    """What a message about a model that is not to be had may add: how to fetch it."""
    found = next((model for model, hub_name in HUB_NAMES.items() if hub_name == name), None)
    return f", or fetch it with: sm-ops init --model {found}" if found else ""
