"""A run whose config asks for it ends with a release of its redacted text, built and checked."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

from sm_ops.core import fs
from sm_ops.core.errors import StageError
from sm_ops.core.home import Run
from sm_ops.release import ledger
from sm_ops.release.checking import stopping
from sm_ops.release.folder import CHECKS, CONFIG, POLICY, REPORT, Release
from sm_ops.release.policy import parse, read_policy
from sm_ops.release.states import next_command, state_of


def release(run: Run, home: Path) -> str | None:
    """Build and check the run's release, or find it, and say what it takes to let it out; returns the command due.

    Raises `StageError` where a check that the policy asks for fails; the run and its report stay.
    """
    if not (run.config.get("release") or {}).get("build"):
        return None
    found = checked(run, home)
    state = state_of(found)
    print(f"release: {found}, {state.name} ({state.checks}): {found.folder}")
    if state.checks == "fail":
        raise StageError("release-check", _failure(found))
    if state.name == "checked":
        print("\n".join(_way_out(found)))
    return next_command(found, state)


def checked(run: Run, home: Path) -> Release:
    """The release of a run as its config describes it, built and checked where it was not.

    Its version is the run's hash; what the config or the policy says now and did not then makes another version:
    HASH.2, HASH.3, ... Raises `InputError` for a run that its config does not describe.
    """
    about, policy = (run.config.get("release") or {}).get("about"), read_policy()
    found = next(each for each in _versions(run, home) if not each.exists() or _says(each, about, policy))
    if not found.exists():
        from sm_ops.release.sources.run import material_of
        from sm_ops.release.verbs.build import build

        build(home, str(found), material_of(home, run))
    with ledger.looked_at(found):  # which finishes what a killed check left
        unchecked = not (found.folder / CHECKS).is_file()
    if unchecked:
        from sm_ops.release.verbs.check import check

        check(found)
    return found


def _versions(run: Run, home: Path) -> Iterator[Release]:
    name, _, version = run.id.rpartition("-")
    name = re.sub("^[^a-z0-9]+", "", name.lower()) or "run"
    yield Release(home, name, version)
    yield from (Release(home, name, f"{version}.{number}") for number in count(2))


def _says(found: Release, about: dict[str, Any] | None, policy: bytes) -> bool:
    """Whether a release was built with these words and this policy."""
    known = fs.read_json(found.folder / CONFIG)["about"]
    return known == about and (found.folder / POLICY).read_bytes() == policy


def _failure(found: Release) -> str:
    checks = json.loads((found.folder / CHECKS).read_bytes())["checks"]
    told = f"{found} does not pass {', '.join(stopping(checks))}; see {found.folder / REPORT}."
    return f"{told} Change data or policy and run again, or let the role privacy waive it: sm-ops release check --help"


def _way_out(found: Release) -> list[str]:
    """How people let a release out that nobody has asked for yet."""
    approvals = parse((found.folder / POLICY).read_bytes()).approvals
    roles = f", {' and '.join(approvals.roles)} among their roles" if approvals.roles else ""
    return [
        f"It leaves the house when one person asks and {approvals.count} others approve{roles}; each with a key:",
        "  sm-ops release key new NAME",
        "  sm-ops release key add NAME.pub --role ROLE",
        f"  sm-ops release request {found} --key NAME.pem --reason TEXT",
        f"  sm-ops release approve {found} --key NAME.pem",
        f"  sm-ops release publish {found} --to PLACE",
        "docs/how-to/approve_release.md goes through it.",
    ]
