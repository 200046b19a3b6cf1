"""Build a release and check its evidence."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from sm_ops.cli.options import Json, Orchestrate, ReleaseName, become_flow
from sm_ops.cli.release.signing import PassphraseFile

app = typer.Typer()


@app.command(
    epilog="Examples: sm-ops release build notes@1.0 --run mine | sm-ops release build notes@1.0 --data "
    "masked/redacted.jsonl --method redacted --source train.jsonl --places masked/masks.parquet --about about.yaml"
)
def build(
    release: ReleaseName,
    run: Annotated[
        str | None, typer.Option("--run", help="A run's id or its beginning; default, without --data: the newest.")
    ] = None,
    data: Annotated[list[Path] | None, typer.Option("--data", help="Records whose values are gone.")] = None,
    method: Annotated[
        str | None, typer.Option("--method", help="How the values of --data went: redacted, reversible or scrubbed.")
    ] = None,
    source: Annotated[
        list[Path] | None, typer.Option("--source", help="What a --data was made from; never released.")
    ] = None,
    places: Annotated[
        list[Path] | None, typer.Option("--places", help="What was removed of a --source: a mask file.")
    ] = None,
    known_values: Annotated[
        list[Path] | None, typer.Option("--known-values", help="Values that must stand nowhere.", metavar="FILE")
    ] = None,
    vault: Annotated[
        list[str] | None, typer.Option("--vault", help="The vault's dataset that restores a --data.", metavar="NAME")
    ] = None,
    calibration: Annotated[Path | None, typer.Option("--calibration", help="What sm-ops calibrate wrote.")] = None,
    about: Annotated[Path | None, typer.Option("--about", help="What people say of the data (.yaml).")] = None,
    policy: Annotated[Path | None, typer.Option("--policy", help="Another policy than the usual one (.yaml).")] = None,
    orchestrate: Orchestrate = False,
) -> None:
    """Make the bundle of a release: data, evidence and a signed manifest."""
    if orchestrate:
        if data or method or source or places or known_values or vault or calibration or about or policy:
            raise _usage("A flow builds from a run, as its config and the usual policy say; leave out other options.")
        become_flow("flows.release", "build", release, *(["--run", run] if run else []))
    from sm_ops.core.home import find_run, home_folder
    from sm_ops.release.folder import named
    from sm_ops.release.sources import material_of
    from sm_ops.release.states import next_command, state_of
    from sm_ops.release.verbs.build import build as build_release

    home = home_folder()
    known = named(home, release).exists()
    if data:
        if run is not None:
            raise _usage("--run and --data are two origins of a release; choose one.")
        material = _of_files(data, method, source, places, known_values, vault, calibration, about)
    else:
        if method or source or places or known_values or vault or calibration:
            raise _usage("--method, --source, --places, --known-values, --vault and --calibration speak of --data.")
        material = material_of(home, find_run(home, run), about)
    built = build_release(home, release, material, policy)
    print(built.folder)
    state = state_of(built)
    if known:
        print(f"{built} was already built from the same, and is {state.name}", file=sys.stderr)
    if due := next_command(built, state):
        print(f"next: {due}", file=sys.stderr)


@app.command(
    epilog="Examples: sm-ops release check notes@1.0 | "
    "sm-ops release check notes@1.0 --waive canaries --reason 'no model is trained on it' --key ben.pem"
)
def check(
    release: ReleaseName,
    waive: Annotated[
        str | None, typer.Option("--waive", help="Let the release pass this check.", metavar="CHECK")
    ] = None,
    reason: Annotated[str | None, typer.Option(help="Why; everybody who signs reads it.", metavar="TEXT")] = None,
    key: Annotated[
        Path | None, typer.Option("--key", help="Key of somebody with the role privacy.", metavar="FILE")
    ] = None,
    passphrase_file: PassphraseFile = None,
    as_json: Json = False,
) -> None:
    """Check the evidence of a release against its policy; exit code 3 when something stops it."""
    from sm_ops.cli.release.signing import signer
    from sm_ops.core.display import patiently
    from sm_ops.core.errors import EXIT_CHECK
    from sm_ops.core.home import home_folder
    from sm_ops.release import approvals, approvers
    from sm_ops.release.folder import existing
    from sm_ops.release.policy import policy_of
    from sm_ops.release.states import next_command, state_of
    from sm_ops.release.verbs import check as verb

    wanted = existing(home_folder(), release)
    if waive is None:
        if reason is not None or key is not None:
            raise _usage("--reason and --key speak of a waiver; name the check with --waive.")
        with patiently("checking") as progress:
            done = verb.check(wanted, progress)
    else:
        if reason is None or key is None:
            raise _usage("--waive needs --reason and --key: who lets it pass, and why.")
        done = verb.waive(wanted, waive, reason, signer(key, passphrase_file))
    print(json.dumps(done.checks, indent=1) if as_json else "\n".join(done.lines))
    print(f"{wanted}: {done.said}", file=sys.stderr)
    if not done.passed:
        print(f"next: correct what failed and build another version, or {verb.waiver_command(wanted)}", file=sys.stderr)
        raise typer.Exit(EXIT_CHECK)
    state = state_of(wanted)
    if state.due == "request":
        for sentence in approvals.out_of_reach(approvers.of(wanted.home), policy_of(wanted)):
            print(sentence, file=sys.stderr)
    if command := next_command(wanted, state):
        print(f"next: {command}", file=sys.stderr)


def _of_files(
    data: list[Path],
    method: str | None,
    source: list[Path] | None,
    places: list[Path] | None,
    values: list[Path] | None,
    vault: list[str] | None,
    calibration: Path | None,
    about: Path | None,
) -> Any:
    from sm_ops.release.about import read_about
    from sm_ops.release.material import METHODS, Method
    from sm_ops.release.sources import Restricted, from_files

    chosen: Method | None = next((each for each in METHODS if each == method), None)
    if chosen is None:
        raise _usage(f"--data needs --method, how its values went: {', '.join(METHODS)}.")
    if about is None:
        raise _usage("--data needs --about: title and description at least, see docs/how-to/own-data.md")
    own = Restricted(source or (), places or (), values or (), vault or (), calibration)
    return from_files(data, read_about(about), chosen, own)


def _usage(hint: str) -> Exception:
    from sm_ops.core.errors import InputError

    return InputError("usage", hint)
