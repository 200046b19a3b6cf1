"""The policy of a release: data that people sign, so its file is kept byte for byte and says nothing twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

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
    values = _yaml(data, where)
    if not isinstance(values, dict):
        raise InputError("bad-yaml", f"{where}: the top level must be a mapping of sections.")
    return Settings(validated(Policy, values, where).model_dump(mode="json"))


def policy_of(release: Release) -> Settings:
    """The policy that a release was built under."""
    return parse((release.folder / POLICY).read_bytes(), f"{release}/{POLICY}")


class _Loader(yaml.SafeLoader):
    """Refuses a key that is given twice: a reader may see the one, and the other would hold."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """A mapping whose keys differ."""
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        if len(keys) > len({str(key) for key in keys}):
            raise yaml.constructor.ConstructorError(None, None, "a key is given twice", node.start_mark)
        return super().construct_mapping(node, deep)


def _yaml(data: bytes, where: str) -> Any:
    try:
        return yaml.load(data.decode(), _Loader)
    except UnicodeDecodeError:
        raise InputError("bad-yaml", f"{where}: the file is not UTF-8 text.") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        place = where if mark is None else f"{where}, line {mark.line + 1}"
        raise InputError("bad-yaml", f"{place}: {getattr(error, 'problem', None) or 'this is not YAML'}.") from None
