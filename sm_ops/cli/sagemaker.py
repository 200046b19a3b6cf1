"""Runs on SageMaker. Commands that change something only say what they would do, unless told to `--execute`."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sm_ops.cli.options import (
    Config,
    Json,
    Set,
    home_with_servers,
    resolved_config,
    same_config,
    same_options,
    say_next,
)

if TYPE_CHECKING:
    from sm_ops.storage.sagemaker.inputs import Channel
    from sm_ops.storage.sagemaker.jobs import Executor
    from sm_ops.storage.sagemaker.journal import Entry, Journal

app = typer.Typer(
    help="Run pipelines as training jobs of SageMaker, and bring back aggregates alone.", rich_markup_mode=None
)

Inventory = Annotated[
    Path | None,
    typer.Option(help="What Terraform printed; default: sagemaker/inventory.json of the home folder.", metavar="FILE"),
]
Machine = Annotated[
    Path | None,
    typer.Option(help="Image and machine; default: sagemaker/machine.yaml of the home folder.", metavar="FILE"),
]
Execute = Annotated[bool, typer.Option("--execute", help="Act; without it, only say what would be done.")]
Local = Annotated[bool, typer.Option("--local", help="Carry out the same request on this machine, over S3.")]
Job = Annotated[str | None, typer.Argument(help="A job's name or its beginning; default: the newest.", metavar="[JOB]")]


@app.callback()
def _sagemaker() -> None:
    """Run pipelines as training jobs of SageMaker, and bring back aggregates alone."""


@app.command(epilog="Examples: sm-ops sagemaker preflight | sm-ops sagemaker preflight --json")
def preflight(inventory: Inventory = None, machine: Machine = None, as_json: Json = False) -> None:
    """Ask, reading alone, whether account, role, key, image, quota and bucket are well; exit code 3 if one is not.

    A question that may not be asked is unknown, and no fault; that the account is the right one must be known.
    """
    from sm_ops.core.errors import EXIT_CHECK
    from sm_ops.storage.sagemaker.preflight import preflight

    rows = list(preflight(_inventory(inventory), _machine(machine)))
    if as_json:
        print(json.dumps([asdict(row) for row in rows], indent=1))
    else:
        print("\n".join(f"{row.verdict:<8} {row.what:<14} {row.found}" for row in rows))
    if rows[0].verdict != "ok" or any(row.verdict == "bad" for row in rows):
        raise typer.Exit(EXIT_CHECK)
    if not as_json:
        say_next("sagemaker submit", *same_options(inventory=inventory, machine=machine))


@app.command(epilog="Examples: sm-ops sagemaker upload tiny | sm-ops sagemaker upload my.yaml --execute")
def upload(
    config: Config = "tiny",
    overrides: Set = None,
    inventory: Inventory = None,
    execute: Execute = False,
) -> None:
    """Send exactly the files that a config names, encrypted, and read their digests back."""
    account = _inventory(inventory)
    with _channels(resolved_config(config, overrides)) as channels:
        _say_channels(channels)
        if execute:
            _upload(channels, account)
    same = same_config(config, overrides) + same_options(inventory=inventory)
    say_next("sagemaker", *(["submit", *same] if execute else ["upload", *same, "--execute"]))


@app.command(
    epilog="Examples: sm-ops sagemaker submit tiny | sm-ops sagemaker submit my.yaml --execute | "
    "sm-ops sagemaker submit tiny --local --execute"
)
def submit(
    config: Config = "tiny",
    overrides: Set = None,
    inventory: Inventory = None,
    machine: Machine = None,
    local: Local = False,
    execute: Execute = False,
) -> None:
    """Print the training job that a config becomes; with --execute, upload its inputs and submit it, once."""
    from sm_ops.storage.sagemaker import jobs
    from sm_ops.storage.sagemaker.request import series_of, training_job

    account, wanted = _inventory(inventory), _machine(machine)
    journal = _journal()
    with _channels(resolved := resolved_config(config, overrides)) as channels:
        series = series_of(resolved, wanted, account, channels, local)
        if not execute:
            number = len(journal.attempts(series)) + 1
            print(json.dumps(training_job(series, number, wanted, account, channels), indent=1))
            _say_channels(channels)
            same = same_config(config, overrides) + same_options(inventory=inventory, machine=machine)
            say_next("sagemaker submit", *same, *(["--local"] if local else []), "--execute")
            return
        with journal.held():
            executor = _executor(account, local)
            number = jobs.next_attempt(journal, series, executor)
            entry = journal.plan(training_job(series, number, wanted, account, channels), account, local)
            _upload(channels, account)
            print(entry.name)
            jobs.submit(entry, executor)
    _say_status(jobs.status(entry, executor))
    say_next(f"sagemaker status {entry.name}")


@app.command(epilog="Examples: sm-ops sagemaker status | sm-ops sagemaker status tiny-0a1b --json")
def status(name: Job = None, as_json: Json = False) -> None:
    """Say what became of a job, and whether its models were approved; an unanswered submission is looked for."""
    from sm_ops.core.errors import EXIT_CHECK
    from sm_ops.storage.sagemaker import jobs, registry
    from sm_ops.storage.sagemaker.service import Service

    entry, executor = _found(name)
    found = jobs.status(entry, executor)
    if isinstance(executor, Service) and found.get("status") == "Completed":
        found["registered"] = registry.approval(entry, executor)
    if as_json:
        print(json.dumps(found, indent=1))
    else:
        _say_status(found)
    if found.get("status") == "Failed":
        raise typer.Exit(EXIT_CHECK)
    if not as_json:
        say_next(f"sagemaker export {entry.name}" if found.get("status") == "Completed" else "sagemaker status")


@app.command(epilog="Examples: sm-ops sagemaker stop tiny-0a1b | sm-ops sagemaker stop tiny-0a1b --execute")
def stop(name: Job = None, execute: Execute = False) -> None:
    """End a job after its checkpoint; submitting the same again goes on from there."""
    from sm_ops.storage.sagemaker import jobs

    entry, executor = _found(name)
    if execute:
        _say_status(jobs.stop(entry, executor, lambda text: print(text, file=sys.stderr)))
        return
    print(f"{entry.name} would be stopped; add --execute", file=sys.stderr)


@app.command(epilog="Examples: sm-ops sagemaker export | sm-ops sagemaker export tiny-0a1b --out results")
def export(
    name: Job = None,
    out: Annotated[Path | None, typer.Option(help="A new folder; default: beside the job's journal.")] = None,
) -> None:
    """Bring a finished job's aggregate files here: results, tables, figures and report, never models or data."""
    from sm_ops.storage.sagemaker.export import export

    entry, _ = _found(name)
    target = out or entry.folder / "export"
    names, left = export(entry.request, entry.inventory["account"], target)
    for each in names:
        print(target / each)
    if left:
        print(f"{left} other files were left where they are", file=sys.stderr)
    say_next("sagemaker teardown")


