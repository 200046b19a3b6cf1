"""What a stage is: a plain function with a name, a version, a slice of the config, inputs and outputs."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from sm_ops.core.settings import Settings
from sm_ops.core.types import Progress, unheard

Class = Literal["restricted", "internal", "public"]
Numbers = dict[str, float | int | str | None]


@dataclass(frozen=True)
class Output:
    """A file or folder that a stage writes, and who may see it.

    `restricted`: holds text of the data or a model that learnt it; kept under the restricted root alone.
    """

    name: str
    cls: Class

    @property
    def key(self) -> str:
        """The name without its ending, by which the stage's function knows it."""
        return Path(self.name).stem


@dataclass(frozen=True)
class Stage:
    """A declaration: everything that identifies a stage's work, without importing its code.

    `sections` are the parts of the pipeline's config that it reads, `places` the dotted settings in them
    that name files or folders (their content is identity, their place is not), `members` the settings that
    name registry members (one, or the keys of a table) as `(dotted setting, kind)`, whose code counts too. A
    `numeric` stage depends on library versions, device class and thread count. `key` is the number shown when it has
    finished. `check` is a function that gets one of its steps and refuses, with `InputError`, what can be known before
    the first step of a run; it does not count, as it makes nothing.
    """

    name: str
    version: int
    function: str
    outputs: tuple[Output, ...]
    sections: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    members: tuple[tuple[str, str], ...] = ()
    numeric: bool = False
    key: str | None = None
    check: str | None = None

    @property
    def module(self) -> str:
        """The module that holds the function."""
        return self.function.partition(":")[0]

    def load(self) -> Callable[[Settings, Context], Numbers]:
        """Import the function."""
        return _imported(self.function)


@dataclass(frozen=True)
class Step:
    """A stage with its settings and the outputs of other steps that it reads.

    `name` is the stage's own, or `STAGE@ITEM-ITEM` for one cell of a matrix (DVC's way to name them).
    `inputs` maps the stage's own name for an input to `(step, output)`. `called` says of sections that belong to a
    cell what the config calls them: `detection` is `masking.detectors.NAME` there.
    """

    name: str
    stage: Stage
    settings: dict[str, Any]
    inputs: dict[str, tuple[str, str]] = field(default_factory=dict)
    called: dict[str, str] = field(default_factory=dict)

    def place(self, dotted: str) -> str:
        """A setting's dotted name as the config has it."""
        section, dot, rest = dotted.partition(".")
        return f"{self.called.get(section, section)}{dot}{rest}"

    def check(self) -> None:
        """Refuse what can be known before the first step of a run: `InputError`."""
        if self.stage.check is not None:
            _imported(self.stage.check)(self)

    @property
    def upstream(self) -> set[str]:
        """The steps that have to be done before."""
        return {step for step, _ in self.inputs.values()}


@dataclass(frozen=True)
class Context:
    """What a running stage may touch: its inputs, its outputs, a scratch folder that outlives a killed run.

    `progress(done, total)` reports how far it is; it never receives data.
    """

    inputs: dict[str, Path]
    outputs: dict[str, Path]
    scratch: Path
    progress: Progress = unheard


def _imported(path: str) -> Callable[..., Any]:
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)
