"""Keys of people: make one, list who may approve, and change that list with enough signatures."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sm_ops.cli.options import Json, say_next
from sm_ops.cli.release.signing import PassphraseFile

if TYPE_CHECKING:
    from sm_ops.release.approvers import Approvers
    from sm_ops.release.proposals import Proposal
    from sm_ops.release.sslib import CryptoSigner

app = typer.Typer(no_args_is_help=True, help="Make keys, and list who may approve.")

Roles = Annotated[list[str] | None, typer.Option("--role", help="A role, as privacy; give it once for each role.")]
OwnKey = Annotated[
    Path | None,
    typer.Option("--key", help="Your private key file; needed once the listed keys can decide.", metavar="FILE"),
]


@app.command(epilog="Examples: sm-ops release key new ada | sm-ops release key new ada --out keys/ada.pem")
def new(
    name: Annotated[str, typer.Argument(help="Whose key: lower-case letters, digits, '.', '_' and '-'.")],
    out: Annotated[Path | None, typer.Option(help="The private file; default: NAME.pem here.", metavar="FILE")] = None,
    passphrase_file: PassphraseFile = None,
) -> None:
    """Make a key: a private file that a passphrase protects, and beside it a public one to send around."""
    from sm_ops.cli.release.signing import passphrase
    from sm_ops.release import people
    from sm_ops.release.keys import key_id

    path = out or Path(f"{name}.pem")
    people.check_new(name, path)
    public = people.new(name, path, passphrase(passphrase_file, "New passphrase: ", "The same again: "))
    print(public.read_text(), end="")
    print(f"listed as the key {key_id(people.read_public(public)[1])[:16]}", file=sys.stderr)
    print(f"{path} is the private key: keep it and its passphrase to yourself, and a copy of both.", file=sys.stderr)
    say_next("release key add", str(public), "--role", "ROLE")


@app.command(
    epilog="Examples: sm-ops release key ls | sm-ops release key ls --json | "
    "sm-ops release key ls approvers.yaml --since older-approvers.yaml"
)
def ls(
    file: Annotated[Path | None, typer.Argument(help="An approvers.yaml; default: this home's.")] = None,
    since: Annotated[
        Path | None,
        typer.Option(help="An earlier approvers.yaml that you trust; the file has to follow from it.", metavar="FILE"),
    ] = None,
    as_json: Json = False,
) -> None:
    """List who may approve, after checking every signed change that led there, and the change that waits."""
    from sm_ops.core.errors import IntegrityError
    from sm_ops.core.fs import existing
    from sm_ops.core.home import home_folder
    from sm_ops.release import approvers, proposals

    found = approvers.of(home_folder()) if file is None else approvers.load(existing(file))
    if since is not None and not found.follows(approvers.load(existing(since))):
        raise IntegrityError(
            "approvers-replaced", f"{file or 'This list'} does not follow from {since}; do not use it."
        )
    proposal = proposals.opened(home_folder()) if file is None else None
    if as_json:
        waiting = None if proposal is None else vars(proposal)
        print(json.dumps(found.now.told() | {"proposal": waiting}, indent=1))
        return
    _list(found)
    if proposal is not None:
        _tell(proposal)


def _list(found: Approvers) -> None:
    for key in found.keys:
        until = f"  removed {key.removed}" if key.removed else ""
        print(f"{key.name:<16} {','.join(key.roles) or '-':<16} {key.id[:16]}  since {key.added}{until}")
    roles = f", among them {', '.join(found.roles)}" if found.roles else ""
    print(f"version {found.now.number}: {found.threshold} signatures are needed{roles}")
    if not found.now.guarded:
        print("So far keys are free to add: those listed cannot decide anything yet.", file=sys.stderr)
        say_next("release key add FILE.pub --role ROLE")


@app.command(
    epilog="Examples: sm-ops release key add ben.pub --role privacy | "
    "sm-ops release key add dan.pub --role data --key ada.pem"
)
def add(
    file: Annotated[Path, typer.Argument(help="A public file, by release key new.", metavar="FILE.pub")],
    role: Roles = None,
    key: OwnKey = None,
    passphrase_file: PassphraseFile = None,
) -> None:
    """List a key with its roles, or propose it; for a listed key, propose other roles."""
    from sm_ops.release import people, proposals

    name, public = people.read_public(file)
    signers = _signers(key, passphrase_file)
    _propose(lambda home: proposals.add(home, name, public, role or [], signers))


@app.command(epilog="Examples: sm-ops release key remove dan --key ada.pem")
def remove(
    name: Annotated[str, typer.Argument(help="Whose key counts no longer.")],
    key: OwnKey = None,
    passphrase_file: PassphraseFile = None,
) -> None:
    """Propose that a key counts for nothing new from now on."""
    from sm_ops.release import proposals

    signers = _signers(key, passphrase_file)
    _propose(lambda home: proposals.remove(home, name, signers))


@app.command(epilog="Examples: sm-ops release key require 3 --role privacy --role legal --key ada.pem")
def require(
    count: Annotated[int, typer.Argument(help="How many have to sign, for a release and for a change of this list.")],
    role: Annotated[
        list[str] | None, typer.Option("--role", help="A role that must be among them; default: those of now.")
    ] = None,
    key: OwnKey = None,
    passphrase_file: PassphraseFile = None,
) -> None:
    """Propose how many have to sign, and which roles must be among them."""
    from sm_ops.release import proposals

    signers = _signers(key, passphrase_file)
    _propose(lambda home: proposals.require(home, count, role, signers))


@app.command(
    epilog="Examples: sm-ops release key sign --key ben.pem | "
    "sm-ops release key sign --key ben.pem --yes --digest SHA256"
)
def sign(
    key: Annotated[Path, typer.Option("--key", help="Your private key file.", metavar="FILE")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask; needs --digest.")] = False,
    digest: Annotated[str | None, typer.Option(help="Of the proposal, as release key ls shows it.")] = None,
    passphrase_file: PassphraseFile = None,
) -> None:
    """Sign the open proposal, which is shown in words; with enough signatures it is made."""
    from sm_ops.cli.release.signing import confirm, signer
    from sm_ops.core.errors import InputError
    from sm_ops.core.home import home_folder
    from sm_ops.release import proposals

    proposal = proposals.opened(home_folder())
    if proposal is None:
        raise InputError("no-proposal", "No change of the approvers waits for a signature; see: sm-ops release key ls")
    _tell(proposal)
    question = f"Type the version ({proposal.version}) to sign"
    confirm(question, str(proposal.version), yes, digest, proposal.digest)
    _done(proposals.sign(home_folder(), proposal.digest, signer(key, passphrase_file)))


def _signers(key: Path | None, passphrase_file: Path | None) -> list[CryptoSigner]:
    from sm_ops.cli.release.signing import signer

    return [] if key is None else [signer(key, passphrase_file)]


def _propose(change: Callable[[Path], Proposal | None]) -> None:
    from sm_ops.core.home import home_folder
    from sm_ops.release import proposals

    home = home_folder()
    before = proposals.opened(home)
    after = change(home)
    if after is None:
        print("already so")
        say_next("release key ls")
        return
    if before is not None and before.digest != after.digest:
        void = f"; what {' and '.join(before.signed)} signed is void" if before.signed else ""
        print(f"It takes the place of what was proposed before: {before.words}{void}", file=sys.stderr)
    _done(after)


def _tell(proposal: Proposal) -> None:
    print(f"proposed on {proposal.proposed} for version {proposal.version}: {proposal.words}")
    print(f"signed by {', '.join(proposal.signed) or 'nobody'}; {'; '.join(proposal.lacks)}")
    print(f"digest {proposal.digest}", flush=True)


def _done(proposal: Proposal) -> None:
    if proposal.lacks:
        _tell(proposal)
        say_next("release key sign --key FILE")
    else:
        print(f"version {proposal.version}: {proposal.words}")
        say_next("release key ls")
