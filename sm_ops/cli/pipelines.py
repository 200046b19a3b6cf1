"""Pipelines: run them, or one step of them, and see what is there."""

from __future__ import annotations

import importlib
import json
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from sm_ops.cli.options import (
    Config,
    FromConfig,
    Jobs,
    Json,
    Orchestrate,
    RunName,
    Set,
    become_flow,
    home_with_servers,
    resolved_config,
    same_config,
    say_next,
)
from sm_ops.core.registry import KINDS

app = typer.Typer()

RECIPES = {
    "surprise": "sm_ops.training.recipe",
    "pii": "sm_ops.pii.extractor.recipe",
    "audit": "sm_ops.attacks.recipe",
    "sanitize": "sm_ops.sanitizing.recipe",
    "ranking": "sm_ops.ranking.recipe",
    "rewriting": "sm_ops.rewriting.recipe",
}
"""What checks a config of each flow by one real step on a small random model."""


@app.command(epilog="Examples: sm-ops run | sm-ops run tiny --set seeds=[0] | sm-ops run my.yaml --jobs 1")
def run(
    config: Config = "tiny",
    overrides: Set = None,
    jobs: Jobs = None,
    orchestrate: Orchestrate = False,
) -> None:
    """Run a pipeline from data to the frontier; what is stored is found, not made again."""
    _run(resolved_config(config, overrides), jobs, orchestrate)


@app.command(
    epilog="Examples: sm-ops sweep | sm-ops sweep interventions_tiny | sm-ops sweep --set seeds=[0,1] --jobs 2"
)
def sweep(
    config: Config = "sweep",
    overrides: Set = None,
    jobs: Jobs = None,
    orchestrate: Orchestrate = False,
) -> None:
    """Draw the larger picture (100 canaries, more points, five seeds), or fill the tables of any preset."""
    _run(resolved_config(config, overrides), jobs, orchestrate)


def _run(resolved: dict[str, Any], jobs: int | None, orchestrate: bool) -> None:
    from sm_ops.plans import check

    check(resolved)
    home = home_with_servers()
    if orchestrate:
        _flow(f"flows.{resolved['flow']}", resolved, jobs, home)
    from sm_ops.release import after_run
    from sm_ops.report.finish import finish
    from sm_ops.runner import run_pipeline

    finish(run_pipeline(resolved, home, jobs), home, after_run.release)


def _flow(module: str, resolved: dict[str, Any], jobs: int | None, home: Path) -> NoReturn:
    from sm_ops.core.fs import canonical_json, sha256, write_json

    path = home / "configs" / f"{sha256(canonical_json(resolved))[:16]}.json"
    write_json(path, resolved)
    become_flow(module, str(path), str(jobs) if jobs else None)


@app.command(epilog="Examples: sm-ops stage synthesize | sm-ops stage train@SM95-0 --out out")
def stage(
    name: Annotated[str, typer.Argument(help="A step's name, as sm-ops ls shows it.")],
    config: FromConfig = "tiny",
    overrides: Set = None,
    out: Annotated[Path | None, typer.Option(help="Also export the result below this folder.")] = None,
) -> None:
    """Run one step, whose inputs must be stored, and optionally export it where DVC looks for it."""
    from sm_ops.core.home import home_folder
    from sm_ops.runner import reader_of, run_stage

    resolved = resolved_config(config, overrides)
    run_stage(name, resolved, home_folder(), out)
    same = same_config(config, overrides, "--config")
    say_next(f"stage {step}" if (step := reader_of(name, resolved)) else "show", *same)


@app.command(name="ls", epilog="Examples: sm-ops ls | sm-ops ls steps | sm-ops ls runs --json")
def list_(
    what: Annotated[
        str, typer.Argument(help=f"stages, steps, runs, presets, or a kind of member: {', '.join(KINDS)}.")
    ] = "stages",
    config: FromConfig = "tiny",
    as_json: Json = False,
) -> None:
    """List stages, a pipeline's steps, runs, presets, or the members of a kind, such as datasets."""
    from sm_ops.listing import listing

    rows = listing(what, config)
    if as_json:
        print(json.dumps(rows, indent=1))
        return
    for row in rows:
        print("  ".join(str(value) for value in row.values()))


@app.command(epilog="Examples: sm-ops show | sm-ops show mask | sm-ops show tiny-0a1b | sm-ops show --set seeds=[0]")
def show(
    what: Annotated[
        str | None,
        typer.Argument(
            help="A step, or a run by its id, commit or MLflow run; default: all steps, and their run.",
            metavar="[STEP|RUN]",
        ),
    ] = None,
    config: FromConfig = "tiny",
    overrides: Set = None,
    as_json: Json = False,
) -> None:
    """Tell of each step whether it is stored, and in words why it would run again; of a run, what belongs to it."""
    from sm_ops.core.errors import InputError
    from sm_ops.core.home import home_folder, linked_run
    from sm_ops.core.registry import did_you_mean
    from sm_ops.listing import chain, is_step, run_of, states
    from sm_ops.plans import plan

    home, resolved = home_folder(), resolved_config(config, overrides)
    if what and not is_step(what, resolved):
        run = linked_run(home, what)
        if run is None:
            near = did_you_mean(what, [step.name for step in plan(resolved)])
            hint = f"There is neither a step nor a run {what!r}; of steps {near}. See: sm-ops ls steps, sm-ops ls runs"
            raise InputError("unknown-step", hint)
        if as_json:
            print(json.dumps(chain(run), indent=1))
        else:
            _show_run(chain(run))
        say_next(f"report {run.id}")
        return
    rows = states(resolved, home, what)
    if as_json:
        print(json.dumps(rows, indent=1))
        return
    for row in rows:
        print(f"{row['step']:<28} {row['state']}")
        for reason in row["reasons"]:
            print(f"    {reason}")
    if what is None and (run := run_of(rows, home)):
        print()
        _show_run(chain(run))
    if all(row["state"] == "stored" for row in rows):
        say_next("report")
    else:
        say_next("run", *same_config(config, overrides))


