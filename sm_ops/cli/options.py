"""What several commands share: options, the resolved config, and the last line."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

Config = Annotated[str, typer.Argument(help="A preset (see: sm-ops ls presets) or a .yaml file.", metavar="[CONFIG]")]
FromConfig = Annotated[
    str, typer.Option("--config", help="A preset (see: sm-ops ls presets) or a .yaml file.", metavar="CONFIG")
]
RunName = Annotated[str | None, typer.Argument(help="A run's id or its beginning; default: the newest.")]
ReleaseName = Annotated[
    str, typer.Argument(help="Name and version, as notes@1.0; see: sm-ops release ls.", metavar="NAME@VERSION")
]
Set = Annotated[
    list[str] | None, typer.Option("--set", help="Override one setting, as KEY=VALUE.", metavar="KEY=VALUE")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for a program.")]
Jobs = Annotated[int | None, typer.Option(min=1, help="Worker processes at a time; default: one a core.")]
Orchestrate = Annotated[bool, typer.Option("--orchestrate", help="Run the same steps as a Prefect flow.")]


def resolved_config(config: str, overrides: list[str] | None) -> dict[str, Any]:
    """The pipeline as plain JSON with every default filled in."""
    from sm_ops.core.config import load_pipeline, resolve

    return resolve(load_pipeline(config, overrides))


def home_with_servers() -> Path:
    """The home folder; where its local stack is running, its servers take the place of those that the user left out."""
    from sm_ops.core.home import home_folder
    from sm_ops.stack.client import use

    home = home_folder()
    use(home)
    return home


def become_flow(module: str, *arguments: str | None) -> NoReturn:
    """Become the process of a flow, which alone imports Prefect and finds the servers of the home's stack."""
    from sm_ops.core import processes

    home_with_servers()
    processes.become(module, *(each for each in arguments if each is not None))


def quiet_models() -> None:
    """Models are loaded without the messages and bars of their libraries; the bar is ours."""
    os.environ |= {"TRANSFORMERS_VERBOSITY": "error", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}


def same_config(config: str, overrides: list[str] | None, option: str | None = None) -> list[str]:
    """The words that name a config and its overrides again; `option` is for a command whose argument is another."""
    named = [] if config == "tiny" else [option, config] if option else [config]
    return [*named, *(word for each in overrides or () for word in ("--set", each))]


def same_options(**given: object) -> list[str]:
    """The words that give options again, of those that were given."""
    return [word for name, value in given.items() if value is not None for word in (f"--{name}", str(value))]


def say_next(command: str, *words: str) -> None:
    """The last line for people says what to type next; the words are quoted for a shell."""
    print(f"next: sm-ops {' '.join([command, *map(shlex.quote, words)])}", file=sys.stderr)
