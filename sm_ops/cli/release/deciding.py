"""Ask for a release, approve it, reject it."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from sm_ops.cli.options import ReleaseName
from sm_ops.cli.release import keys
from sm_ops.cli.release.signing import KeyFile, PassphraseFile

app = typer.Typer()
app.add_typer(keys.app, name="key")


@app.command(epilog="Examples: sm-ops release request notes@1.0 --key ada.pem --reason 'the study needs them'")
def request(
    release: ReleaseName,
    key: KeyFile,
    reason: Annotated[str, typer.Option(help="Why it should leave the house; it is signed.", metavar="TEXT")],
    passphrase_file: PassphraseFile = None,
) -> None:
    """Ask that a release whose checks pass may leave the house; your own approval will not count."""
    from sm_ops.cli.release.signing import signer
    from sm_ops.release.verbs.request import request as ask

    wanted = _existing(release)
    new = ask(wanted, signer(key, passphrase_file), reason)
    _say(wanted, f"{wanted} {'requested' if new else 'already requested'}")


@app.command(
    epilog="Examples: sm-ops release approve notes@1.0 --key ben.pem | "
    "sm-ops release approve notes@1.0 --key ben.pem --yes --digest SHA256"
)
def approve(
    release: ReleaseName,
    key: KeyFile,
    remark: Annotated[str | None, typer.Option(help="A line for the log.", metavar="TEXT")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask; needs --digest.")] = False,
    digest: Annotated[str | None, typer.Option(help="Of the request, as this command shows it.")] = None,
    passphrase_file: PassphraseFile = None,
) -> None:
    """Verify a release, show what is asked for, and sign exactly that."""
    from sm_ops.cli.release.signing import confirm, signer
    from sm_ops.release.verbs import approve as verb

    wanted = _existing(release)
    gist = verb.read(wanted)
    print(wanted, file=sys.stderr)
    for line in gist.lines:
        print(line, file=sys.stderr)
    for line in gist.alarms:
        typer.secho(line, fg=typer.colors.RED, err=True)
    for line in gist.standing:
        print(line, file=sys.stderr)
    print(f"digest {gist.digest}", flush=True)
    question = f"Type the version ({wanted.version}) to approve {wanted}"
    confirm(question, wanted.version, yes, digest, gist.digest)
    new = verb.approve(wanted, signer(key, passphrase_file), gist.digest, remark)
    _say(wanted, f"{wanted} {'approved' if new else 'already approved'} with this key")


@app.command(epilog="Examples: sm-ops release reject notes@1.0 --key ben.pem --reason 'a name was left in'")
def reject(
    release: ReleaseName,
    key: KeyFile,
    reason: Annotated[str, typer.Option(help="Why it may not leave the house; it is signed.", metavar="TEXT")],
    passphrase_file: PassphraseFile = None,
) -> None:
    """Say no to a request: the approvals on it are void, and it takes a new request to ask again."""
    from sm_ops.cli.release.signing import signer
    from sm_ops.release.verbs.reject import reject as refuse

    wanted = _existing(release)
    new = refuse(wanted, signer(key, passphrase_file), reason)
    _say(wanted, f"{wanted} {'rejected' if new else 'already rejected'}")


def _existing(release: str) -> Any:
    from sm_ops.core.home import home_folder
    from sm_ops.release.folder import existing

    return existing(home_folder(), release)


def _say(release: Any, done: str) -> None:
    """What was done, how it stands, and the next command."""
    from sm_ops.release.states import next_command, state_of

    state = state_of(release)
    print(done)
    for line in state.missing:
        print(line, file=sys.stderr)
    if command := next_command(release, state):
        print(f"next: {command}", file=sys.stderr)
