"""Who may approve: `approvers.yaml`, its keys and roles, and the signed chain of changes that led to it.

The file begins with what counts now (`version`, `threshold`, `roles`, `keys`) and ends with `changes`: an envelope for
each version, of kind `approvers`, with the digest of the one before. Whoever trusts an earlier version can follow the
chain to a later one. The first keys are free to add. From the moment on that the present keys can meet the threshold
with the required roles among them, every change needs just that: `threshold` signatures of keys present before it, the
roles among them; and no change may lead back to where they could not. The file has one form: any edit is noticed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rfc8785

from sm_ops.core import fs, registry
from sm_ops.core.errors import ApprovalError, InputError, IntegrityError, SmOpsError
from sm_ops.release import clock, envelopes, keys
from sm_ops.release.folder import APPROVERS, releases_folder

if TYPE_CHECKING:
    from sm_ops.release.sslib import Envelope

FORMAT = "approvers/1"
_HEAD = "# Public keys of those who approve releases. Changed by `sm-ops release key` alone: every byte counts.\n"
_KIND, _SUBJECT = "approvers", "approvers"
NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,59}")
PUBLIC = re.compile(r"[0-9a-f]{64}")

Json = dict[str, Any]


@dataclass(frozen=True)
class Key:
    """A person's public key (64 hexadecimal digits), roles, and from when until when it counts (UTC)."""

    name: str
    roles: tuple[str, ...]
    public: str
    added: str
    removed: str | None = None

    @property
    def id(self) -> str:
        """SHA-256 of the raw public key."""
        return keys.key_id(self.public)

    def told(self) -> Json:
        """As the file has it."""
        told = {"name": self.name, "roles": list(self.roles), "public": self.public, "added": self.added}
        return told | ({"removed": self.removed} if self.removed else {})


@dataclass(frozen=True)
class Version:
    """What counted from `time` on: how many have to sign, which roles must be among them, and every key so far."""

    number: int = 0
    time: str = ""
    threshold: int = 2
    roles: tuple[str, ...] = ("privacy",)
    keys: tuple[Key, ...] = ()

    @property
    def present(self) -> dict[str, Key]:
        """Keys that were not removed, by id."""
        return {key.id: key for key in self.keys if not key.removed}

    def lacks(self, signers: Iterable[str]) -> list[str]:
        """What these keys (ids) lack to decide anything, in words; nothing where they suffice."""
        signed = [self.present[key] for key in sorted(set(signers)) if key in self.present]
        return lacking(signed, self.threshold, self.roles)

    @property
    def guarded(self) -> bool:
        """Whether the present keys can decide; before that, keys are free to add."""
        return not self.lacks(self.present)

    def told(self) -> Json:
        """As the file has it."""
        return {
            "format": FORMAT,
            "version": self.number,
            "threshold": self.threshold,
            "roles": list(self.roles),
            "keys": [key.told() for key in self.keys],
        }

    def after(self, change: Json, time: str) -> Version:
        """The version that a change makes of this one. Raises `InputError` for a change that cannot be."""
        changed = replace(_changed(self, change, time), number=self.number + 1, time=time)
        if self.guarded and not changed.guarded:
            hint = f"After it the present keys could decide nothing: {' and '.join(changed.lacks(changed.present))}."
            raise InputError(
                "approvers-too-few", f"{words(change).capitalize()} is refused. {hint} Add another key first."
            )
        return changed


def lacking(signed: Sequence[Key], count: int, roles: Iterable[str]) -> list[str]:
    """What distinct keys lack of `count` and `roles`, in words."""
    short = count - len(signed)
    said = [f"{short} more {'signature is' if short == 1 else 'signatures are'} needed"] if short > 0 else []
    present = {role for key in signed for role in key.roles}
    return said + [f"nobody of the role {role} has signed" for role in sorted(set(roles) - present)]


