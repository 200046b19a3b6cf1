"""The command line. Every import of a heavy library stays inside its command, so that help answers at once."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from typer.exceptions import TyperException

from sm_ops import __version__
from sm_ops.core.errors import EXIT_INPUT, EXIT_INTERRUPTED, SmOpsError, sanitise

app = typer.Typer(
    name="sm-ops",
    help="Shows on your own data what each protection against leakage costs and gains.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    epilog="Start with: sm-ops run",
)

Config = Annotated[str, typer.Argument(help="A preset (tiny, small, paper) or a .yaml file.", metavar="[CONFIG]")]
Set = Annotated[
    list[str] | None, typer.Option("--set", help="Override one setting, as KEY=VALUE.", metavar="KEY=VALUE")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for a program.")]
Jobs = Annotated[int | None, typer.Option(min=1, help="Worker processes at a time; default: one a core.")]
Orchestrate = Annotated[bool, typer.Option("--orchestrate", help="Run the same steps as a Prefect flow.")]
RecordFile = Annotated[Path, typer.Argument(help="Records, JSONL or Parquet.", metavar="RECORDS")]
ScoreFile = Annotated[Path, typer.Option("--scores", help="Score file of these records.")]
Tokenizer = Annotated[
    str | None, typer.Option(help="Model whose tokens are masked, if it is not the reference.", metavar="MODEL")
]
Other = Annotated[
    Path | None, typer.Option(help="The same records with the spans that another filter masks.", metavar="RECORDS")
]
RunName = Annotated[str | None, typer.Argument(help="A run's id or its beginning; default: the newest.")]


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context, version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False
) -> None:
    if version:
        print(f"sm-ops {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())


def _resolved(config: str, overrides: list[str] | None) -> dict[str, Any]:
    from sm_ops.core.config import load_pipeline, resolve

    return resolve(load_pipeline(config, overrides))


def _next(command: str, config: str = "tiny") -> None:
    """The last line for people says what to type next."""
    chosen = "" if config == "tiny" else f" --config {config}"
    print(f"next: sm-ops {command}{chosen}", file=sys.stderr)


@app.command(epilog="Examples: sm-ops run | sm-ops run tiny --set seeds=[0] | sm-ops run my.yaml --jobs 1")
def run(
    config: Config = "tiny",
    overrides: Set = None,
    jobs: Jobs = None,
    orchestrate: Orchestrate = False,
) -> None:
    """Run a pipeline from data to the frontier; what is stored is found, not made again."""
    _run(_resolved(config, overrides), jobs, orchestrate)


@app.command(epilog="Examples: sm-ops sweep | sm-ops sweep --set seeds=[0,1] --jobs 2")
def sweep(
    config: Annotated[str, typer.Argument(help="A preset or a .yaml file.", metavar="[CONFIG]")] = "sweep",
    overrides: Set = None,
    jobs: Jobs = None,
    orchestrate: Orchestrate = False,
) -> None:
    """Draw the larger picture: 100 canaries, more operating points and five seeds over the same stages."""
    _run(_resolved(config, overrides), jobs, orchestrate)


def _run(resolved: dict[str, Any], jobs: int | None, orchestrate: bool) -> None:
    from sm_ops.core.home import home_folder

    if orchestrate:
        _flow("flows.surprise", resolved, jobs)
    from sm_ops.report.finish import finish
    from sm_ops.runner import run_pipeline

    finish(run_pipeline(resolved, home_folder(), jobs), home_folder())


def _flow(module: str, resolved: dict[str, Any], jobs: int | None) -> NoReturn:
    """Become the process of a flow, which alone imports Prefect: signals and the exit code are its own."""
    from sm_ops.core.fs import canonical_json, sha256, write_json
    from sm_ops.core.home import home_folder

    path = home_folder() / "configs" / f"{sha256(canonical_json(resolved))[:16]}.json"
    write_json(path, resolved)
    command = [sys.executable, "-m", module, str(path), *([str(jobs)] if jobs else [])]
    os.execv(sys.executable, command)


@app.command(epilog="Examples: sm-ops stage synthesize | sm-ops stage train@SM95-0 --out out")
def stage(
    name: Annotated[str, typer.Argument(help="A step's name, as sm-ops ls shows it.")],
    config: Annotated[str, typer.Option("--config", help="A preset or a .yaml file.")] = "tiny",
    overrides: Set = None,
    out: Annotated[Path | None, typer.Option(help="Also export the result below this folder.")] = None,
) -> None:
    """Run one step, whose inputs must be stored, and optionally export it where DVC looks for it."""
    from sm_ops.core.home import home_folder
    from sm_ops.runner import reader_of, run_stage

    resolved = _resolved(config, overrides)
    run_stage(name, resolved, home_folder(), out)
    _next(f"stage {step}" if (step := reader_of(name, resolved)) else "show", config)


@app.command(name="ls", epilog="Examples: sm-ops ls | sm-ops ls steps | sm-ops ls runs --json")
def list_(
    what: Annotated[str, typer.Argument(help="stages, steps, runs, presets, or a kind of member.")] = "stages",
    config: Annotated[str, typer.Option("--config", help="A preset or a .yaml file.")] = "tiny",
    as_json: Json = False,
) -> None:
    """List stages, a pipeline's steps, runs, presets, datasets, references, rules, baselines or attacks."""
    from sm_ops.listing import listing

    rows = listing(what, config)
    if as_json:
        print(json.dumps(rows, indent=1))
        return
    for row in rows:
        print("  ".join(str(value) for value in row.values()))


