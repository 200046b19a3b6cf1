"""What Prefect shows of releases, as Markdown: state, checks, and the command that a person types next."""

from __future__ import annotations

import json
import re
from pathlib import Path

from sm_ops.core.errors import SmOpsError
from sm_ops.release.checking import stopping
from sm_ops.release.folder import CHECKS, REPORT, Release, all_releases
from sm_ops.release.states import next_command, state_of

_MARKUP = re.compile(r"([\\`*_{}\[\]<>()#+!|~$&])")


def of_release(release: Release, sentence: str | None) -> str:
    """The page of one release; `sentence` is what the flow came to."""
    state = state_of(release)
    lines = [f"# {_plain(str(release))}: {state.name}", "", _plain(sentence or ""), "", "Next:", ""]
    lines += ["```", next_command(release, state) or "nothing", "```", ""]
    lines += [_plain(f"- {each}") for each in state.missing]
    if state.approved_by:
        lines.append(f"- Approved by {_plain(', '.join(state.approved_by))}.")
    if state.expires:
        lines.append(f"- Expires on {state.expires}.")
    lines += [f"- The report lies at `releases/{release}/{REPORT}` in the home folder.", ""]
    rows = [["check", "severity", "status", "waived", "what was found"]]
    for each in _checks(release):
        waived = each["waived"]
        told = f"by {waived['by']}: {waived['reason']}" if waived else ""
        rows.append([each["name"], each["severity"], each["status"], told, each["sentence"]])
    return "\n".join([*lines, *_table(rows)]) + "\n"


def of_home(home: Path) -> str:
    """The page of all releases of a home."""
    rows = [["release", "state", "next"]]
    for release in all_releases(home):
        try:
            state = state_of(release)
            rows.append([str(release), state.name, next_command(release, state) or ""])
        except SmOpsError as error:
            rows.append([str(release), "damaged", str(error)])
    return "\n".join(["# Releases", "", *_table(rows)]) + "\n"


def due(release: Release) -> str:
    """What is to be typed next, as the end of a sentence."""
    command = next_command(release, state_of(release))
    return f"next: {command}" if command else "nothing is due."


def failed_checks(release: Release) -> list[str]:
    """The names of the checks that stop a release."""
    return stopping(_checks(release))


def key(name: str) -> str:
    """The key of a release's artifacts: lower-case letters, digits and dashes, as Prefect wants it."""
    return f"release-{re.sub('[^a-z0-9]+', '-', name)}".strip("-")


def _checks(release: Release) -> list[dict]:
    path = release.folder / CHECKS
    return json.loads(path.read_bytes())["checks"] if path.is_file() else []


def _table(rows: list[list[str]]) -> list[str]:
    head, *body = [f"| {' | '.join(_plain(cell) for cell in row)} |" for row in rows]
    return [head, "|" + " --- |" * len(rows[0]), *body]


def _plain(text: str) -> str:
    """Text that a reader of Markdown shows as it is, on one line."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))