@dataclass(frozen=True)
class Approvers:
    """What one `approvers.yaml` says: `versions`, one before any change and one after each, and the signed changes."""

    versions: tuple[Version, ...]
    changes: tuple[Envelope, ...]

    @property
    def now(self) -> Version:
        """The newest version."""
        return self.versions[-1]

    @property
    def keys(self) -> tuple[Key, ...]:
        """Every key, removed ones too."""
        return self.now.keys

    @property
    def threshold(self) -> int:
        """How many have to sign at least."""
        return self.now.threshold

    @property
    def roles(self) -> tuple[str, ...]:
        """Roles that must be among those who sign."""
        return self.now.roles

    def version_at(self, time: str) -> Version:
        """What counted at a time; before the first version, nobody."""
        return [version for version in self.versions if version.time <= time][-1]

    def at(self, time: str) -> dict[str, Key]:
        """The keys that counted at a time, by id."""
        return self.version_at(time).present

    def person(self, key_id: str) -> Key:
        """Whose key it is. Raises `ApprovalError` for one that is unknown or was removed."""
        found = next((key for key in self.keys if key.id == key_id), None)
        if found is None:
            hint = f"The key {key_id[:16]} is not in {APPROVERS}; add it with: sm-ops release key add FILE.pub"
            raise ApprovalError("unknown-key", hint)
        if found.removed:
            raise ApprovalError("removed-key", f"The key of {found.name} was removed on {found.removed}.")
        return found

    def follows(self, earlier: Approvers) -> bool:
        """Whether the chain of changes leads from an earlier version to this one."""
        known = [*map(_digest, earlier.changes)]
        return known == [*map(_digest, self.changes)][: len(known)]

    def file(self) -> bytes:
        """The one form of the file: YAML in which each key and each change is a line of JSON."""
        now = self.now
        lines = [f"format: {FORMAT}", f"version: {now.number}", f"threshold: {now.threshold}"]
        lines += [f"roles: {json.dumps(now.roles)}", "keys:" if now.keys else "keys: []"]
        lines += [f"- {json.dumps(key.told())}" for key in now.keys]
        lines += ["changes:", *(f"- {envelopes.written(change).decode().strip()}" for change in self.changes), ""]
        return (_HEAD + "\n".join(lines)).encode()


EMPTY = Approvers((Version(),), ())


def path_of(home: Path) -> Path:
    """Where a home's approvers are listed."""
    return releases_folder(home) / APPROVERS


def load(path: Path) -> Approvers:
    """Read a file and follow its chain from the first change.

    Raises `InputError` where there is none, `IntegrityError` for any that `sm-ops release key` did not write.
    """
    if not path.is_file():
        hint = f"There is no {path}; begin it with: sm-ops release key add FILE.pub --role ROLE"
        raise InputError("no-approvers", hint)
    data = path.read_bytes()
    try:
        found = _followed(_changes(data), str(path))
        whole = found.file() == data
    except IntegrityError:
        raise
    except Exception:
        whole = False
    if not whole:
        hint = f"{path} is not as `sm-ops release key` wrote it; bring back its last good copy and use that command."
        raise IntegrityError("approvers-changed", hint)
    return found


def of(home: Path) -> Approvers:
    """The approvers of a home, which must follow from what this home has seen before; none yet: `EMPTY`.

    Raises `IntegrityError` where the file was replaced, set back or removed.
    """
    path, seen = path_of(home), home / "keys" / "approvers.json"
    if not path.is_file() and not seen.is_file():
        return EMPTY
    found = load(path) if path.is_file() else EMPTY
    present = {"version": found.now.number, "digest": _digest(found.changes[-1]) if found.changes else None}
    known = fs.read_json(seen) if seen.is_file() else None
    if known and [*map(_digest, found.changes)][known["version"] - 1 : known["version"]] != [known["digest"]]:
        hint = f"{path} does not follow from version {known['version']}, which this home has used; bring it back."
        raise IntegrityError("approvers-replaced", hint)
    if known != present:
        with suppress(OSError):  # a home that may only be read
            fs.private_folder(seen.parent)
            fs.write_json(seen, present)
    return found


def _changes(data: bytes) -> list[str]:
    _, _, changes = data.decode().partition("\nchanges:\n")
    return [line.removeprefix("- ") for line in changes.splitlines()]


def _followed(written: Sequence[str], where: str) -> Approvers:
    found = EMPTY
    for text in written:
        before, found = found.now, next_after(found, envelopes.read(text.encode() + b"\n", where), where)
        if lacks := lacks_of(before, found.changes[-1], where):
            hint = f"{where}: version {found.now.number} is not signed by enough keys: {' and '.join(lacks)}."
            raise IntegrityError("approvers-unsigned", hint)
    return found


def next_after(found: Approvers, envelope: Envelope, where: str) -> Approvers:
    """The approvers after one more change; its signatures are not looked at.

    Raises `IntegrityError` that names `where` for a change that does not follow.
    """
    _, said = envelopes.content(envelope, _KIND, where)
    try:
        clock.read(said["time"])
        if envelope.payload == statement(found, said["change"], said["time"]):
            after = found.now.after(said["change"], said["time"])
            return Approvers((*found.versions, after), (*found.changes, envelope))
    except (SmOpsError, ValueError, TypeError, KeyError, AttributeError):
        pass
    hint = f"{where}: the change after version {found.now.number} does not follow from it; the file was changed."
    raise IntegrityError("approvers-changed", hint)


