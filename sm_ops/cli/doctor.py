"""Is all well here: machine, home, services, schedules, and whether the vault's values stand where they should not."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from sm_ops.cli.options import Json, say_next

app = typer.Typer(rich_markup_mode=None)

_SHOWN = 50


@app.command(
    epilog="Examples: sm-ops doctor | sm-ops doctor --remote | sm-ops doctor --leaks | "
    "sm-ops doctor --leaks --dataset customers /var/log/app | sm-ops doctor --leaks --json"
)
def doctor(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(help="With --leaks: further files and folders to search.", metavar="[PATH]..."),
    ] = None,
    leaks: Annotated[
        bool, typer.Option("--leaks", help="Search your stores for the vault's values instead; prints no value.")
    ] = False,
    dataset: Annotated[
        list[str] | None, typer.Option(help="With --leaks: only values of this dataset of the vault.", metavar="NAME")
    ] = None,
    remote: Annotated[
        bool, typer.Option("--remote", help="Also ask the remotes for every version of the data.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Tell in one screen whether all is well; exit code 3 where something needs a person.

    With --leaks: search everything that runs left behind for values; exit code 3 where one is found, 2 where none is
    but something could not be read.
    """
    from sm_ops.core.errors import InputError

    if leaks:
        _leaks(paths or [], dataset, as_json)
    elif paths or dataset:
        raise InputError("needs-leaks", "Paths and --dataset belong to a search; add --leaks.")
    else:
        _environment(as_json, remote)


def _leaks(extra: list[Path], names: list[str] | None, as_json: bool) -> None:
    from sm_ops.core.display import counting
    from sm_ops.core.errors import EXIT_CHECK, EXIT_INPUT, InputError
    from sm_ops.leaks import find_leaks
    from sm_ops.leaks.stores import own_stores
    from sm_ops.vault import Vault

    if absent := [path for path in extra if not os.path.exists(path)]:
        hint = f"There is nothing at {_shown(absent[0])}, or it may not be looked at; correct the path."
        raise InputError("no-place", hint)
    vault, stores = Vault(), own_stores()
    pairs = [pair for name in names or vault.names() for pair in vault.values(name)]
    if not pairs:
        hint = "The vault holds no values to search for; add some with: sm-ops vault add NAME FILE"
        raise InputError("no-values", hint)
    values = [value for kind, value in pairs if kind != "REL"]
    with counting("files searched") as progress:
        found = find_leaks([*stores.paths, *extra], values, stores.without, progress)
    words = len({value for kind, value in pairs if kind == "REL"} - set(values))
    places = [str(path) for path in (*stores.paths, *extra)]
    if as_json:
        print(json.dumps({**found.to_json(), "relation_words": words, "paths": places}, indent=1))
    else:
        print("\n".join([f"searched: {_shown(place)}" for place in places]))
        print("\n".join(_lines(found, words)))
    if found or found.unread:
        raise typer.Exit(EXIT_CHECK if found else EXIT_INPUT)


def _shown(name: object) -> str:
    """A name as it may be printed: whoever made a file must not steer the terminal of who searches for it."""
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in str(name))


def _lines(found: Any, words: int) -> list[str]:
    from sm_ops.leaks.forms import HEAD

    lines = [
        f"files: {found.files}, {found.bytes / 1e6:.1f} MB",
        f"values: {found.searched} searched, {found.as_words} of them only as whole words because they are short",
        f"not searchable: {found.not_searchable} too short, {words} relation words (REL); they stand in any text",
    ]
    if found.cut:
        lines.append(f"cut: {found.cut} values are long and searched by their first {HEAD} characters")
    if found.links or found.special:
        lines.append(f"not followed: {found.links} links, {found.special} pipes, sockets or devices; only their names")
    lines += [f"not read: {_shown(place)} ({why})" for place, why in found.unread.items()]
    if not found:
        return [*lines, "found: nothing in what could be read" if found.unread else "found: nothing"]
    lines.append(f"found: {len(found.findings)} times a place and a form")
    lines += [
        f"  {_shown(hit.place)} ({_shown(hit.part)}): {hit.values} values as {hit.form}, {hit.occurrences} times"
        for hit in found.findings[:_SHOWN]
    ]
    if more := len(found.findings) - _SHOWN:
        lines += [f"  and {more} more: see --json"] if more > 0 else []
    return lines


def _environment(as_json: bool, remote: bool) -> None:
    from sm_ops.core.errors import EXIT_CHECK
    from sm_ops.core.home import home_folder
    from sm_ops.health.everything import all_rows

    rows = list(all_rows(home_folder(), remote))
    if as_json:
        print(json.dumps([asdict(row) for row in rows], indent=1))
    else:
        print("\n".join(f"{'ok' if row.ok else 'BAD':<4} {row.what:<11} {_shown(row.found)}" for row in rows))
    if not all(row.ok for row in rows):
        raise typer.Exit(EXIT_CHECK)
    if not as_json:
        say_next("doctor --leaks")
