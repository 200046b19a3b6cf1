"""Check the evidence of a release against its policy, and let the role privacy waive what a check found.

Both write `checks.json`, card and page in one change, and withdraw an open decision where these files become others:
what was signed is not what is there. What was published or revoked stays as it is; checking it tells, and writes
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, get_args

import rfc8785

from sm_ops.core import fs, registry
from sm_ops.core.errors import ApprovalError, InputError
from sm_ops.core.settings import Settings
from sm_ops.release import approvers, clock, envelopes, integrity, keys, ledger, statements, states
from sm_ops.release.card import card
from sm_ops.release.checking import Bundle, Outcome, Status, blocks, stopping
from sm_ops.release.facts import facts_of
from sm_ops.release.folder import CARD, CHECKS, DECISION, MANIFEST, PUBLICATION, REJECTION, REPORT, Release
from sm_ops.release.ledger import Actor
from sm_ops.release.page import page
from sm_ops.release.remarks import one_line, refuse_values
from sm_ops.release.statements import Statements, waiver_path

if TYPE_CHECKING:
    from types import ModuleType

    from sm_ops.release.approvers import Key
    from sm_ops.release.sslib import CryptoSigner

FORMAT = "checks/1"
_KEPT = ("severity", "status", "sentence", "measured")
ROLE = "privacy"
"""Who may let a blocked release pass."""

Json = dict[str, Any]
Progress = Callable[[str, int, int], None]
"""Called with a check's name, what of it is done, and all there is to do."""


def unheard(check: str, done: int, total: int) -> None:
    """The progress that nobody follows."""


@dataclass(frozen=True)
class Checked:
    """What checking came to: the content of `checks.json`, whether it was written now, and what it withdrew.

    `contradicts` are the checks of a published release that find worse than what was signed, or something else.
    """

    checks: Json
    written: bool
    withdrew: bool = False
    contradicts: tuple[str, ...] = ()

    @property
    def said(self) -> str:
        """What was done, in words."""
        if self.contradicts:
            return f"what was signed stays as it is, but these find something else now: {', '.join(self.contradicts)}"
        if not self.written:
            return "already checked, and nothing has changed"
        return "checked; the open request is withdrawn, for it was about other findings" if self.withdrew else "checked"

    @property
    def lines(self) -> list[str]:
        """A line for each check, and the verdict."""
        told = []
        for each in self.checks["checks"]:
            mark = "WAIVED" if each["waived"] else each["status"] if each["severity"] == "block" else "warn"
            if each["status"] in ("pass", "not applicable"):
                mark = each["status"]
            told.append(f"{mark:<14} {each['name']:<14} {each['sentence']}")
            if each["waived"]:
                told.append(f"{'':<29} waived by {each['waived']['by']}: {each['waived']['reason']}")
        return [*told, f"verdict: {self.checks['verdict']}"]

    @property
    def passed(self) -> bool:
        """Whether nothing stops the release."""
        return self.checks["verdict"] == "pass"


def check(release: Release, progress: Progress = unheard) -> Checked:
    """Run the checks that the policy lists, and write what they found where that is new.

    Raises `IntegrityError` that names a file which is not what was built or written since, or for a revoked release;
    `InputError` where a check is not on this machine.
    """
    with ledger.opened(release):
        said = _intact(release)
        outcomes = _outcomes(Bundle.of(release), progress)
        actor = Actor.of(keys.builder(release.home), keys.BUILDER)
        return _write(release, outcomes, _waivers(release, said), said, "check", actor, {})


