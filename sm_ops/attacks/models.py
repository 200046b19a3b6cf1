"""The models of an audit by name: alone or an adapter on its base, and what about them a reader should know."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sm_ops.core import fetched, registry
from sm_ops.core.errors import InputError
from sm_ops.core.home import home_folder
from sm_ops.core.settings import Settings, with_defaults
from sm_ops.scoring.language_model import LanguageModel


class Models:
    """Loads models by their names with the settings of a backend; `notes` are sentences about them.

    `settings` have their defaults filled in, where the backend tells them (`DEFAULTS`). Raises `InputError` at once
    for one that it does not have, and for what none of the models can use: a base without an adapter, a revision of
    folders, a number format for adapters, which are put onto their base in float32.
    """

    def __init__(self, names: Sequence[str], base: str | None, backend: str, settings: Mapping[str, Any]) -> None:
        known = getattr(registry.load("model", backend), "DEFAULTS", settings)
        self.settings = with_defaults(f"the backend {backend!r}", settings, known)
        self.notes: list[str] = []
        self._base, self._backend = base, backend
        self._revision = self.settings.get("revision")
        where = [place(name, self._revision) for name in names]
        adapters = [name for name in where if self._is_adapter(name)]
        if adapters and self._base is None:
            hint = f"{adapters[0]} holds an adapter; name the model that it belongs to with --base."
            raise InputError("adapter-alone", hint)
        if self._base is not None and not adapters:
            raise InputError("no-adapter", "--base is of use for an adapter alone, and none of the models is one.")
        if adapters and self.settings.get("dtype", "float32") != "float32":
            raise InputError("adapter-dtype", "An adapter is put onto its base in float32; leave model.dtype out.")
        if self._base is not None:
            where.append(place(self._base, self._revision))
        if self._revision is not None and all(Path(name).is_dir() for name in where):
            raise InputError("no-revision", "model.revision names one of the hub, and all models are folders.")

    def load(self, name: str) -> LanguageModel:
        """The model; raises `InputError` where it is not to be had."""
        where = place(name, self._revision)
        if self._is_adapter(where):
            return self._adapted(Path(where))
        return registry.load("model", self._backend).load(Settings({**self.settings, "model": where}))

    def _is_adapter(self, where: str) -> bool:
        return self._backend == "hf" and (Path(where) / "adapter_config.json").is_file()

    def _adapted(self, folder: Path) -> LanguageModel:
        from sm_ops.scoring.backends.hf import located
        from sm_ops.scoring.models.hf import HFModel
        from sm_ops.training import models

        assert self._base is not None
        tokenizer, weights = located(Settings({**self.settings, "model": place(self._base, self._revision)}))
        trained = models.adapted(weights.load(), folder).merge_and_unload().eval()
        self._note_base(folder)
        return HFModel(trained, tokenizer, self.settings["token_budget"])

    def _note_base(self, folder: Path) -> None:
        own = json.loads((folder / "adapter_config.json").read_text()).get("base_model_name_or_path")
        if isinstance(own, str) and own and Path(own).name != Path(str(self._base)).resolve().name:
            note = f"The adapter {folder} says that it belongs to {Path(own).name}; it was put onto {self._base}."
            self.notes = [*dict.fromkeys([*self.notes, note])]


def place(name: str, revision: str | None = None) -> str:
    """The folder of a fetched model by its hub name; else, and where a revision of the hub is pinned, the name."""
    return name if revision is not None else fetched.place(name, home_folder())