def lacks_of(before: Version, envelope: Envelope, where: str) -> list[str]:
    """What the signatures on a change of `before` lack, in words.

    Raises `IntegrityError` for a signature of an unknown key or one that does not fit.
    """
    signers = envelopes.valid_signers(envelope, [key.public for key in before.present.values()], where)
    return before.lacks(signers) if before.guarded else []


def statement(found: Approvers, change: Json, time: str) -> bytes:
    """What is signed for a change. Raises `InputError` for one that cannot be."""
    if time < found.now.time:
        raise InputError("clock", f"The last change of {APPROVERS} is of {found.now.time}; set the clock right.")
    after = found.now.after(change, time)
    previous = _digest(found.changes[-1]) if found.changes else None
    predicate = {"version": after.number, "previous": previous, "time": time, "change": change}
    return envelopes.statement(_KIND, {_SUBJECT: fs.sha256(rfc8785.dumps(after.told()))}, predicate)


def words(change: Json) -> str:
    """A change in words."""
    roles = ", ".join(change.get("roles", ())) or "no role"
    match change["kind"]:
        case "add":
            return f"add the key {keys.key_id(change['public'])[:16]} of {change['name']} ({roles})"
        case "roles":
            return f"give {change['name']} the roles: {roles}"
        case "remove":
            return f"remove the key of {change['name']}"
        case _:
            signatures = f"{change['count']} signature{'' if change['count'] == 1 else 's'}"
            return f"ask for {signatures}, {f'among them: {roles}' if change['roles'] else 'whatever the roles'}"


def _changed(before: Version, change: Json, time: str) -> Version:
    """What a change makes of keys and rules. Raises `InputError`, or KeyError and the like for a malformed change."""
    match change["kind"]:
        case "add":
            fields = {"kind", "name", "roles", "public"}
            _check_new(before, change["name"], change["public"])
            key = Key(change["name"], _roles(change["roles"]), change["public"], time)
            after = replace(before, keys=(*before.keys, key))
        case "roles":
            fields = {"kind", "name", "roles"}
            after = _replaced(before, change["name"], roles=_roles(change["roles"]))
        case "remove":
            fields = {"kind", "name"}
            after = _replaced(before, change["name"], removed=time)
        case "require":
            fields = {"kind", "count", "roles"}
            if type(change["count"]) is not int or change["count"] < 1:
                raise InputError("approvers-count", "The number of signatures is a whole number from 1.")
            after = replace(before, threshold=change["count"], roles=_roles(change["roles"]))
        case _:
            raise ValueError
    if set(change) != fields:
        raise ValueError
    return after


def check_name(name: str) -> None:
    """Raise `InputError` for what is no name of a person."""
    if not NAME.fullmatch(name):
        hint = "A name is 1 to 60 lower-case letters, digits, '.', '_' and '-', a letter or digit first."
        raise InputError("key-name", hint)
    if name == keys.BUILDER:
        raise InputError("key-name", f"{name!r} is what logs call the key of the machine; take another name.")


def _check_new(before: Version, name: str, public: str) -> None:
    check_name(name)
    if not PUBLIC.fullmatch(public):
        raise InputError("approver", "A public key is 64 hexadecimal digits, in lower case.")
    for key in before.keys:
        if key.public == public:
            told = "was removed and does not come back; make a new one" if key.removed else "counts already"
            raise InputError("same-key", f"This key is listed as {key.name}'s and {told}.")
        if key.name == name and not key.removed:
            raise InputError("same-name", f"{name} has another key; remove it first, or take another name.")


def _replaced(before: Version, name: str, **fields: Any) -> Version:
    if name not in {key.name for key in before.present.values()}:
        known = registry.did_you_mean(name, (key.name for key in before.present.values()))
        raise InputError("no-approver", f"There is no key of {name!r}; {known}.")
    found = (replace(key, **fields) if key.name == name and not key.removed else key for key in before.keys)
    return replace(before, keys=tuple(found))


def _roles(roles: Sequence[str]) -> tuple[str, ...]:
    if isinstance(roles, str) or not all(NAME.fullmatch(role) for role in roles) or len(set(roles)) < len(roles):
        raise InputError("role", "A role is named by lower-case letters, digits, '.', '_' and '-', and only once.")
    return tuple(roles)


def _digest(envelope: Envelope) -> str:
    return fs.sha256(envelope.payload)
