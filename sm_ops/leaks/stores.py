"""The stores that a user's runs leave behind: where a leak would be."""

from __future__ import annotations

import configparser
import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sm_ops.core.home import home_folder


@dataclass(frozen=True)
class Stores:
    """Files and folders to search, and what is left out of them because values belong there."""

    paths: list[Path]
    without: list[Path]


def own_stores(folder: Path | None = None) -> Stores:
    """The home folder but its restricted root and vault, and the stores of MLflow, Prefect and DVC outside it.

    MLflow and Prefect are found by their variables, DVC's cache by the repository around `folder` (default the present
    folder). Servers are not searched: search their disks where they run.
    """
    home = home_folder()
    found = [home, *_mlflow(), *_prefect(), *_dvc((folder or Path.cwd()).absolute())]
    paths: list[Path] = []
    for path in (Path(os.path.normpath(path.absolute())) for path in found):
        if path.exists() and not any(path.is_relative_to(other) for other in paths):
            paths.append(path)
    return Stores(paths, [home / "restricted", home / "vault"])


def _mlflow() -> list[Path]:
    uri = os.environ.get("MLFLOW_TRACKING_URI", "")
    parts = urlsplit(uri)
    if parts.scheme == "sqlite":
        return [Path(unquote(parts.path).removeprefix("/"))]
    if parts.scheme in ("", "file") and parts.path:
        return [Path(unquote(parts.path))]
    return []


def _prefect() -> list[Path]:
    place = os.environ.get("PREFECT_HOME")
    return [Path(place).expanduser()] if place else []


def _dvc(folder: Path) -> list[Path]:
    root = next((parent for parent in (folder, *folder.parents) if (parent / ".dvc").is_dir()), None)
    if root is None:
        return []
    settings = root / ".dvc"
    config = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        config.read([settings / "config", settings / "config.local"], encoding="utf-8")
    except (configparser.Error, UnicodeDecodeError):
        return [settings]
    elsewhere = config.get("cache", "dir", fallback=None)
    return [settings, *([settings / elsewhere] if elsewhere else [])]
