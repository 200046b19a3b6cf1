"""Data of runs: what versions there are, bring one back, where they are sent, send them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from sm_ops.cli.options import Json, home_with_servers

app = typer.Typer(help="Versions of the data of runs, by git and DVC.", rich_markup_mode=None)


@app.command(name="ls", epilog="Examples: sm-ops data ls | sm-ops data ls --json | sm-ops data ls tiny-0a1b")
def list_(
    revision: Annotated[str | None, typer.Argument(help="A run's id or its beginning, or a commit: its files.")] = None,
    as_json: Json = False,
) -> None:
    """List the versions of data, the oldest first, or the files of one."""
    from sm_ops.versioning.data import verbs

    if revision is None:
        rows = verbs.versions(home_with_servers())
    else:
        rows = [
            {"file": entry.name, "class": entry.cls, "bytes": entry.size, "sha256": entry.sha256}
            for entry in verbs.files(home_with_servers(), revision)
        ]
    if as_json:
        print(json.dumps(rows, indent=1))
        return
    for row in rows:
        print("  ".join(str(value)[: 12 if name in ("revision", "sha256") else None] for name, value in row.items()))


@app.command(
    epilog="Examples: sm-ops data checkout tiny-0a1b | sm-ops data checkout tiny-0a1b synthesize/train.jsonl --out old"
)
def checkout(
    revision: Annotated[str, typer.Argument(help="A run's id or its beginning, or a commit.")],
    names: Annotated[
        list[str] | None, typer.Argument(help="Steps, or STEP/OUTPUT; default: all data.", metavar="[NAME]...")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="A folder, made private; default: one below the home's restricted root.")
    ] = None,
) -> None:
    """Bring the data of a run back, byte for byte."""
    from sm_ops.versioning.data.verbs import checkout as bring_back

    for path in bring_back(home_with_servers(), revision, names or (), out):
        print(path)


@app.command(
    epilog="Examples: sm-ops data remote | sm-ops data remote /mnt/share/data | sm-ops data remote --restricted s3://b/p"
)
def remote(
    place: Annotated[str | None, typer.Argument(help="A folder or s3://BUCKET/PREFIX; default: tell both.")] = None,
    restricted: Annotated[bool, typer.Option("--restricted", help="The remote for data with private values.")] = False,
) -> None:
    """Choose where data is sent, or tell it; a remote is marked with its class, and takes no other."""
    from sm_ops.versioning.data import verbs

    if place is None:
        for name, url in verbs.remotes(home_with_servers()).items():
            print(f"{name:<10}  {url}")
        return
    print(verbs.set_remote(home_with_servers(), "restricted" if restricted else "default", place))
    print("next: sm-ops data push", file=sys.stderr)


@app.command(epilog="Examples: sm-ops data push | AWS_ENDPOINT_URL=http://127.0.0.1:8333 sm-ops data push")
def push() -> None:
    """Version the data of runs that is not yet, and send whatever the remotes lack of all history."""
    from sm_ops.versioning.data.verbs import push as push_data

    versioned, sent = push_data(home_with_servers())
    for run in versioned:
        print(run)
    print(f"{len(versioned)} runs versioned, {sent} files sent; next: sm-ops data ls", file=sys.stderr)