@app.command(epilog="Examples: sm-ops sagemaker register tiny-0a1b | sm-ops sagemaker register tiny-0a1b --execute")
def register(name: Job = None, execute: Execute = False) -> None:
    """List a finished job's models in the model registry, pending a person's approval there."""
    from sm_ops.core.errors import InputError
    from sm_ops.storage.sagemaker import jobs, registry
    from sm_ops.storage.sagemaker.service import Service

    entry, executor = _found(name)
    if not isinstance(executor, Service):
        raise InputError("local-job", f"{entry.name} ran on this machine; the registry lists jobs of SageMaker.")
    jobs.status(entry, executor)
    if execute:
        print(registry.register(entry, executor))
    else:
        print(f"{entry.name} would be registered as PendingManualApproval; add --execute", file=sys.stderr)


@app.command(
    epilog="Examples: sm-ops sagemaker teardown tiny-0a1b | sm-ops sagemaker teardown --all | "
    "sm-ops sagemaker teardown --all --execute"
)
def teardown(
    name: Job = None,
    every: Annotated[bool, typer.Option("--all", help="All jobs of this home that have ended.")] = False,
    local: Annotated[bool, typer.Option("--local", help="With --all: those that this machine carried out.")] = False,
    execute: Execute = False,
    as_json: Json = False,
) -> None:
    """Remove inputs, checkpoints and results of ended jobs from the bucket; exit code 2 where that is refused."""
    from sm_ops.core.errors import EXIT_INPUT
    from sm_ops.storage.sagemaker.teardown import OVER, remove, to_remove

    journal = _journal()
    with journal.held():
        entries = journal.entries()
        ended = [entry for entry in entries if entry.state in OVER and entry.local == local]
        chosen = ended if every else [journal.find(name)]
        if any(entry.local for entry in chosen):
            home_with_servers()
        things = to_remove(chosen, entries)
        if execute:
            things = remove(things)
            if all(thing.state in ("absent", "removed") for thing in things):
                for entry in chosen:
                    entry.enter("removed")
    if as_json:
        print(json.dumps([thing.to_json() for thing in things], indent=1))
    else:
        print("\n".join(f"{thing.state:<8} {thing.uri}  {thing.detail}" for thing in things))
    if any(thing.state == "unknown" for thing in things):
        raise typer.Exit(EXIT_INPUT)
    if not execute:
        print("nothing was removed; add --execute", file=sys.stderr)