def waive(release: Release, name: str, reason: str, signer: CryptoSigner) -> Checked:
    """Let a release pass although a blocking check failed or could not be measured; the checks must have run.

    Raises `ApprovalError` for a key without the role privacy, `InputError` for a check that stops nothing, an empty
    reason, and one that holds a known value.
    """
    reason = one_line(reason, "reason")
    with ledger.opened(release):
        said = _intact(release)
        person = _privacy(release, signer)
        actor = Actor.of(signer, person.name)
        if said.verdict is None:
            raise states.wrong_order(release, states.state_of(release), "check --waive")
        outcomes, waivers = _signed_outcomes(said), _waivers(release, said)
        _check_waivable(release, name, outcomes)
        waiver = {"by": person.name, "reason": reason}
        if waivers.get(name) == waiver:
            return _write(release, outcomes, waivers, said, "waive", actor, {})
        refuse_values(release, reason, "reason")
        file = _signed_waiver(release, name, reason, signer)
        return _write(release, outcomes, {**waivers, name: waiver}, said, "waive", actor, {waiver_path(name): file})


def waiver_command(release: Release) -> str:
    """How the role privacy lets a release pass."""
    return f"sm-ops release check {release} --waive CHECK --reason TEXT --key FILE (role {ROLE})"


# ---- outcomes ------------------------------------------------------------------------------------------


def _intact(release: Release) -> Statements:
    """What a release says so far; evidence counts only if every byte is what was written."""
    return statements.read(integrity.check_own(release))


def _outcomes(bundle: Bundle, progress: Progress) -> dict[str, Json]:
    """What each check of the policy found, by name: those that search what is rendered come last."""
    listed = bundle.policy.checks.plain()
    modules = {name: registry.load("check", name) for name in listed}
    found: dict[str, Json] = {}
    for last in (False, True):
        if last:
            bundle = replace(bundle, rendered=_rendered(bundle.release, _checks(bundle.release, found, {})))
        for name, module in modules.items():
            if getattr(module, "SEARCHES_RENDERED", False) is last:
                watched = replace(bundle, progress=partial(progress, name))
                found[name] = _one(module, watched, Settings(listed[name]))
    return {name: found[name] for name in listed}


def _one(module: ModuleType, bundle: Bundle, settings: Settings) -> Json:
    outcome: Outcome = module.run(bundle, settings)
    if outcome.status not in get_args(Status):
        hint = f"{module.__name__} gives a status that is none of {', '.join(get_args(Status))}; correct it."
        raise InputError("bad-outcome", hint)
    measured = dict(sorted(outcome.measured.items()))
    return {"severity": settings.severity, "status": outcome.status, "sentence": outcome.sentence, "measured": measured}


def _signed_outcomes(said: Statements) -> dict[str, Json]:
    """The outcomes in `checks.json`, by name."""
    return {each["name"]: {key: each[key] for key in _KEPT} for each in said.checks}


def _checks(release: Release, outcomes: Mapping[str, Json], waivers: Mapping[str, Json]) -> Json:
    """The content of `checks.json`. A waiver counts where its check blocks."""
    rows = []
    for name, outcome in outcomes.items():
        rows.append({"name": name, **outcome, "waived": waivers.get(name) if blocks(outcome) else None})
    verdict = "fail" if stopping(rows) else "pass"
    return {"format": FORMAT, "release": str(release), "verdict": verdict, "checks": rows}


# ---- waivers -------------------------------------------------------------------------------------------


def _waivers(release: Release, said: Statements) -> dict[str, Json]:
    """By check, who waived it and why; a waiver counts while its key is listed with the role.

    Raises `IntegrityError` for one that no listed key signed.
    """
    found: dict[str, Json] = {}
    people = approvers.of(release.home)
    for name, waiver in said.waivers.items():
        where = waiver_path(name)
        envelope = envelopes.read((release.folder / where).read_bytes(), where)
        signers = envelopes.valid_signers(envelope, [key.public for key in people.keys], where)
        persons = [people.now.present[key] for key in signers if key in people.now.present]
        if by := next((person.name for person in persons if ROLE in person.roles), None):
            found[name] = {"by": by, "reason": waiver["reason"]}
    return found


