"""What the late files of an intact bundle say, and that each fits the others; who signed is for others to judge."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from sm_ops.core import fs
from sm_ops.core.errors import InputError, IntegrityError
from sm_ops.core.settings import Settings
from sm_ops.release import approvals, clock, envelopes
from sm_ops.release.folder import CHECKS, DECISION, MANIFEST, POLICY, PUBLICATION, REJECTION, WAIVERS
from sm_ops.release.integrity import Bundle, said_by_builder
from sm_ops.release.policy import parse

_SIGNED = ".dsse.json"
_TIMES = ("time", "requested", "expires", "published")
_FIELDS = {
    "waiver": ("check", "reason", "time"),
    "decision": ("reason", "requester", "requested", "expires"),
    "rejection": ("reason", "time"),
    "publication": ("published", "expires"),
}
"""Texts that a statement of a kind has, beside its release."""

Json = dict[str, Any]


@dataclass(frozen=True)
class Statements:
    """The policy, what the checks found (one object each) with their verdict, and the predicates of what was signed."""

    policy: Settings
    checks: list[Json]
    verdict: Literal["pass", "fail"] | None
    waivers: dict[str, Json]
    decision: Json | None
    rejection: Json | None
    publication: Json | None


def waiver_path(check: str) -> str:
    """Where the waiver of a check lies in the bundle."""
    return f"{WAIVERS}/{check}{_SIGNED}"


def read(bundle: Bundle) -> Statements:
    """The statements of a bundle. Raises `IntegrityError` that names the one that does not fit."""
    waivers = _waivers(bundle)
    checks, verdict = _checks(bundle, waivers)
    subjects = {path: _digest(bundle, path) for path in (MANIFEST, DECISION)}
    decided = {path: _digest(bundle, path) for path in approvals.SUBJECTS}
    return Statements(
        policy=_policy(bundle),
        checks=checks,
        verdict=verdict,
        waivers=waivers,
        decision=_said(bundle, DECISION, "decision", decided) if DECISION in bundle.texts else None,
        rejection=_said(bundle, REJECTION, "rejection", subjects) if REJECTION in bundle.texts else None,
        publication=_publication(bundle, subjects) if PUBLICATION in bundle.texts else None,
    )


def _policy(bundle: Bundle) -> Settings:
    try:
        return parse(bundle.texts[POLICY], POLICY)
    except InputError as error:
        raise IntegrityError("bad-policy", f"{error.hint} It was changed, or is of another version.") from None


def _checks(bundle: Bundle, waivers: Mapping[str, Json]) -> tuple[list[Json], Literal["pass", "fail"] | None]:
    """Every check that was waived must have its waiver."""
    if CHECKS not in bundle.texts:
        return [], None
    try:
        value = json.loads(bundle.texts[CHECKS])
        checks, verdict = value["checks"], value["verdict"]
        waived = {each["name"] for each in checks if each["waived"]}
        if (
            value["release"] == bundle.manifest.release
            and verdict in ("pass", "fail")
            and waived <= set(waivers)
            and all(isinstance(each[key], str) for each in checks for key in ("name", "status", "severity"))
        ):
            return checks, verdict
    except (ValueError, TypeError, KeyError, RecursionError):
        pass
    raise _unfit(CHECKS)


def _waivers(bundle: Bundle) -> dict[str, Json]:
    """What the waivers say, by check."""
    found = {}
    for path in bundle.texts:
        if path.startswith(f"{WAIVERS}/"):
            said = _said(bundle, path, "waiver", {MANIFEST: bundle.manifest.sha256})
            if waiver_path(said["check"]) != path:
                raise _unfit(path)
            found[said["check"]] = said
    return found


def _said(bundle: Bundle, path: str, kind: str, subjects: Mapping[str, str]) -> Json:
    """The predicate of a person's statement."""
    found, said = envelopes.content(envelopes.read(bundle.texts[path], path), kind, path)
    if found != subjects or not _is_whole(said, kind, bundle):
        raise _unfit(path)
    return said


def _publication(bundle: Bundle, subjects: Mapping[str, str]) -> Json:
    """The predicate of the builder's statement, which names the line of the log that it was written after."""
    line = next(entry for entry in reversed(bundle.entries) if entry["files"].get(PUBLICATION))
    found, said = said_by_builder(bundle.texts[PUBLICATION], "publication", PUBLICATION, bundle.manifest)
    if found != subjects or said.get("log") != line["previous"] or not _is_whole(said, "publication", bundle):
        raise _unfit(PUBLICATION)
    return said


def _digest(bundle: Bundle, path: str) -> str:
    """SHA-256 of a file that decides; nothing where it is not there, which no statement says."""
    if path == MANIFEST:
        return bundle.manifest.sha256
    return fs.sha256(bundle.texts[path]) if path in bundle.texts else ""


def _is_whole(said: Json, kind: str, bundle: Bundle) -> bool:
    """Whether a predicate is of this release and has what its kind says."""
    try:
        for name in _FIELDS[kind]:
            if name in _TIMES:
                clock.read(said[name])
        texts = [isinstance(said[name], str) for name in _FIELDS[kind]]
    except (KeyError, ValueError, TypeError):
        return False
    return said.get("release") == bundle.manifest.release and all(texts)


def _unfit(path: str) -> IntegrityError:
    return IntegrityError("other-statement", f"{path} does not fit the release's other files; it was changed.")
