"""Is all well here: the environment, and whether values of the vault stand where they should not."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from sm_ops.cli.options import Json, say_next

app = typer.Typer(rich_markup_mode=None)

_SHOWN = 50


@app.command(
    epilog="Examples: sm-ops doctor | sm-ops doctor --leaks | sm-ops doctor --leaks --dataset customers /var/log/app | "
    "sm-ops doctor --leaks --json"
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
    as_json: Json = False,
) -> None:
    """Check the environment, or search everything that runs left behind for values; exit code 3 where one is found.

    Exit code 2 where none is found but something could not be read.
    """
    from sm_ops.core.errors import InputError

    if leaks:
        _leaks(paths or [], dataset, as_json)
    elif paths or dataset:
        raise InputError("needs-leaks", "Paths and --dataset belong to a search; add --leaks.")
    else:
        _environment(as_json)


def _leaks(extra: list[Path], names: list[str] | None, as_json: bool) -> None:
    from sm_ops.core.display import counting
    from sm_ops.core.errors import InputError
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
        raise typer.Exit(3 if found else 2)


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


def _environment(as_json: bool) -> None:
    rows = list(_checks())
    if as_json:
        print(json.dumps([{"what": what, "ok": ok, "found": text} for what, ok, text in rows], indent=1))
    else:
        print("\n".join(f"{'ok' if ok else 'BAD':<4} {what:<12} {text}" for what, ok, text in rows))
    if not all(ok for _, ok, _ in rows):
        raise typer.Exit(3)
    if not as_json:
        say_next("doctor --leaks")


def _checks() -> Any:
    """`(what, whether it is well, what was found)` of each check."""
    import platform
    import shutil
    from importlib.metadata import PackageNotFoundError, version

    from sm_ops.core.home import home_folder

    recent = sys.version_info >= (3, 11)
    yield "python", recent, platform.python_version() + ("" if recent else "; 3.11 or newer is needed")
    try:
        from sm_ops.training.models import pick_device

        yield "torch", True, f"{version('torch')} on {pick_device('auto')}"
    except (ImportError, PackageNotFoundError):
        yield "torch", False, "not installed; see docs/architecture.md, Environment"
    home = home_folder()
    there = next(path for path in (home, *home.parents) if path.exists())
    free = shutil.disk_usage(there).free
    yield (
        "disk",
        free > 1e9,
        f"{free / 1e9:.1f} GB free below {there}" + ("" if free > 1e9 else "; runs need 1 GB or more"),
    )
    writable = os.access(there, os.W_OK)
    yield "home", writable, f"{home}" + ("" if writable else " cannot be written; choose another with SM_OPS_HOME")
    for folder in (home / "restricted", home / "vault"):
        if folder.exists():
            mode = folder.stat().st_mode & 0o777
            private = not mode & 0o077
            yield folder.name, private, f"mode {mode:04o}" + ("" if private else f"; run: chmod 700 {folder}")
    yield _vault_check()


def _vault_check() -> tuple[str, bool, str]:
    from sm_ops.core.errors import InputError
    from sm_ops.vault import Vault

    vault = Vault()
    if not vault.exists():
        return "vault key", True, "no vault here; make one with: sm-ops vault init"
    try:
        found = vault.status()
    except InputError as error:
        return "vault key", False, error.hint
    bad = [row["name"] for row in found["datasets"] if row["state"] not in ("opened", "verified")]
    if found["key_problem"] or bad:
        return "vault key", False, found["key_problem"] or f"not readable: {', '.join(bad)}; see: sm-ops vault status"
    return "vault key", True, f"{found['key']} opens {len(found['datasets'])} datasets"