def _show_run(chain: dict[str, str]) -> None:
    for name, value in chain.items():
        print(f"{name:<7} {value}")


@app.command(epilog="Examples: sm-ops report | sm-ops report --json | sm-ops report tiny-0a1b | "
    "sm-ops report --suitability | sm-ops report --coverage")  # fmt: skip
def report(
    name: RunName = None,
    suitability: Annotated[
        bool, typer.Option("--suitability", help="One page on all runs: where surprise separates, and where not.")
    ] = False,
    coverage: Annotated[
        bool, typer.Option("--coverage", help="One page on all runs: what masks cover, and what comes of it.")
    ] = False,
    out: Annotated[
        Path | None, typer.Option(help="Write that page below this folder; default: its name in the home folder.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Print a run's table (or its numbers as JSON) and where its report lies; or make a page on all runs."""
    from sm_ops.core.home import find_run, home_folder
    from sm_ops.report.finish import results_of

    pages = [page for page, asked in (("suitability", suitability), ("coverage", coverage)) if asked]
    if pages or out is not None:
        _page_of_all(name, pages, out, as_json)
        return
    found = find_run(home_folder(), name)
    numbers = results_of(found)
    results = numbers.load_results(found, home_folder())
    if as_json:
        print(json.dumps(results, indent=1))
        return
    numbers.print_table(results)
    print(f"report: {found.folder / 'report.html'}")


def _page_of_all(name: str | None, pages: list[str], out: Path | None, as_json: bool) -> None:
    from sm_ops.core.errors import InputError
    from sm_ops.core.home import home_folder

    if name is not None or len(pages) != 1:
        hint = (
            "--suitability is about all runs, as is --coverage, and --out about their page; leave the run out, and "
            "give one of the two."
        )
        raise InputError("page-of-all", hint)
    (page,) = pages
    collect = importlib.import_module(f"sm_ops.report.{page}.collect")
    html = importlib.import_module(f"sm_ops.report.{page}.html")
    found = collect.collect(home_folder())
    path = html.write(found, out or home_folder() / page)
    if as_json:
        print(json.dumps(found, indent=1))
        return
    print("\n".join([*html.lines(found), f"page: {path}"]))
    say_next("report")


@app.command(epilog="Examples: sm-ops init | sm-ops init params.yaml | sm-ops init --model smollm2")
def init(
    config: Config = "tiny",
    overrides: Set = None,
    model: Annotated[
        str | None, typer.Option(help="Fetch this model into the home folder instead: smollm2.", metavar="MODEL")
    ] = None,
) -> None:
    """Write a pipeline into the present folder for DVC (params.yaml and dvc.yaml), or fetch a real model."""
    if model is not None:
        _fetch(model)
        return
    from sm_ops.plans import plan
    from sm_ops.versioning.pipeline import write_files

    resolved = resolved_config(config, overrides)
    for path in write_files(Path.cwd(), resolved, plan(resolved)):
        print(path.name)
    print("next: dvc --wait-for-lock repro (in a git repository with DVC: dvc init)", file=sys.stderr)


def _fetch(model: str) -> None:
    from sm_ops.core.errors import InputError
    from sm_ops.core.fetched import HUB_NAMES
    from sm_ops.core.home import home_folder
    from sm_ops.core.registry import did_you_mean

    if model not in HUB_NAMES:
        hint = f"There is no model {model!r} to fetch; {did_you_mean(model, HUB_NAMES)}."
        raise InputError("unknown-model", hint)
    from sm_ops.fetching import smollm2

    fetched = smollm2.fetch(home_folder())
    print(fetched.folder)
    state = "was here already, from" if fetched.found else "fetched from"
    print(f"{HUB_NAMES[model]}: {state} {fetched.source}", file=sys.stderr)
    print("next: sm-ops run small", file=sys.stderr)


@app.command(
    epilog="Examples: sm-ops validate | sm-ops validate code_pii_paper --json | sm-ops validate small --resolve"
)
def validate(
    config: Config = "tiny",
    overrides: Set = None,
    to_json: Annotated[bool, typer.Option("--resolve", help="Print the config with every default filled in.")] = False,
    as_json: Json = False,
) -> None:
    """Check a config: its schema, its arithmetic, and its recipe on a small random model of the same class."""
    resolved = resolved_config(config, overrides)
    if to_json:
        print(json.dumps(resolved, indent=1))
        return
    from sm_ops.plans import check, plan
    from sm_ops.training.recipe import lacks_hosts

    check(resolved)
    steps = len(plan(resolved))
    recipe = importlib.import_module(RECIPES[resolved["flow"]])
    facts = recipe.check(resolved)
    if as_json:
        print(json.dumps({**facts, "plan_steps": steps}, indent=1))
        return
    hosts = ["--set", "data.hosts=PATH"] if lacks_hosts(facts.get("data") or {}) else []
    start = shlex.join(["sm-ops", "run", *same_config(config, overrides), *hosts])
    print("\n".join([*recipe.describe(facts), f"plan: {steps} steps; start with: {start}"]))
