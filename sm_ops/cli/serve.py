"""The local stack: Prefect, MLflow, and when asked PostgreSQL and S3, as supervised processes on loopback."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from sm_ops.cli.options import Json, say_next

app = typer.Typer(rich_markup_mode=None)

_LINES = 200


@app.callback(
    invoke_without_command=True,
    epilog="Examples: sm-ops serve --dev | sm-ops serve --postgres --s3 --detach | sm-ops serve status",
)
def serve(
    context: typer.Context,
    dev: Annotated[
        bool, typer.Option("--dev", help="All in SQLite, and the schedules at once, as by: sm-ops deploy")
    ] = False,
    postgres: Annotated[bool, typer.Option("--postgres", help="Keep Prefect and MLflow in PostgreSQL.")] = False,
    s3: Annotated[bool, typer.Option("--s3", help="Start an S3 server too; MLflow keeps artifacts there.")] = False,
    detach: Annotated[bool, typer.Option("--detach", help="Leave it running; end it with: sm-ops serve stop")] = False,
) -> None:
    """Run Prefect's server and worker and MLflow's server on loopback, with passwords, until Ctrl-C.

    A home that once had PostgreSQL or S3 keeps it.
    """
    if context.invoked_subcommand is not None:
        return
    from sm_ops.core.config.deployments import chosen_file, load_deployments
    from sm_ops.core.home import home_folder
    from sm_ops.stack import lifecycle

    home = home_folder()
    pools = tuple(load_deployments(chosen_file(home)).pools)
    started = lifecycle.start(
        home, lambda: lifecycle.plan_of(home, postgres=postgres, s3=s3, dev=dev, pools=pools), attached=not detach
    )
    with lifecycle.ending(started, detach):
        lifecycle.wait_until_ready(started, _tell)
        if dev:
            lifecycle.deploy(home)
        _tell(f"ready; passwords are in {started.plan.folders.client}")
        say_next("serve status" if dev else "deploy")
        if not detach:
            lifecycle.wait(started)
    if not detach:
        _tell("stopped")


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@app.command(epilog="Examples: sm-ops serve status | sm-ops serve status --json")
def status(as_json: Json = False) -> None:
    """List the services of the running stack: state, address, process and since when; exit code 3 unless all answer."""
    from dataclasses import asdict

    from sm_ops.core.errors import EXIT_CHECK
    from sm_ops.core.home import home_folder
    from sm_ops.stack import state

    rows = state.services(home_folder())
    if as_json:
        print(json.dumps([asdict(row) for row in rows], indent=1))
    else:
        for row in rows:
            print(f"{row.name:<24} {row.state:<9} {row.url or '-':<22} {row.pid or '-':<8} since {row.since or '-'}")
    if not rows:
        _tell("No stack is running here; start one with: sm-ops serve --dev")
    if not rows or any(row.state != state.RUNNING for row in rows):
        raise typer.Exit(EXIT_CHECK)


@app.command(epilog="Examples: sm-ops serve stop")
def stop() -> None:
    """End the running stack, in order, and wait until no process of it is left."""
    from sm_ops.core.home import home_folder
    from sm_ops.stack import lifecycle

    _tell("stopped" if lifecycle.stop(home_folder()) else "No stack is running here.")


@app.command(epilog="Examples: sm-ops serve logs mlflow | sm-ops serve logs prefect-server")
def logs(name: Annotated[str, typer.Argument(help="Name of a service, as in: sm-ops serve status")]) -> None:
    """Print the last lines of a service's log."""
    from sm_ops.core.errors import InputError
    from sm_ops.core.home import home_folder
    from sm_ops.core.registry import did_you_mean
    from sm_ops.stack.plan import Folders

    folder = Folders(home_folder()).logs
    known = sorted(path.stem for path in folder.glob("*.log"))
    if name not in known:
        hint = f"There is no log of {name!r} in {folder}; {did_you_mean(name, known)}"
        raise InputError("no-log", hint)
    text = (folder / f"{name}.log").read_text(encoding="utf-8", errors="replace")
    print("\n".join(text.splitlines()[-_LINES:]))


@app.command(epilog="Examples: sm-ops serve backup /backups/2027-01-31")
def backup(
    out: Annotated[Path, typer.Argument(help="A folder that is not there yet, for its owner alone.")],
) -> None:
    """Save the databases, MLflow's artifacts and the vault, which stays encrypted, in a new folder; the stack may run.

    Not in it: keys and passwords, and objects of the S3 server.
    """
    from sm_ops.core.home import home_folder
    from sm_ops.stack.backup import backup as save

    manifest = save(home_folder(), out)
    print(out)
    _tell(f"{len(manifest['files'])} files; the vault's key is not among them, keep it elsewhere.")
    if manifest["stack"] and manifest["stack"]["s3"]:
        _tell("Objects of the S3 server are not in it; see docs/how-to/backup.md")
    say_next("serve restore", str(out))


@app.command(epilog="Examples: sm-ops serve restore /backups/2027-01-31")
def restore(source: Annotated[Path, typer.Argument(help="A folder that serve backup made.", metavar="FROM")]) -> None:
    """Bring a backup back into a home folder that has no data of a stack and no vault; exit code 3 if it is damaged."""
    from sm_ops.core.home import home_folder
    from sm_ops.stack.backup import restore as load

    manifest = load(source, home_folder())
    print(home_folder())
    _tell(f"{len(manifest['files'])} files of {manifest['made']} restored")
    say_next("serve" if manifest["stack"] else "vault status --verify")
