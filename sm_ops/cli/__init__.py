"""The command line. A module here is a group of commands; heavy imports stay inside the commands: help answers at once.

A new group is a module with a `typer.Typer` named `app`, and a line at the end of this file.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from contextlib import redirect_stderr, suppress
from typing import Annotated, Any, TextIO

import typer
from typer.exceptions import TyperException

from sm_ops import __version__
from sm_ops.cli import (
    attack,
    data,
    deploy,
    doctor,
    own_files,
    pii,
    pipelines,
    release,
    sagemaker,
    sanitize,
    serve,
    track,
    vault,
)
from sm_ops.core.errors import EXIT_INPUT, EXIT_INTERRUPTED, EXIT_UNREAD, SmOpsError, sanitise

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
app.add_typer(attack.app)
app.add_typer(sanitize.app)
app.add_typer(pii.app, name="pii")
app.add_typer(release.app, name="release")
app.add_typer(vault.app, name="vault")
app.add_typer(data.app, name="data")
app.add_typer(track.app, name="track")
app.add_typer(deploy.app)
app.add_typer(serve.app, name="serve")
app.add_typer(sagemaker.app, name="sagemaker")
app.add_typer(doctor.app)


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
    if sys.stdout is None:  # closed by the shell: its number must not go to a file that we open
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    stream = open(os.devnull, "w") if sys.stderr is None else sys.stderr  # noqa: SIM115
    with redirect_stderr(_Forgiving(stream)):  # type: ignore[type-var]
        _main()


class _Forgiving:
    """Standard error that nobody may read, or that a full disk does not take: what cannot be said ends no command."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write what can be written."""
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush what can be flushed."""
        with suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _main() -> None:
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # whoever ends us lets us end in order
    try:
        code = _invoke(sys.argv[1:])
        sys.stdout.flush()  # a reader that has gone is noticed here, not while the interpreter ends
        sys.exit(code)
    except KeyboardInterrupt:
        told = "interrupted; run the same command again; of a pipeline, finished steps are found."
        print(f"sm-ops: {told}", file=sys.stderr)
        sys.exit(EXIT_INTERRUPTED)
    except TyperException as error:
        message = error.format_message()  # type: ignore[attr-defined]
        print(f"sm-ops: {message} (see --help)", file=sys.stderr)
        sys.exit(EXIT_INPUT)
    except SmOpsError as error:
        _fail(error)
    except Exception as error:
        if isinstance(error, BrokenPipeError) and _is_unread(sys.stdout):
            os._exit(EXIT_UNREAD)  # without the interpreter's own try to write what is left
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


def _is_unread(stream: TextIO) -> bool:
    """Whether the reader of a pipe has gone, as it has of `sm-ops ... | head`."""
    poller = select.poll()
    poller.register(stream, 0)
    return any(events & (select.POLLERR | select.POLLHUP) for _, events in poller.poll(0))


def _fail(error: SmOpsError) -> None:
    print(f"sm-ops: {error}", file=sys.stderr)
    sys.exit(error.exit_code)
