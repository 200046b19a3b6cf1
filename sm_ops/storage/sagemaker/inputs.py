"""Which files a config names, and the channels by which a job gets exactly these.

A channel is a folder of the job. `config` holds the pipeline (`config.json`) and the list of all inputs with their
digests (`inputs.json`); every file or folder that a setting names has a channel of its own, named by its content.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sm_ops.core import fs
from sm_ops.core.errors import InputError

CONFIG = "config"
FORMAT = "sagemaker-inputs/1"
_CHANNELS = 19
"""The service allows 20, one of which is the config."""
_WITHIN = "sagemaker-channel://"
Json = dict[str, Any]


@dataclass(frozen=True)
class Channel:
    """Files by relative name, and the SHA-256 of each."""

    name: str
    files: dict[str, Path]
    digests: dict[str, str]

    @property
    def digest(self) -> str:
        """One SHA-256 for names and contents."""
        return fs.tree_hash(self.digests)

    @property
    def key(self) -> str:
        """Where it lies below the bucket's prefix: by content, so equal inputs are there once."""
        return f"inputs/{self.name}/{self.digest[:32]}"


def channels_of(config: Json, places: Iterable[str], forbidden: Iterable[Path], folder: Path) -> list[Channel]:
    """The channels of a resolved config whose settings name `places`; the config's own files are written to `folder`.

    A job builds no release, since releases are built where their keys are. Raises `InputError` for the flow `pii`, and
    for a place that holds or lies in one of the `forbidden` ones, is empty, or is one too many.
    """
    if config["flow"] == "pii":
        hint = "The flow pii writes mappings into the vault, which never leaves this machine; run it here: sm-ops run"
        raise InputError("flow", hint)
    if "release" in config:
        config = {**config, "release": {**config["release"], "build": False}}
    channels = {place: _channel(Path(place), forbidden) for place in sorted(set(places))}
    distinct = {channel.name: channel for channel in channels.values()}
    if len(distinct) > _CHANNELS:
        hint = f"The config names {len(distinct)} files and folders; a job takes {_CHANNELS}. Put some into one folder."
        raise InputError("channels", hint)
    where = {place: _reference(Path(place), channel) for place, channel in channels.items()}
    listed = {name: channel.digests for name, channel in distinct.items()}
    own = {"config.json": _replaced(config, lambda text: where.get(text, text))}
    own["inputs.json"] = {"format": FORMAT, "channels": listed}
    for name, content in own.items():
        fs.write_json(folder / name, content)
    files = {name: folder / name for name in own}
    return [Channel(CONFIG, files, {name: fs.file_hash(path) for name, path in files.items()}), *distinct.values()]


def received(base: Path) -> Json:
    """Inside of the job: the config with the channels' own paths, after every file was found to be what was declared.

    `base` is the container's `/opt/ml`. Raises `InputError` where a file is missing, too much, or another.
    """
    data = base / "input" / "data"
    listed = fs.read_json(data / CONFIG / "inputs.json")
    if listed["format"] != FORMAT:
        hint = f"The inputs have format {listed['format']!r}, this image reads {FORMAT!r}; build the image anew."
        raise InputError("inputs-format", hint)
    for name, digests in listed["channels"].items():
        found = {relative: fs.file_hash(path) for relative, path in fs.files_below(data / name)}
        if found != digests:
            hint = f"The channel {name} does not hold what was declared; submit the job again."
            raise InputError("inputs-differ", hint)
    config = fs.read_json(data / CONFIG / "config.json")
    return _replaced(config, lambda t: str(data / t.removeprefix(_WITHIN)) if t.startswith(_WITHIN) else t)


def _channel(place: Path, forbidden: Iterable[Path]) -> Channel:
    real = place.resolve()
    for other in map(Path.resolve, forbidden):
        if other.exists() and (real.is_relative_to(other) or other.is_relative_to(real)):
            hint = f"{place} holds or is part of {other}; mappings and keys never leave this machine."
            raise InputError("secret-input", hint)
    files = {relative or place.name: path for relative, path in fs.files_below(place)}
    if not files:
        raise InputError("no-files", f"There are no files in {place}; a job cannot get an empty folder.")
    digests = {relative: fs.file_hash(path) for relative, path in files.items()}
    return Channel(f"in-{fs.tree_hash(digests)[:16]}", files, digests)


def _reference(place: Path, channel: Channel) -> str:
    return f"{_WITHIN}{channel.name}" + (f"/{place.name}" if place.is_file() else "")


def _replaced(value: Any, change: Callable[[str], str]) -> Any:
    """The same JSON with every text changed."""
    if isinstance(value, dict):
        return {name: _replaced(each, change) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_replaced(each, change) for each in value]
    return change(value) if isinstance(value, str) else value