def _signed_waiver(release: Release, name: str, reason: str, signer: CryptoSigner) -> bytes:
    time = clock.told(ledger.next_time(release))
    said = {"release": str(release), "check": name, "reason": reason, "time": time}
    subjects = {MANIFEST: fs.file_hash(release.folder / MANIFEST)}
    return envelopes.signed(envelopes.statement("waiver", subjects, said), [signer])


def _privacy(release: Release, signer: CryptoSigner) -> Key:
    person = approvers.of(release.home).person(signer.public_key.keyid)
    if ROLE not in person.roles:
        hint = f"{person.name} has not the role {ROLE}, which alone may waive a check; ask somebody who has it."
        raise ApprovalError("not-privacy", hint)
    return person


def _check_waivable(release: Release, name: str, outcomes: Mapping[str, Json]) -> None:
    if name not in outcomes:
        near = registry.did_you_mean(name, outcomes)
        raise InputError("unknown-check", f"The policy of {release} lists no check {name!r}; {near}.")
    if not blocks(outcomes[name]):
        state = outcomes[name]["status"] if outcomes[name]["severity"] == "block" else "warn"
        hint = f"{name} does not stop {release} ({state}), so there is nothing to waive."
        raise InputError("nothing-to-waive", hint)


# ---- writing -------------------------------------------------------------------------------------------


def _rendered(release: Release, checks: Json) -> dict[str, bytes]:
    facts = facts_of(release.folder, checks)
    return {CARD: card(facts).encode(), REPORT: page(facts).encode()}


def _write(
    release: Release,
    outcomes: Mapping[str, Json],
    waivers: Mapping[str, Json],
    said: Statements,
    action: str,
    actor: Actor,
    more: Mapping[str, bytes],
) -> Checked:
    """Write what differs, with the line that says so. The release is opened, `said` is what it said so far."""
    checks = _checks(release, outcomes, waivers)
    other = _others(said, checks)
    if (release.folder / PUBLICATION).is_file():
        if more:
            raise states.wrong_order(release, states.state_of(release), "check --waive")
        return Checked(checks, written=False, contradicts=_contradicts(said, checks, other))
    decided = [path for path in (DECISION, REJECTION) if (release.folder / path).is_file()]
    if decided and not more and not other:  # whatever words and numbers a newer version or a fuller vault gives
        return Checked({**checks, "checks": said.checks}, written=False)
    files: dict[str, bytes | None] = {CHECKS: rfc8785.dumps(checks) + b"\n", **_rendered(release, checks)}
    if not more and all(_is(release, path, data) for path, data in files.items()):
        return Checked(checks, written=False)
    note = {"verdict": checks["verdict"]} | ({"withdrawn": decided} if decided else {})
    ledger.record(release, action, actor, {**files, **more, **dict.fromkeys(decided)}, note)
    return Checked(checks, written=True, withdrew=bool(decided))


def _others(said: Statements, checks: Json) -> tuple[str, ...]:
    """The checks whose findings are others than those in `checks.json`."""
    old, new = ({row["name"]: _essence(row) for row in rows} for rows in (said.checks, checks["checks"]))
    return tuple(name for name in sorted(old.keys() | new.keys()) if old.get(name) != new.get(name))


def _essence(row: Json) -> Json:
    """What people rely on. That a check passed is all there is to it: the vault may hold more values by now."""
    passed = row["status"] in ("pass", "not applicable")
    return {key: row[key] for key in row if not (passed and key in ("sentence", "measured"))}


def _contradicts(said: Statements, checks: Json, other: Sequence[str]) -> tuple[str, ...]:
    """Those of the other findings that contradict what was signed: to be measured at last, and pass, does not."""
    old, new = ({row["name"]: row["status"] for row in rows} for rows in (said.checks, checks["checks"]))
    return tuple(name for name in other if (old.get(name), new.get(name)) != ("unmeasured", "pass"))


def _is(release: Release, path: str, data: bytes | None) -> bool:
    file = release.folder / path
    return file.is_file() and file.read_bytes() == data
