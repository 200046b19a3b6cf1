"""Deployments: register on the Prefect server what runs by schedule, and see how it fares."""

from __future__ import annotations

from typing import Annotated

import typer

from sm_ops.cli.options import Json, become_flow

app = typer.Typer(rich_markup_mode=None)


@app.command(
    epilog="Examples: sm-ops deploy | sm-ops deploy my_deployments.yaml | sm-ops deploy --status | "
    "sm-ops deploy --status --json"
)
def deploy(
    file: Annotated[
        str | None, typer.Argument(help="A deployments file; default: the last one that was named, else the package's.")
    ] = None,
    status: Annotated[bool, typer.Option("--status", help="Show schedules and their last runs instead.")] = False,
    as_json: Json = False,
) -> None:
    """Register pools, schedules and automations on the Prefect server; a second time changes nothing.

    What was paused there stays paused; schedules that the file no longer has are removed.
    """
    from sm_ops.core.errors import InputError

    if status and file is not None:
        raise InputError("usage", "--status shows what the server has; leave the file away.")
    become_flow("flows.deploy", "status" if status else "apply", file, "--json" if as_json else None)
