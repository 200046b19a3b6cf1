"""Verify a release, read its log, list releases."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sm_ops.cli.options import Json

if TYPE_CHECKING:
    from sm_ops.release.verification import Verdict

app = typer.Typer()


@app.command(
    epilog="Examples: sm-ops release verify notes@1.0 | sm-ops release verify ./notes@1.0 --approvers approvers.yaml "
    "| sm-ops release verify https://data.example.org/releases/notes@1.0 --approvers approvers.yaml --json"
)
def verify(
    place: Annotated[str, typer.Argument(help="NAME@VERSION, a folder, or an https URL.", metavar="RELEASE")],
    approvers: Annotated[
        Path | None, typer.Option(help="Whose approval counts (approvers.yaml); default: the home's.", metavar="FILE")
    ] = None,
    as_json: Json = False,
) -> None:
    """Tell whether a release is revoked (exit code 5), intact (else 5) and approved (else 4)."""
    from sm_ops.core.errors import ApprovalError, IntegrityError
    from sm_ops.core.home import home_folder
    from sm_ops.release.verbs.verify import next_of
    from sm_ops.release.verbs.verify import verify as verify_release

    try:
        verdict = verify_release(home_folder(), place, approvers)
    except IntegrityError as error:
        if as_json:
            state = "revoked" if error.code == "revoked" else "changed"
            print(json.dumps({"place": place, "state": state, "code": error.code, "problem": error.hint}, indent=1))
        raise
    if as_json:
        print(json.dumps(verdict.to_json(), indent=1))
    else:
        print("\n".join(_told(verdict)))
    sys.stdout.flush()
    due = next_of(home_folder(), place)
    try:
        verdict.require_approved()
    except ApprovalError as error:
        raise ApprovalError(error.code, f"{error.hint} Next: {due}" if due else error.hint) from None
    if due:
        print(f"next: {due}", file=sys.stderr)


def _told(verdict: Verdict) -> list[str]:
    found = ", ".join(f"{number} {status}" for status, number in verdict.checks.items()) or "none were made"
    rows = {
        "state": verdict.state,
        "approved by": ", ".join(verdict.approved_by) or "nobody",
        "checks": found,
        "compared": f"{verdict.files} files, {verdict.bytes:,} bytes, {verdict.lines} lines of the log",
        "manifest": f"sha256:{verdict.manifest}",
        "published": verdict.published,
        "expires": verdict.expires,
    }
    lines = [f"{verdict.release}: every byte is what was signed"]
    lines += [f"  {name:<12} {value}" for name, value in rows.items() if value]
    lines += [
        f"  {'WAIVED':<12} {each.check}, by {each.by or 'an unknown key'}: {each.reason}" for each in verdict.waived
    ]
    return lines + [f"  {'note':<12} {notice}" for notice in verdict.notices]


@app.command(
    epilog="Examples: sm-ops release log | sm-ops release log notes@1.0 | sm-ops release log notes@1.0 --verify --json"
)
def log(
    release: Annotated[str | None, typer.Argument(help="Default: every release.", metavar="[NAME@VERSION]")] = None,
    verify: Annotated[bool, typer.Option("--verify", help="Also compare with the signed head.")] = False,
    as_json: Json = False,
) -> None:
    """Print who did what and when; lines that were removed, changed or reordered are found (exit code 5)."""
    from sm_ops.core.home import home_folder
    from sm_ops.release.verbs.log import log as read_log

    lines = read_log(home_folder(), release, verify)
    if as_json:
        print(json.dumps(lines, indent=1))
        return
    for line in lines:
        print(_line(line))
    if verify:
        print(f"{len(lines)} lines, each as it was written, none missing", file=sys.stderr)


def _line(line: dict[str, Any]) -> str:
    what = ", ".join(path if digest else f"{path} (removed)" for path, digest in line["files"].items())
    note = "; ".join(f"{key}: {value}" for key, value in line.get("note", {}).items())
    who = f"{line['actor']['name']} ({line['actor']['key'][:8]})"
    said = f"{line['time']}  {line['release']}  {line['action']:<8}  {who}  {what}"
    return f"{said}  {note}".rstrip()


@app.command(name="ls", epilog="Examples: sm-ops release ls | sm-ops release ls --json")
def list_(as_json: Json = False) -> None:
    """List the releases of this home, their state, and the verb that is due."""
    from sm_ops.core.home import home_folder
    from sm_ops.release.verbs.ls import ls

    rows = ls(home_folder())
    if as_json:
        print(json.dumps(rows, indent=1))
        return
    for row in rows:
        more = f"next: {row['next']}" if row["next"] else row["problem"] or ""
        print(f"{row['name']}@{row['version']}  {row['state']}  {row['path']}  {more}".rstrip())