@app.command(epilog="Examples: sm-ops show | sm-ops show mask | sm-ops show train@SM95-0 --set train.epochs=4")
def show(
    step: Annotated[str | None, typer.Argument(help="A step; default: all steps of the pipeline.")] = None,
    config: Annotated[str, typer.Option("--config", help="A preset or a .yaml file.")] = "tiny",
    overrides: Set = None,
    as_json: Json = False,
) -> None:
    """Tell of each step whether it is stored, and in words why it would run again."""
    from sm_ops.core.home import home_folder
    from sm_ops.listing import states

    rows = states(_resolved(config, overrides), home_folder(), step)
    if as_json:
        print(json.dumps(rows, indent=1))
        return
    for row in rows:
        print(f"{row['step']:<28} {row['state']}")
        for reason in row["reasons"]:
            print(f"    {reason}")
    stored = all(row["state"] == "stored" for row in rows)
    _next("report" if stored else "run" if config == "tiny" else f"run {config}")


@app.command(epilog="Examples: sm-ops report | sm-ops report --json | sm-ops report tiny-0a1b")
def report(name: RunName = None, as_json: Json = False) -> None:
    """Print a run's table (or its numbers as JSON) and where its report lies."""
    from sm_ops.core.home import find_run, home_folder
    from sm_ops.report.results import load_results, print_table

    found = find_run(home_folder(), name)
    results = load_results(found, home_folder())
    if as_json:
        print(json.dumps(results, indent=1))
        return
    print_table(results)
    print(f"report: {found.folder / 'report.html'}")


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
    from sm_ops.stages import plan
    from sm_ops.versioning.pipeline import write_files

    resolved = _resolved(config, overrides)
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
    epilog="Examples: sm-ops score train.jsonl --model gpt2 | sm-ops score train.jsonl --model mine/ --set workers=2"
)
def score(
    records: RecordFile,
    model: Annotated[str, typer.Option(help="Folder or hub name of a causal model, or what a backend reads.")],
    out: Annotated[Path, typer.Option(help="Score file to write (.parquet or .jsonl).")] = Path("scores.parquet"),
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", help="A setting of a reference: backend, prompt, dtype, ...", metavar="KEY=VALUE"),
    ] = None,
) -> None:
    """Score every token of your records under a reference model; run again after a kill, it goes on."""
    from sm_ops import surprise
    from sm_ops.core.config import parsed
    from sm_ops.core.display import counting
    from sm_ops.core.fs import canonical_json, check_outputs, private_folder, sha256
    from sm_ops.core.home import home_folder

    os.environ |= {"TRANSFORMERS_VERBOSITY": "error", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}  # the bar is ours
    check_outputs([out], [records, Path(model)], (".parquet", ".jsonl"))
    settings = parsed(overrides)
    digest = sha256(canonical_json([str(records.absolute()), model, settings]))
    folder = private_folder(home_folder() / "restricted") / ".scratch" / f"score-{digest[:16]}"
    with counting("records scored") as progress:
        scores = surprise.score(records, model, folder=folder, progress=progress, **settings)
    scores.save(out)
    shutil.rmtree(folder, ignore_errors=True)
    print(out)
    print(f"next: sm-ops calibrate {records} --scores {out} (labelled records)", file=sys.stderr)