@app.command(hidden=True, epilog="Examples: sm-ops sagemaker inside config.yaml")
def inside(config: Config) -> None:
    """Make a run and its report, as a job's container does; versions, tracking and releases are made at home."""
    import importlib

    from sm_ops.core.home import home_folder
    from sm_ops.report.finish import results_of
    from sm_ops.runner import run_pipeline

    home = home_folder()
    run = run_pipeline(resolved_config(config, None), home)
    importlib.import_module(f"sm_ops.report.{run.flow}.html").write_report(run, home)
    numbers = results_of(run)
    numbers.print_table(numbers.load_results(run, home))


def _inventory(path: Path | None) -> dict[str, Any]:
    from sm_ops.core.config.sagemaker import Inventory

    return _section(Inventory, path, "inventory.json", "terraform -chdir=infra/terraform output -json inventory")


def _machine(path: Path | None) -> dict[str, Any]:
    from sm_ops.core.config.sagemaker import Machine

    return _section(Machine, path, "machine.yaml", "docs/how-to/sagemaker.md")


def _section(section: Any, path: Path | None, default: str, source: str) -> dict[str, Any]:
    from sm_ops.core.config.loading import load_section
    from sm_ops.core.errors import InputError
    from sm_ops.core.home import home_folder

    path = path or home_folder() / "sagemaker" / default
    if not path.is_file():
        raise InputError("no-file", f"There is no file {path}; it comes from: {source}")
    return load_section(section, path).model_dump(mode="json")


def _journal() -> Journal:
    from sm_ops.core.home import home_folder
    from sm_ops.storage.sagemaker.journal import Journal

    return Journal(home_folder())


def _executor(inventory: dict[str, Any], local: bool) -> Executor:
    from sm_ops.storage.sagemaker.local import LocalExecutor
    from sm_ops.storage.sagemaker.service import Service

    if local:
        return LocalExecutor(home_with_servers(), inventory["account"])
    return Service("sagemaker", inventory["region"])


def _found(name: str | None) -> tuple[Entry, Executor]:
    entry = _journal().find(name)
    return entry, _executor(entry.inventory, entry.local)


@contextmanager
def _channels(resolved: dict[str, Any]) -> Iterator[list[Channel]]:
    """The channels of a config; its own files are there until the block ends."""
    from sm_ops.core.fetched import located
    from sm_ops.core.home import home_folder
    from sm_ops.plans import places
    from sm_ops.storage.sagemaker.inputs import channels_of

    home = home_folder()
    config = located(resolved, home)
    with tempfile.TemporaryDirectory(prefix="sm-ops-") as folder:
        yield channels_of(config, places(config), [home / "vault", home / "keys"], Path(folder))


def _upload(channels: list[Channel], inventory: dict[str, Any]) -> None:
    from sm_ops.storage.sagemaker.upload import upload

    sent = upload(channels, inventory, lambda name: print(f"uploaded: {name}", file=sys.stderr))
    print(f"{sent.sent} files sent, {sent.found} were there", file=sys.stderr)


def _say_channels(channels: list[Channel]) -> None:
    for channel in channels:
        size = sum(path.stat().st_size for path in channel.files.values())
        told = f"{channel.name}: {len(channel.files)} files, {size / 1e6:.1f} MB, {channel.digest[:16]}"
        print(told, file=sys.stderr)


def _say_status(found: dict[str, Any]) -> None:
    for name, value in found.items():
        if value not in (None, 0):
            print(f"{name:<17} {value}")
