"""The policy of a release: data that people sign, so its file is kept byte for byte and says nothing twice."""

from __future__ import annotations

from pathlib import Path

from sm_ops.core import plain_yaml
from sm_ops.core.config.loading import CONFIGS, validated
from sm_ops.core.config.release import Policy
from sm_ops.core.errors import InputError
from sm_ops.core.fs import existing
from sm_ops.core.registry import did_you_mean, members
from sm_ops.core.settings import Settings
from sm_ops.release.folder import POLICY, Release

DEFAULT = CONFIGS / "release_policy.yaml"


def read_policy(path: Path | None = None) -> bytes:
    """The bytes of a policy file (default: ours), for a release that is being built.

    Raises `InputError` that names the setting and the nearest one, also for a check that this machine does not have.
    """
    path = DEFAULT if path is None else existing(path)
    data = path.read_bytes()
    checks = parse(data, path.name).checks.plain()
    if not checks:
        raise InputError("no-checks", f"{path.name} lists no checks, so there is nothing to show; name some.")
    for name in checks:
        if name not in members("check"):
            near = did_you_mean(name, members("check"))
            raise InputError("unknown-check", f"{path.name}: there is no check {name!r}; {near}.")
    return data


def parse(data: bytes, where: str = POLICY) -> Settings:
    """A policy with every default filled in (`core.config.release.Policy`); its checks need not be on this machine.

    Raises `InputError` that begins with `where`.
    """
    values = plain_yaml.parse(data, where)
    if not isinstance(values, dict):
        raise InputError("bad-yaml", f"{where}: the top level must be a mapping of sections.")
    return Settings(validated(Policy, values, where).model_dump(mode="json"))


def policy_of(release: Release) -> Settings:
    """The policy that a release was built under."""
    return parse((release.folder / POLICY).read_bytes(), f"{release}/{POLICY}")