@app.command(
    epilog="Examples: sm-ops calibrate validation.jsonl --scores scores.parquet --auto | sm-ops calibrate "
    "validation.jsonl --scores scores.parquet --set windows=line --set k=1 --set propagate=none"
)
def calibrate(
    records: RecordFile,
    scores: ScoreFile,
    out: Annotated[Path, typer.Option("--out", help="Where to write the calibration.")] = Path("calibration.json"),
    auto: Annotated[bool, typer.Option("--auto", help="Compare the paper's rules, choose, and verify.")] = False,
    target: Annotated[list[float] | None, typer.Option(help="Target recall of an operating point.")] = None,
    acceptable: Annotated[float, typer.Option(help="Largest collateral masking rate that you accept.")] = 0.25,
    confidence: Annotated[
        float | None, typer.Option(help="With which the recall shall hold for further identities.")
    ] = None,
    by: Annotated[str | None, typer.Option(help="Key of the records' meta: one threshold per value.")] = None,
    tokenizer: Tokenizer = None,
    other: Other = None,
    verify: Annotated[Path | None, typer.Option(help="Labelled records that verify the choice.")] = None,
    verify_scores: Annotated[Path | None, typer.Option(help="Their score file.")] = None,
    application: Annotated[Path | None, typer.Option(help="Labelled records like those to be masked.")] = None,
    application_scores: Annotated[Path | None, typer.Option(help="Their score file.")] = None,
    overrides: Annotated[
        list[str] | None, typer.Option("--set", help="A setting of the rule: windows, n, k, ...", metavar="KEY=VALUE")
    ] = None,
    as_json: Json = False,
) -> None:
    """Choose thresholds on labelled records, and say whether surprise masking is the right tool for them."""
    from sm_ops import surprise
    from sm_ops.core.config import parsed
    from sm_ops.core.fs import check_outputs
    from sm_ops.report.calibration import lines

    inputs = [records, scores, other, verify, verify_scores, application, application_scores]
    check_outputs([out], inputs, (".json",))
    calibration = surprise.calibrate(
        records,
        surprise.Scores.load(scores),
        rule=parsed(overrides),
        auto=auto,
        tokenizer=tokenizer,
        targets=target or (0.5, 0.7, 0.9, 0.95),
        acceptable_collateral=acceptable,
        confidence=confidence,
        by=by,
        other=other,
        verify=_pair("verify", verify, verify_scores),
        application=_pair("application", application, application_scores),
    )
    calibration.save(out)
    print(json.dumps(calibration.report, indent=1) if as_json else "\n".join(lines(calibration.report)))
    if calibration.verdict["decision"] == "suitable":
        print(f"next: sm-ops mask RECORDS --scores SCORES --calibration {out}", file=sys.stderr)
    else:
        print(f"next: another rule or reference; {out} masks at a named --point alone", file=sys.stderr)


def _pair(option: str, records: Path | None, scores: Path | None) -> Any:
    from sm_ops import surprise
    from sm_ops.core.errors import InputError

    if (records is None) != (scores is None):
        raise InputError("half-a-pair", f"--{option} and --{option}-scores belong together; give both.")
    return None if records is None or scores is None else (records, surprise.Scores.load(scores))


