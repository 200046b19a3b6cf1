"""The command line. A module here is a group of commands; heavy imports stay inside the commands: help answers at once.

A new group is a module with a `typer.Typer` named `app`, and a line at the end of this file.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer
from typer.exceptions import TyperException

from sm_ops import __version__
from sm_ops.cli import doctor, own_files, pii, pipelines, track, vault
from sm_ops.core.errors import EXIT_INPUT, EXIT_INTERRUPTED, SmOpsError, sanitise

app = typer.Typer(
    name="sm-ops",
    help="Shows on your own data what each protection against leakage costs and gains.",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    epilog="Start with: sm-ops run",
)
app.add_typer(pipelines.app)
app.add_typer(own_files.app)
app.add_typer(track.app, name="track")
app.add_typer(vault.app, name="vault")
app.add_typer(doctor.app)
app.add_typer(pii.app, name="pii")


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context, version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False
) -> None:
    if version:
        print(f"sm-ops {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())


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
