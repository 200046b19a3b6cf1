"""The policy is data: read by people, refused where it is wrong, and kept byte for byte."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest
import yaml

from sm_ops.core import registry
from sm_ops.core.config.loading import CONFIGS
from sm_ops.core.errors import InputError
from sm_ops.release.policy import parse, policy_of, read_policy

pytestmark = pytest.mark.unit


def refused(text: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        parse(text.encode(), "mine.yaml")


def test_ours_is_complete_commented_and_has_the_defaults_written_out():
    data = read_policy()
    assert data == (CONFIGS / "release_policy.yaml").read_bytes()
    policy = parse(data)
    assert (policy.approvals.count, policy.approvals.roles, policy.approvals.days) == (2, ["privacy"], 14)
    assert (policy.release_days, policy.object_lock) == (365, None)
    assert policy.checks.plain().keys() == registry.members("check").keys()
    assert policy.plain() == parse(b"format: policy/1").plain()
    severities = {name: each["severity"] for name, each in policy.checks.plain().items()}
    assert severities == dict.fromkeys(severities, "block") | {"remote": "warn"}
    for name in policy.checks.plain():
        assert f"\n  {name}:" in data.decode()


def test_a_check_that_is_left_out_does_not_run_and_a_bare_name_has_its_defaults():
    policy = parse(b"checks:\n  schema:\n  canaries: {bound: 0.2, severity: warn}\n")
    assert policy.checks.plain() == {"schema": {"severity": "block"}, "canaries": {"severity": "warn", "bound": 0.2}}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("release_dys: 3", r"mine.yaml: there is no setting release_dys; the nearest is release_days"),
        ("approvals: {role: [privacy]}", r"no setting approvals.role; the nearest is roles"),
        ("checks: {canaries: {bond: 1}}", r"no setting canaries.bond; the nearest is bound"),
        ("checks: {canaries: {bound: 1.5}}", r"canaries.bound is 1.5"),
        ("checks: {canaries: {bound: yes}}", r"a number is asked for, not yes or no"),
        ("checks: {canaries: {severity: stop}}", r"canaries.severity is 'stop'.*block"),
        ("checks: {canaries: 5}", r"checks.canaries is 5"),
        ("checks: {coverage: {by: lower}}", r"the lower end of an interval is never 1"),
        ("checks: {k_anonymity: {columns: [a, a]}}", r"columns lists a more than once"),
        ("approvals: {roles: [privacy, privacy]}", r"roles lists privacy more than once"),
        ("approvals: {count: 0}", r"approvals.count is 0"),
        ("approvals: {days: 99999999}", r"approvals.days is 99999999"),
        ("release_days: 100000000", r"release_days is 100000000"),
        ("object_lock: {data_days: 40000}", r"object_lock.data_days is 40000"),
        ("format: policy/2", r"format is 'policy/2'.*policy/1"),
        ("checks: {schema: {}, schema: {}}", r"mine.yaml, line 1: a key is given twice"),
        ("release_days: 3\nrelease_days: 5", r"a key is given twice"),
        ("- a", r"top level must be a mapping"),
        ("a: [", r"mine.yaml, line"),
        ("a: !!python/object:os.system {}", r"mine.yaml, line 1"),
    ],
)
def test_what_is_wrong_is_refused_with_the_nearest_name(text, sentence):
    refused(text, sentence)


def test_a_file_that_cannot_be_used_is_refused(tmp_path):
    path = tmp_path / "mine.yaml"
    with pytest.raises(InputError, match="There is no file"):
        read_policy(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not UTF-8"):
        read_policy(path)
    path.write_text("checks: {}")
    with pytest.raises(InputError, match="lists no checks"):
        read_policy(path)
    path.write_text("checks: {known_value: {}}")
    with pytest.raises(InputError, match="no check 'known_value'; the nearest is known_values"):
        read_policy(path)


def test_a_check_of_another_package_gets_its_settings_and_is_not_needed_to_read_the_policy(tmp_path, monkeypatch):
    policy = {"checks": {"readable": {"grade": 8, "severity": "warn"}}}
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(policy))
    assert parse(path.read_bytes()).checks.plain() == {"readable": {"grade": 8, "severity": "warn"}}
    with pytest.raises(InputError, match="no check 'readable'"):
        read_policy(path)
    point = EntryPoint("readable", "somewhere.readable", "sm_ops.check")
    monkeypatch.setattr(registry, "entry_points", lambda group: [point] if group == "sm_ops.check" else [])
    registry.members.cache_clear()
    try:
        assert read_policy(path) == path.read_bytes()
    finally:
        registry.members.cache_clear()
    refused("checks: {readable: {severity: stop}}", r"readable.severity is 'stop'")


def test_of_a_release_it_is_the_one_that_it_was_built_under(tmp_path):
    from planted import bundle

    made = bundle(tmp_path, policy={"format": "policy/1", "release_days": 7})
    assert policy_of(made.release).release_days == 7