@app.command(
    epilog="Examples: sm-ops mask train.jsonl --scores train.parquet --calibration calibration.json | sm-ops mask "
    "train.jsonl --scores train.parquet --calibration calibration.json --point SM95 --redact"
)
def mask(
    records: RecordFile,
    scores: ScoreFile,
    calibration: Annotated[Path, typer.Option("--calibration", help="What sm-ops calibrate wrote.")],
    out: Annotated[Path, typer.Option("--out", help="Folder for the results.")] = Path("masked"),
    point: Annotated[str | None, typer.Option(help="Operating point; default: the one that calibration chose.")] = None,
    tokenizer: Tokenizer = None,
    other: Other = None,
    combine: Annotated[
        str | None, typer.Option(help="With the other filter: union (default), intersection or residual.")
    ] = None,
    redact: Annotated[bool, typer.Option("--redact", help="Also write records with masked spans replaced.")] = False,
    placeholder: Annotated[str, typer.Option(help="What takes the place of a masked span.")] = "[MASKED]",
) -> None:
    """Mask records by a calibrated rule: a masked training set, the spans with their reasons, redacted records."""
    from sm_ops import surprise
    from sm_ops.core.errors import InputError
    from sm_ops.core.fs import check_outputs

    written = [out / "train.parquet", out / "masks.parquet", out / "bound.json"]
    redacted = out / "redacted.jsonl"
    check_outputs([*written, redacted], [records, scores, calibration, other], (".parquet", ".json", ".jsonl"))
    if combine is not None and other is None:
        raise InputError("no-other", "--combine needs the other filter's spans; give them with --other.")
    if redacted.exists() and not redact:
        hint = f"{redacted} is of an earlier mask and would not fit this one; add --redact, or choose another --out."
        raise InputError("stale-redaction", hint)
    masked = surprise.mask(
        records,
        surprise.Scores.load(scores),
        surprise.Calibration.load(calibration),
        point=point,
        tokenizer=tokenizer,
        other=other,
        combination=combine or "union",
    )
    masked.write(out)
    if redact:
        written.append(redacted)
        masked.write_redacted(redacted, placeholder)
    print("\n".join(map(str, written)))
    print("\n".join(masked.summary(placeholder if redact else None)), file=sys.stderr)


track = typer.Typer(help="Send runs to MLflow.", rich_markup_mode=None)
app.add_typer(track, name="track")


@track.callback()
def _track() -> None:
    """Send runs to MLflow: to MLFLOW_TRACKING_URI, or to a file in the home folder."""


@track.command(epilog="Examples: sm-ops track push | MLFLOW_TRACKING_URI=http://127.0.0.1:5000 sm-ops track push")
def push() -> None:
    """Send every finished run that the tracking server does not have yet."""
    from sm_ops.core.home import home_folder
    from sm_ops.tracking.runs import push as push_runs

    sent = push_runs(home_folder())
    for run_id in sent:
        print(run_id)
    print(f"{len(sent)} runs sent; next: sm-ops report", file=sys.stderr)


@app.command(epilog="Examples: sm-ops validate | sm-ops validate paper --json | sm-ops validate small --resolve")
def validate(
    config: Config = "tiny",
    overrides: Set = None,
    to_json: Annotated[bool, typer.Option("--resolve", help="Print the config with every default filled in.")] = False,
    as_json: Json = False,
) -> None:
    """Check a config: its schema, its arithmetic, and its recipe on a small random model of the same class."""
    resolved = _resolved(config, overrides)
    if to_json:
        print(json.dumps(resolved, indent=1))
        return
    from sm_ops.core.errors import InputError
    from sm_ops.stages import absent_places, plan
    from sm_ops.training import recipe

    if absent := absent_places(resolved):
        raise InputError("no-place", f"{absent[0]} names a file or folder that is not there; correct the path.")
    steps = len(plan(resolved))
    facts = recipe.check(resolved)
    if as_json:
        print(json.dumps({**facts, "plan_steps": steps}, indent=1))
        return
    print("\n".join([*recipe.describe(facts), f"plan: {steps} steps; start with: sm-ops run {config}"]))


def main() -> None:
    """Entry point: every failure is one sentence on standard error and an exit code."""
    try:
        code = _invoke(sys.argv[1:])
        sys.stdout.flush()  # a reader that has gone is noticed here, not while the interpreter ends
        sys.exit(code)
    except KeyboardInterrupt:
        print("sm-ops: interrupted; run the same command again, finished steps are found.", file=sys.stderr)
        sys.exit(EXIT_INTERRUPTED)
    except TyperException as error:
        message = error.format_message()  # type: ignore[attr-defined]
        print(f"sm-ops: {message} (see --help)", file=sys.stderr)
        sys.exit(EXIT_INPUT)
    except BrokenPipeError:
        os._exit(0)  # the reader of our output has gone
    except SmOpsError as error:
        _fail(error)
    except Exception as error:
        _fail(sanitise(error))


def _invoke(arguments: list[str]) -> int:
    """Run a command; unlike the application's own call, this turns no interrupt or closed pipe into an exit code."""
    group = typer.main.get_command(app)
    try:
        with group.make_context("sm-ops", arguments) as context:
            group.invoke(context)
    except typer.Exit as end:
        return end.exit_code
    return 0


def _fail(error: SmOpsError) -> None:
    print(f"sm-ops: {error}", file=sys.stderr)
    sys.exit(error.exit_code)


if __name__ == "__main__":
    main()
