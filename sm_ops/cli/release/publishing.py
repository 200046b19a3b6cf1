"""Publish, fetch, revoke, expire."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sm_ops.cli.options import Orchestrate, ReleaseName, become_flow, home_with_servers, say_next
from sm_ops.cli.release.signing import KeyFile, PassphraseFile

if TYPE_CHECKING:
    from sm_ops.release.folder import Release

app = typer.Typer(rich_markup_mode=None)

PLACE_HELP = "A folder, or s3://BUCKET/PREFIX."
Owner = Annotated[
    str | None,
    typer.Option(
        "--bucket-owner", help="The AWS account (12 digits) that the bucket must belong to.", metavar="ACCOUNT"
    ),
]


@app.command(
    epilog="Examples: sm-ops release publish notes@1.0 --to /srv/releases | "
    "sm-ops release publish notes@1.0 --to s3://our-releases/notes --bucket-owner 123456789012"
)
def publish(
    name: ReleaseName,
    to: Annotated[str, typer.Option("--to", help=PLACE_HELP, metavar="PLACE")],
    bucket_owner: Owner = None,
    orchestrate: Orchestrate = False,
) -> None:
    """Bring an approved release to a place; checks and verification run once more. Interrupted, run it again."""
    from sm_ops.core.display import patiently
    from sm_ops.release.folder import existing
    from sm_ops.release.verbs.publish import publish
    from sm_ops.storage.places import open_place

    home = home_with_servers()
    place = open_place(to, bucket_owner)
    release = existing(home, name)
    if orchestrate:
        become_flow("flows.release", "publish", str(release), to, bucket_owner)
    with patiently("checking") as progress:
        done = publish(release, place, progress)
    print(f"{done.place}/{release}")
    told = "was published there already" if done.already else "is published"
    print(f"{release} {told}; it expires on {done.expires}", file=sys.stderr)
    if not done.already:
        _mirror(release.home)
    owner = ["--bucket-owner", bucket_owner] if bucket_owner else []
    say_next("release fetch", str(done.place), str(release), "--out", "DIR", *owner)


@app.command(
    epilog="Examples: sm-ops release fetch /srv/releases notes@1.0 --out notes | "
    "sm-ops release fetch s3://our-releases/notes notes@1.0 --out notes --bucket-owner 123456789012"
)
def fetch(
    place: Annotated[str, typer.Argument(help=PLACE_HELP)],
    name: ReleaseName,
    out: Annotated[Path, typer.Option("--out", help="The folder to make.", metavar="DIR")],
    bucket_owner: Owner = None,
) -> None:
    """Bring a published release here, compared with its digests; then verify it. Interrupted, run it again."""
    from sm_ops.release.verbs.fetch import fetch
    from sm_ops.storage.places import open_place

    done = fetch(open_place(place, bucket_owner), name, out)
    print(done.folder)
    if done.state == "superseded":
        print(f"{name} is superseded: a newer version lies there too", file=sys.stderr)
    say_next("release verify", str(done.folder), "--approvers", "approvers.yaml")


@app.command(
    epilog='Examples: sm-ops release revoke notes@1.0 --key ben.pem --reason "a name was left in" | '
    'sm-ops release revoke notes@1.0 --key ben.pem --reason "withdrawn" --keep-vault'
)
def revoke(
    name: ReleaseName,
    key: KeyFile,
    reason: Annotated[str, typer.Option("--reason", help="Signed, and shown to everybody.", metavar="TEXT")],
    passphrase_file: PassphraseFile = None,
    keep_vault: Annotated[
        bool, typer.Option("--keep-vault", help="Keep the mappings that restore a reversible release.")
    ] = False,
    yes_shred: Annotated[
        list[str] | None,
        typer.Option("--yes-shred", help="A dataset's name, instead of typing it when asked.", metavar="NAME"),
    ] = None,
    at: Annotated[
        list[str] | None,
        typer.Option("--at", help="A place where it lies, if this home has lost its memory of it.", metavar="PLACE"),
    ] = None,
    bucket_owner: Owner = None,
) -> None:
    """Take a release back: say so in every index, delete its data, destroy its mappings. Interrupted, run it again."""
    from sm_ops.cli.release.signing import signer
    from sm_ops.release.folder import existing
    from sm_ops.release.verbs.revoke import revoke
    from sm_ops.storage.places import open_place

    release = existing(home_with_servers(), name)
    places = [open_place(place, bucket_owner) for place in at or ()]
    if not keep_vault:
        _confirm_shredding(release, yes_shred or [])
    done = revoke(release, signer(key, passphrase_file), reason, keep_vault, places)
    print(f"{release} {'was revoked already' if done.already else 'is revoked'}")
    for place in done.places:
        print(f"its data at {place} are deleted", file=sys.stderr)
    for dataset in done.shredded:
        print(f"the mappings {dataset!r} are destroyed", file=sys.stderr)
    print("Copies that others have fetched are not reached: tell them.", file=sys.stderr)
    if not done.already:
        _mirror(release.home)
    say_next(f"release log {release}")


def _confirm_shredding(release: Release, typed: list[str]) -> None:
    from sm_ops.core.errors import InputError
    from sm_ops.release.verbs.revoke import live_datasets, others_of

    datasets = live_datasets(release)
    if not datasets:
        return
    told = " ".join(datasets)
    if not typed:
        if sys.stdin is None or not sys.stdin.isatty():
            options = " ".join(f"--yes-shred {dataset}" for dataset in datasets)
            hint = f"Nobody can be asked here; to destroy the mappings add {options}, to keep them --keep-vault"
            raise InputError("not-confirmed", hint)
        also = "".join(f" {other} can be restored by them too." for other in others_of(release))
        question = f"This destroys the mappings {told} for ever.{also} Type their names to go on: "
        print(question, end="", file=sys.stderr, flush=True)
        typed = sys.stdin.readline().split()
    if {*typed} != {*datasets}:
        hint = f"{' '.join(typed) or 'Nothing'} is not {told}; nothing was revoked. To keep the mappings: --keep-vault"
        raise InputError("not-confirmed", hint)


@app.command(epilog="Examples: sm-ops release expire")
def expire(orchestrate: Orchestrate = False) -> None:
    """Say of published releases past their date that they have expired, in their logs and in every index."""
    from sm_ops.release.verbs.expire import expire

    home = home_with_servers()
    if orchestrate:
        become_flow("flows.release", "expire")
    if expired := expire(home):
        print("\n".join(map(str, expired)))
        _mirror(home)
    say_next("release ls")


def _mirror(home: Path) -> None:
    """MLflow is told of what has changed."""
    from sm_ops.release.mirror import mirror_where_tracked

    mirror_where_tracked(home)
