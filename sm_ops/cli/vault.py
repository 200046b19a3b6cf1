"""The vault of mappings and known values: make it, look at it, change its keys, destroy what it holds."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from sm_ops.cli.options import Json, say_next

app = typer.Typer(help="Keep mappings and known values encrypted, and erase them.", rich_markup_mode=None)

Dataset = Annotated[str, typer.Argument(help="Name of a dataset of the vault.")]


@app.callback()
def _vault() -> None:
    """Keep mappings and known values encrypted, a data key per dataset, in the folder vault of the home folder."""


@app.command(
    epilog="Examples: sm-ops vault init | sm-ops vault init --key env | sm-ops vault init --key file:/keys/vault.key | "
    "sm-ops vault init --key kms:alias/sm-ops"
)
def init(
    key: Annotated[
        str | None,
        typer.Option(
            help="Master key: env (SM_OPS_VAULT_KEY), file:PATH or kms:KEY_ID; default: a file beside the vault.",
            metavar="SOURCE",
        ),
    ] = None,
) -> None:
    """Make the vault, and a key file where that is named and not there."""
    from sm_ops.vault import Vault

    vault = Vault()
    source = vault.init(key)
    print(vault.folder)
    print(f"master key: {source}", file=sys.stderr)
    if key is None:
        print(
            "The key file lies beside the vault: it protects a copy of the vault's folder, and nothing against whoever "
            "copies or reads the home folder. For more, see --key.",
            file=sys.stderr,
        )
    if source.startswith("file:"):
        print("Keep a copy of the key file elsewhere: without it nothing can be read again.", file=sys.stderr)
    say_next("vault status")


@app.command(epilog="Examples: sm-ops vault status | sm-ops vault status --verify | sm-ops vault status --json")
def status(
    verify: Annotated[bool, typer.Option("--verify", help="Read and authenticate every byte.")] = False,
    as_json: Json = False,
) -> None:
    """List datasets with their counts, and what was shredded, never values; without the key, as far as that goes."""
    from sm_ops.core.errors import EXIT_CHECK, InputError
    from sm_ops.vault import Vault

    found = Vault().status(verify)
    print(json.dumps(found, indent=1) if as_json else "\n".join(_lines(found)))
    states = {row["state"] for row in [*found["datasets"], *found["shredded"]]}
    if states & {"damaged", "shredding"}:
        raise typer.Exit(EXIT_CHECK)
    if verify and (found["key_problem"] or "sealed" in states):
        raise InputError(
            "not-verified", "Without the key nothing that is sealed was verified; give the key, run again."
        )


def _lines(found: dict[str, Any]) -> Iterator[str]:
    yield f"{found['folder']}  {found['format']}  master key: {found['key']}"
    if found["key_problem"]:
        yield f"not opened: {found['key_problem']}"
    for row in found["datasets"]:
        counts = f"{_count(row['records'])} records  {_count(row['values'])} known values  {row['bytes']} bytes"
        yield f"{row['name']:<24} {row['state']:<9} {counts}  since {row['created'] or '-'}  key: {row['key'] or '-'}"
        if row["state"] == "damaged" or (row["state"] == "sealed" and row["detail"] != found["key_problem"]):
            yield f"    {row['detail']}"
    for grave in found["shredded"]:
        counts = f"{_count(grave['records'])} records  {_count(grave['values'])} known values"
        yield f"{grave['name']:<24} {grave['state']:<9} {counts}  on {grave['when']}"
        if grave["detail"]:
            yield f"    {grave['detail']}"


def _count(number: int | None) -> str:
    return "-" if number is None else str(number)


@app.command(
    epilog="Examples: sm-ops vault rotate --key file:/keys/next.key | sm-ops vault rotate --key env | "
    "sm-ops vault rotate --data-keys"
)
def rotate(
    key: Annotated[
        str | None,
        typer.Option(
            help="New master key: env (SM_OPS_VAULT_NEW_KEY), file:PATH or kms:KEY_ID; default: the present one.",
            metavar="SOURCE",
        ),
    ] = None,
    data_keys: Annotated[
        bool, typer.Option("--data-keys", help="Also make new data keys and encrypt everything anew.")
    ] = False,
) -> None:
    """Wrap every data key by a new master key; after an interruption, run the same command again."""
    from sm_ops.vault import Vault

    vault = Vault()
    before = vault.master_keys()
    changed = vault.rotate(key, data_keys)
    for name in changed:
        print(name)
    print(f"{len(changed)} datasets changed", file=sys.stderr)
    if before - vault.master_keys():
        print("The old master key opens nothing here any more; older backups of the vault need it.", file=sys.stderr)
    if key == "env":
        print("From now on, put the new key into SM_OPS_VAULT_KEY.", file=sys.stderr)
    say_next("vault status --verify")


@app.command(epilog="Examples: sm-ops vault shred customers | sm-ops vault shred customers --yes-shred customers")
def shred(
    name: Dataset,
    yes_shred: Annotated[
        str | None, typer.Option(help="The name again, instead of typing it when asked.", metavar="NAME")
    ] = None,
) -> None:
    """Destroy a dataset's data key: nobody can read its mappings again. A copy made before is not reached."""
    from sm_ops.core.errors import InputError
    from sm_ops.vault import Vault

    vault = Vault()
    if yes_shred is None:
        if not sys.stdin.isatty():
            hint = f"Nobody can be asked here; to shred {name!r} without a question, add: --yes-shred {name}"
            raise InputError("not-confirmed", hint)
        print(f"This destroys {name!r} for ever. Type its name to go on: ", end="", file=sys.stderr, flush=True)
        yes_shred = sys.stdin.readline().strip()
    if yes_shred != name:
        raise InputError("not-confirmed", "The two names differ; nothing was shredded.")
    grave = vault.shred(name)
    print(f"{name} shredded  {_count(grave['records'])} records  {_count(grave['values'])} known values")
    print("Backups and snapshots made before still hold it, given a master key of then.", file=sys.stderr)


