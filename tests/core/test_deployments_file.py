"""What a deployments file may say, and what a started run may be given: names, seeds, numbers and choices."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from driving import SMALLEST

from sm_ops.core.config.deployments import chosen_file, load_deployments, overridable, parameters_schema, resolved
from sm_ops.core.config.loading import FLOWS
from sm_ops.core.errors import InputError

pytestmark = pytest.mark.unit

DAILY = {"flow": "surprise", "config": "tiny", "cron": "0 2 * * *", "timezone": "Europe/Berlin", "pool": "gpu"}


def write(folder: Path, **changed: Any) -> Path:
    file = folder / "mine.yaml"
    whole = {"format": "deployments/1", "pools": {"gpu": {"concurrency": 2}}, "schedules": {"daily": DAILY}}
    file.write_text(yaml.safe_dump(whole | changed))
    return file


def test_the_default_file_is_valid_and_no_preset() -> None:
    file = load_deployments(chosen_file(Path("/nowhere")))
    for slug, each in file.schedules.items():
        assert resolved(each.flow, each.config, each.seeds, each.overrides, Path("/nowhere"), slug)["flow"] == each.flow
    with pytest.raises(InputError, match="no config 'deployments'"):
        resolved("surprise", "deployments", None, None, Path("/nowhere"))


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"format": "deployments/2"}, "format is 'deployments/2'"),
        ({"pools": {}}, "pools"),
        ({"schedules": {"daily": DAILY | {"pool": "gpus"}}}, "there is no pool 'gpus'; the nearest is gpu"),
        ({"schedules": {"daily": DAILY | {"timezone": "Europe/Berln"}}}, "schedules.daily.timezone"),
        ({"schedules": {"daily": DAILY | {"timezone": "../../etc/passwd"}}}, "schedules.daily.timezone"),
        ({"schedules": {"daily": DAILY | {"flow": "surprize"}}}, "the nearest is surprise"),
        ({"schedules": {"daily": DAILY | {"config": "../tiny.yaml"}}}, "schedules.daily.config"),
        ({"schedules": {"on-demand": DAILY}}, "taken by what is started by hand"),
        ({"schedules": {"daily": DAILY | {"env": {"KEY": "x"}}}}, "there is no setting schedules.daily.env"),
        ({"releases": {"pool": "cpu"}}, "releases.pool: there is no pool 'cpu'"),
        ({"releases": {"pool": "gpu", "destination": "relative/place"}}, "an absolute folder, or s3://"),
        ({"releases": {"pool": "gpu", "destination": "https://a:b@c/d"}}, "releases.destination: a destination is an"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_refused_in_words(changed: dict[str, Any], sentence: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as refused:
        load_deployments(write(tmp_path, **changed))
    assert sentence in refused.value.hint
    assert refused.value.hint.startswith("mine.yaml: ")


def test_a_schedule_that_is_given_twice_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path)
    file.write_text(file.read_text() + "pools: {cpu: {}}\n")
    with pytest.raises(InputError, match=r"mine.yaml, line 1: a key is given twice"):
        load_deployments(file)


def test_seeds_and_overrides_are_applied_to_the_config() -> None:
    plain = resolved("surprise", "tiny", [4, 5], {"train.epochs": 3, "train.optimizer": "adamw"}, Path("/nowhere"))
    assert (plain["seeds"], plain["train"]["epochs"], plain["train"]["optimizer"]) == ([4, 5], 3, "adamw")
    lists = resolved("surprise", "tiny", None, {"masking.targets": [0.5, 0.95]}, Path("/nowhere"))
    assert lists["masking"]["targets"] == [0.5, 0.95]


def test_a_config_of_ones_own_is_named_like_its_file_in_the_home(tmp_path: Path) -> None:
    (tmp_path / "configs").mkdir()
    shutil.copy(SMALLEST, tmp_path / "configs" / "mine.yaml")
    assert resolved("surprise", "mine", None, None, tmp_path)["name"] == "smallest"


PLANTED = "kq7-planted-value"


@pytest.mark.parametrize(
    ("config", "seeds", "overrides", "code"),
    [
        (f"/etc/{PLANTED}", None, None, "config-name"),
        (f"../{PLANTED}", None, None, "config-name"),
        (f"tiny/{PLANTED}", None, None, "config-name"),
        (["tiny"], None, None, "config-name"),
        ("tinny", None, None, "unknown-config"),
        ("pii_tiny", None, None, "other-flow"),
        ("tiny", [PLANTED], None, "bad-seeds"),
        ("tiny", [True], None, "bad-seeds"),
        ("tiny", 3, None, "bad-seeds"),
        ("tiny", [1, 1], None, "bad-config"),
        ("tiny", None, [PLANTED], "bad-override"),
        ("tiny", None, {"data.hosts": PLANTED}, "override-refused"),
        ("tiny", None, {"base.name": PLANTED}, "override-refused"),
        ("tiny", None, {"references.tiny.prompt": PLANTED}, "override-refused"),
        ("tiny", None, {"flow": "surprise"}, "override-refused"),
        ("tiny", None, {"seeds": [1]}, "override-refused"),
        ("tiny", None, {PLANTED: 1}, "override-refused"),
        ("tiny", None, {"train.epochs": PLANTED}, "override-refused"),
        ("tiny", None, {"train.epochs": {"a": PLANTED}}, "override-refused"),
        ("tiny", None, {"train.optimizer": PLANTED}, "override-refused"),
        ("tiny", None, {"masking.targets": [0.5, PLANTED]}, "override-refused"),
        ("tiny", None, {"masking.targets": [[PLANTED]]}, "override-refused"),
        ("tiny", None, {"train.epochs": 0}, "bad-config"),
        ("tiny", None, {"train.epochs": True}, "bad-config"),
    ],
)
def test_all_else_is_refused_and_not_repeated(config: Any, seeds: Any, overrides: Any, code: str) -> None:
    with pytest.raises(InputError) as refused:
        resolved("surprise", config, seeds, overrides, Path("/nowhere"), "schedules.daily")
    assert refused.value.code == code
    assert refused.value.hint.startswith("schedules.daily: ")
    assert PLANTED not in refused.value.hint


@pytest.mark.parametrize("flow", sorted(FLOWS))
def test_what_may_be_overridden_is_a_number_or_a_choice(flow: str) -> None:
    for name, schema in overridable(flow).items():
        kind = schema.get("items", schema)
        assert kind["type"] in ("integer", "number", "boolean") or kind["enum"], name
    schema = parameters_schema(flow)
    assert schema["additionalProperties"] is schema["properties"]["overrides"]["additionalProperties"] is False