@app.command(epilog="Examples: sm-ops vault add customers names.tsv | sm-ops vault add customers known.jsonl")
def add(
    name: Dataset,
    file: Annotated[Path, typer.Argument(help='Lines TYPE<TAB>VALUE, or JSONL with "type" and "value" (.jsonl).')],
) -> None:
    """Add known values to a dataset, for sm-ops pii mask --known-values vault:NAME."""
    from sm_ops.core.fs import existing
    from sm_ops.vault import Vault

    vault = Vault()
    added = vault.add_values(name, _read_values(existing(file)))
    print(f"{name}: {added} known values added")
    print(f"{file} still holds them in the clear; remove it when you need it no more.", file=sys.stderr)


def _read_values(path: Path) -> Iterator[tuple[str, str]]:
    """`(type, value)` of every line that is not empty; refusals name the line."""
    from sm_ops.core.errors import InputError
    from sm_ops.pii.text import SURROGATE, normalise_type, normalise_value
    from sm_ops.pii.types import TYPES

    parse = _json_row if path.suffix == ".jsonl" else _tab_row
    try:
        with path.open(encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, start=1):
                if not line.strip():
                    continue
                kind, value = parse(line.rstrip("\n"), f"{path} line {number}")
                if SURROGATE.search(kind + value):
                    raise InputError(
                        "known-value", f"{path} line {number} holds half a character; correct its escapes."
                    )
                kind, value = normalise_type(kind), normalise_value(value)
                if kind not in TYPES:
                    hint = f"{path} line {number} has none of the types {', '.join(TYPES)}; correct it."
                    raise InputError("known-type", hint)
                if not value:
                    raise InputError("known-value", f"{path} line {number} has an empty value; remove the line.")
                yield kind, value
    except UnicodeDecodeError:
        raise InputError("not-utf8", f"{path} is not UTF-8; convert it.") from None


def _tab_row(line: str, place: str) -> tuple[str, str]:
    from sm_ops.core.errors import InputError

    kind, tab, value = line.partition("\t")
    if not tab:
        raise InputError("known-row", f"{place} has no TAB between type and value; write TYPE<TAB>VALUE.")
    return kind, value


def _json_row(line: str, place: str) -> tuple[str, str]:
    from sm_ops.core.errors import InputError

    try:
        row = json.loads(line)
        kind, value = row["type"], row["value"]
    except (ValueError, KeyError, TypeError, RecursionError):
        kind = value = None
    if not (isinstance(kind, str) and isinstance(value, str)):
        raise InputError("known-row", f'{place} is no JSON object with texts "type" and "value"; correct it.')
    return kind, value
